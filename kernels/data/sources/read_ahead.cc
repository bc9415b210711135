#include "kernels/data/sources/read_ahead.h"

#include <optional>
#include <utility>

#include "kernels/data/buffered_iterator.h"

namespace weir {
namespace {

class ReadAheadDataset : public SameElementsDataset {
 public:
  ReadAheadDataset(std::string type, const DatasetPtr& input, int64_t capacity)
      : SameElementsDataset(std::move(type), input), capacity_(capacity) {}
  bool HasRandomAccess() const override { return type() == "Prefetch"; }
  absl::Status CheckGlobalShuffle() const override {
    return HasRandomAccess() ? CheckInputsGlobalShuffle() : DatasetBase::CheckGlobalShuffle();
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<ReadAheadDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::Status Initialize(IteratorContext& ctx) override {
      ASSIGN_OR_RETURN(IteratorPtr input, dataset().input()->MakeIterator(ctx));
      buffered_.emplace(ctx, std::move(input), dataset().capacity_, dataset().output_types());
      return absl::OkStatus();
    }
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      return buffered_->GetNext(ctx, element);
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override { return buffered_->Save(ctx, writer); }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      return buffered_->Restore(ctx, reader);
    }

   private:
    std::optional<BufferedIterator> buffered_;
  };

  const int64_t capacity_;
};

}  // namespace

std::shared_ptr<DatasetBase> NewReadAheadDataset(std::string type, const DatasetPtr& input, int64_t capacity) {
  return std::make_shared<ReadAheadDataset>(std::move(type), input, capacity);
}

}  // namespace weir
