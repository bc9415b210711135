// Datasets of which any element can be had at once.
#pragma once

#include "kernels/data/dataset.h"

namespace weir {

// Derived classes have a Cardinality and GetElement.
class IndexedDataset : public DatasetBase {
 public:
  using DatasetBase::DatasetBase;
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return absl::OkStatus(); }
  // Of the elements that an iterator passes: the cardinality, unless that counts as infinite.
  virtual int64_t size() const { return Cardinality(); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<IndexedDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      if (next_ >= dataset().size()) return false;
      RETURN_IF_ERROR(dataset().GetElement(ctx, next_, element));
      ++next_;
      return true;
    }
    absl::Status SaveState(IteratorContext&, StateWriter writer) override {
      writer.Int("next", next_);
      return absl::OkStatus();
    }
    absl::Status RestoreState(IteratorContext&, const StateReader& reader) override {
      ASSIGN_OR_RETURN(next_, reader.Int("next", 0, dataset().size()));
      return absl::OkStatus();
    }

   private:
    int64_t next_ = 0;
  };
};

}  // namespace weir
