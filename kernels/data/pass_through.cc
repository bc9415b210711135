// Datasets that hand elements on: those that carry options and hints, ignore_errors, unique.
#include <set>

#include "core/logging.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

// Options, rewrites and models tell how a pipeline may be run, never what it yields: elements are the input's.
class HintDataset : public SameElementsDataset {
 public:
  using SameElementsDataset::SameElementsDataset;

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<HintDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override { return input_->GetNext(ctx, element); }
  };
};

class HintKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    type_ = ctx.op();
    if (type_.rfind("Experimental", 0) == 0) type_ = type_.substr(12);
    if (const size_t suffix = type_.find("Dataset"); suffix != std::string::npos) type_.resize(suffix);
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    for (const char* number : {"num_threads", "max_intra_op_parallelism"}) {
      if (!inputs.Has(number)) continue;
      ASSIGN_OR_RETURN(const int64_t value, inputs.Int(number));
      if (value < 0) return errors::InvalidArgument("`", number, "` must be greater or equal to 0");
    }
    return std::make_shared<HintDataset>(type_, input);
  }

 private:
  std::string type_;
};

// --- IgnoreErrors ---

class IgnoreErrorsDataset : public UnaryDataset {
 public:
  IgnoreErrorsDataset(const DatasetPtr& input, bool log_warning)
      : UnaryDataset("IgnoreErrors", input), log_warning_(log_warning) {}
  int64_t Cardinality() const override {
    return input()->Cardinality() == kInfiniteCardinality ? kInfiniteCardinality : kUnknownCardinality;
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<IgnoreErrorsDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      for (;;) {
        absl::StatusOr<bool> more = input_->GetNext(ctx, element);
        if (more.ok()) return more;
        RETURN_IF_ERROR(ctx.CheckCancelled());
        if (dataset().log_warning_) WEIR_LOG(WARNING) << "Error raised with error message " << more.status().message();
      }
    }
  };

  const bool log_warning_;
};

class IgnoreErrorsKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override { return ctx.GetAttr("log_warning", &log_warning_); }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    return std::make_shared<IgnoreErrorsDataset>(input, log_warning_);
  }

 private:
  bool log_warning_ = false;
};

// --- Unique ---

class UniqueDataset : public UnaryDataset {
 public:
  explicit UniqueDataset(const DatasetPtr& input) : UnaryDataset("Unique", input) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  // Dtype is that of the dataset; the shape tells apart what has equal bytes.
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

absl::Status RegisterPassThroughKernels(KernelRegistry& kernels) {
  for (const char* op : {"OptionsDataset", "RewriteDataset", "ModelDataset", "OptimizeDataset", "OptimizeDatasetV2",
                         "FinalizeDataset", "NonSerializableDataset", "ExperimentalNonSerializableDataset",
                         "MaxIntraOpParallelismDataset", "ExperimentalMaxIntraOpParallelismDataset",
                         "PrivateThreadPoolDataset", "ExperimentalPrivateThreadPoolDataset"}) {
    RETURN_IF_ERROR(kernels.Register<HintKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"}) {
    RETURN_IF_ERROR(kernels.Register<IgnoreErrorsKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"UniqueDataset", "ExperimentalUniqueDataset"}) {
    RETURN_IF_ERROR(kernels.Register<UniqueKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
