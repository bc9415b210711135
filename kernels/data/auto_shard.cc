// auto_shard: the part of a dataset that is one worker's.
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// TensorFlow's AutoShardPolicy.
enum Policy : int64_t { kOff = -1, kAuto = 0, kFile = 1, kData = 2, kHint = 3 };

bool ReadsFiles(const DatasetBase& dataset) {
  for (const char* type : {"TFRecord", "TextLine", "FixedLengthRecord", "CSV"}) {
    if (dataset.type().rfind(type, 0) == 0) return true;
  }
  for (const DatasetPtr& input : dataset.inputs()) {
    if (ReadsFiles(*input)) return true;
  }
  return false;
}

// Every `count`-th element from `index` on.
class AutoShardDataset : public UnaryDataset {
 public:
  AutoShardDataset(const DatasetPtr& input, int64_t count, int64_t index)
      : UnaryDataset("AutoShard", input), count_(count), index_(index) {}
  int64_t CountElements(IteratorContext* ctx) const override {
    const int64_t n = input()->CountElements(ctx);
    return n < 0 ? n : n / count_ + (index_ < n % count_ ? 1 : 0);
  }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    return input()->Get(ctx, index * count_ + index_, element);
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<AutoShardDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      for (;;) {
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
        if (!more) return false;
        const bool mine = next_ == dataset().index_;
        next_ = (next_ + 1) % dataset().count_;
        if (mine) return true;
      }
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("next", next_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(next_, reader.Int("next", 0, dataset().count_ - 1));
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    int64_t next_ = 0;  // whose the next element is
  };

  const int64_t count_, index_;
};

class AutoShardKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("auto_shard_policy", &policy_));
    if (policy_ >= kOff && policy_ <= kHint) return absl::OkStatus();
    return errors::InvalidArgument("Unknown auto_shard_policy ", policy_);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t count, inputs.Int("num_workers"));
    ASSIGN_OR_RETURN(const int64_t index, inputs.Int("index"));
    if (count <= 0) return errors::InvalidArgument("num_workers should be >= 1, currently ", count);
    if (index < 0 || index >= count) {
      return errors::InvalidArgument("index should be >= 0 and < ", count, ", currently ", index);
    }
    if (policy_ == kHint) {
      return errors::Unimplemented("AutoShardDataset with the policy HINT: shard by data instead");
    }
    if (policy_ == kFile || (policy_ == kAuto && ReadsFiles(*input))) {
      return errors::Unimplemented("AutoShardDataset by files: use the policy DATA, or shard the file names");
    }
    return std::make_shared<AutoShardDataset>(input, policy_ == kOff ? 1 : count, policy_ == kOff ? 0 : index);
  }

 private:
  int64_t policy_ = kAuto;
};

}  // namespace

absl::Status RegisterAutoShardKernels(KernelRegistry& kernels) {
  for (const char* op : {"AutoShardDataset", "ExperimentalAutoShardDataset"}) {
    RETURN_IF_ERROR(kernels.Register<AutoShardKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
