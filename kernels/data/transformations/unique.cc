// unique: the first of equal elements.
#include <set>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

class UniqueDataset : public UnaryDataset {
 public:
  explicit UniqueDataset(const DatasetPtr& input) : UnaryDataset("Unique", input) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  // All have the dataset's dtype; the shape distinguishes tensors of equal bytes.
  static std::string KeyOf(const Tensor& tensor) {
    std::string key = tensor.shape().ToString();
    if (tensor.dtype() != DT_STRING) {
      key.append(static_cast<const char*>(tensor.raw_data()), tensor.TotalBytes());
      return key;
    }
    for (const tstring& value : tensor.flat<tstring>()) absl::StrAppend(&key, value.size(), ":", value);
    return key;
  }

  class Iterator : public UnaryIterator<UniqueDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      for (;;) {
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, element));
        if (!more) return false;
        RETURN_IF_ERROR(CheckElement(*element, dataset().output_types()));
        if (seen_.insert(KeyOf((*element)[0])).second) return true;
      }
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      const std::vector<tstring> keys(seen_.begin(), seen_.end());
      writer.Tensor("seen", Tensor::Vector<tstring>(keys));
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(const Tensor keys, reader.Tensor("seen"));
      if (keys.dtype() != DT_STRING) return errors::InvalidArgument("The saved state has no strings for 'seen'");
      seen_ = std::set<std::string>(keys.flat<tstring>().begin(), keys.flat<tstring>().end());
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    std::set<std::string> seen_;
  };
};

class UniqueKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    if (input->output_types().size() != 1) {
      return errors::InvalidArgument("UniqueDataset only supports inputs with a single component.");
    }
    const DataType dtype = input->output_types()[0];
    if (dtype != DT_INT32 && dtype != DT_INT64 && dtype != DT_STRING) {
      return errors::InvalidArgument(
          "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` component.");
    }
    return std::make_shared<UniqueDataset>(input);
  }
};

}  // namespace

absl::Status RegisterUniqueDatasetKernels(KernelRegistry& kernels) {
  for (const char* op : {"UniqueDataset", "ExperimentalUniqueDataset"}) {
    RETURN_IF_ERROR(kernels.Register<UniqueKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
