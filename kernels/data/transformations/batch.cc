// batch and unbatch.

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"
#include "kernels/data/map_function.h"
#include "kernels/data/sources/read_ahead.h"
#include "kernels/data/transformations/batching.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// --- Batch ---

std::vector<PartialTensorShape> BatchedShapes(const DatasetBase& input, int64_t size) {
  std::vector<PartialTensorShape> shapes;
  for (const PartialTensorShape& shape : input.output_shapes()) {
    DimVector dims{size};
    dims.insert(dims.end(), shape.dim_sizes().begin(), shape.dim_sizes().end());
    absl::StatusOr<PartialTensorShape> batched = PartialTensorShape::Build(dims);
    shapes.push_back(shape.unknown_rank() || !batched.ok() ? PartialTensorShape() : *batched);
  }
  return shapes;
}

class BatchDataset : public UnaryDataset {
 public:
  BatchDataset(std::string type, const DatasetPtr& input, const Batching& batching)
      : UnaryDataset(
            std::move(type), input, input->output_types(),
            BatchedShapes(
                *input, batching.drop_remainder || input->Cardinality() == kInfiniteCardinality ? batching.size : -1)),
        batching_(batching) {}

  int64_t CountElements(IteratorContext* ctx) const override { return batching_.Count(input()->CountElements(ctx)); }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override {
    if (batching_.drop_remainder) return CheckInputsGlobalShuffle();
    return errors::FailedPrecondition(origin().node->op(),
                                      " does not support global shuffling with `drop_remainder=False`.");
  }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    std::vector<Element> elements;
    RETURN_IF_ERROR(batching_.Get(ctx, *input(), index, &elements));
    ASSIGN_OR_RETURN(*element, StackElements(ctx, elements));
    return absl::OkStatus();
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<BatchDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      std::vector<Element> elements;
      ASSIGN_OR_RETURN(const bool more, dataset().batching_.Next(ctx, *input_, &elements));
      if (!more) return false;
      ASSIGN_OR_RETURN(*element, StackElements(ctx, elements));
      return true;
    }
  };

  const Batching batching_;
};

class BatchKernel : public DatasetKernel {
 protected:
  absl::Status InitDataset(OpKernelConstruction& ctx) override {
    bool ignored;
    return ReadDeterminism(ctx, &ignored);
  }
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    Batching batching;
    ASSIGN_OR_RETURN(batching.size, inputs.Int("batch_size"));
    if (batching.size <= 0) return errors::InvalidArgument("Batch size must be greater than zero.");
    if (inputs.Has("drop_remainder")) {
      ASSIGN_OR_RETURN(batching.drop_remainder, inputs.Bool("drop_remainder"));
    }
    const bool is_parallel = inputs.Has("num_parallel_calls");
    // TensorFlow fuses a map and the batch behind it.
    batching.errors_end_batch = !is_parallel && (input->type() == "Map" || input->type() == "ParallelMap");
    auto batches = std::make_shared<BatchDataset>("Batch", input, batching);
    if (!is_parallel) return batches;
    ASSIGN_OR_RETURN(const int64_t calls, ParallelCalls(inputs));
    batches->set_origin({inputs.node().node(), nullptr, {}});
    return NewReadAheadDataset("ParallelBatch", batches, calls);
  }
};

// --- Unbatch ---

std::vector<PartialTensorShape> UnbatchedShapes(const DatasetBase& input) {
  std::vector<PartialTensorShape> shapes;
  for (const PartialTensorShape& shape : input.output_shapes()) {
    absl::StatusOr<PartialTensorShape> row{PartialTensorShape()};
    if (shape.dims() > 0) row = PartialTensorShape::Build(shape.dim_sizes().subspan(1));
    shapes.push_back(row.ok() ? *row : PartialTensorShape());
  }
  return shapes;
}

class UnbatchDataset : public UnaryDataset {
 public:
  explicit UnbatchDataset(const DatasetPtr& input)
      : UnaryDataset("Unbatch", input, input->output_types(), UnbatchedShapes(*input)) {
    for (const PartialTensorShape& shape : input->output_shapes()) {
      if (shape.dims() > 0 && shape.dim_size(0) >= 0) rows_ = shape.dim_size(0);
    }
  }

  int64_t CountElements(IteratorContext* ctx) const override {
    const int64_t n = input()->CountElements(ctx);
    if (n < 0) return n;
    if (rows_ < 0) return kUnknownCardinality;
    return rows_ > 0 && n > INT64_MAX / rows_ ? INT64_MAX : n * rows_;
  }
  bool HasRandomAccess() const override { return true; }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    Element batch;
    RETURN_IF_ERROR(input()->Get(ctx, index / rows_, &batch));
    element->clear();
    for (const Tensor& tensor : batch) {
      if (tensor.dims() == 0 || tensor.dim_size(0) != rows_) {
        return errors::InvalidArgument("A batch of shape ", tensor.shape().ToString(), " does not have ", rows_,
                                       " rows");
      }
      ASSIGN_OR_RETURN(element->emplace_back(), tensor.SubSlice(index % rows_).DeepCopy(ctx.allocator()));
    }
    return absl::OkStatus();
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<UnbatchDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      while (row_ >= rows_) {
        batch_.clear();
        row_ = rows_ = 0;
        ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &batch_));
        if (!more) return false;
        RETURN_IF_ERROR(TakeBatch());
      }
      element->clear();
      for (const Tensor& tensor : batch_) {
        Tensor row = tensor.SubSlice(row_);
        if (IsPlainType(row.dtype()) && !row.IsAligned()) {
          ASSIGN_OR_RETURN(row, row.DeepCopy(ctx.allocator()));
        }
        element->push_back(std::move(row));
      }
      ++row_;
      return true;
    }
    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("row", row_);
      writer.Int("rows", rows_);
      if (row_ < rows_) writer.Tensors("batch", batch_);
      return UnaryIterator::SaveState(ctx, writer);
    }
    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(const int64_t rows, reader.Int("rows"));
      ASSIGN_OR_RETURN(const int64_t row, reader.Int("row"));
      row_ = rows_ = 0;
      if (row < rows) {
        ASSIGN_OR_RETURN(batch_, reader.Tensors("batch", dataset().output_types()));
        RETURN_IF_ERROR(TakeBatch());
        row_ = row;
      }
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    absl::Status TakeBatch() {
      for (const Tensor& tensor : batch_) {
        if (tensor.dims() == 0) {
          return errors::InvalidArgument("Input element must have a non-scalar value in each component.");
        }
        if (tensor.dim_size(0) != batch_[0].dim_size(0)) {
          return errors::InvalidArgument("Input element must have the same batch size in each component.");
        }
      }
      rows_ = batch_.empty() ? 0 : batch_[0].dim_size(0);
      return absl::OkStatus();
    }

    Element batch_;
    int64_t row_ = 0, rows_ = 0;
  };

  int64_t rows_ = -1;  // of every element, where known
};

class UnbatchKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    return std::make_shared<UnbatchDataset>(input);
  }
};

}  // namespace

absl::Status RegisterBatchKernels(KernelRegistry& kernels) {
  for (const char* op : {"BatchDataset", "BatchDatasetV2", "ParallelBatchDataset"}) {
    RETURN_IF_ERROR(kernels.Register<BatchKernel>(Kernel(op).Cpu()));
  }
  for (const char* op : {"UnbatchDataset", "ExperimentalUnbatchDataset"}) {
    RETURN_IF_ERROR(kernels.Register<UnbatchKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
