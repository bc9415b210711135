// padded_batch: elements of different sizes in one batch.
#include <algorithm>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"
#include "kernels/data/transformations/batching.h"

namespace weir {
namespace {

// Fills a tensor with a scalar.
void Fill(const Tensor& value, Tensor& to) {
  for (int64_t i = 0; i < to.NumElements(); ++i) CopyElements(value, to, i);
}

// Copies `from` into the corner of row `row` of `to`, which has one more dimension and is at least as large in each.
void CopyIntoRow(const Tensor& from, int64_t row, Tensor& to) {
  if (from.NumElements() == 0) return;
  const int rank = from.dims();
  if (rank == 0) return CopyElements(from, to, row);
  std::vector<int64_t> strides(rank, 1);
  for (int d = rank - 2; d >= 0; --d) strides[d] = strides[d + 1] * to.dim_size(d + 2);
  const int64_t line = from.dim_size(rank - 1), lines = from.NumElements() / line;
  absl::StatusOr<Tensor> flat = from.Reshaped(TensorShape({lines, line}));
  if (!flat.ok()) return;
  std::vector<int64_t> at(rank, 0);
  for (int64_t i = 0; i < lines; ++i) {
    int64_t offset = row * strides[0] * to.dim_size(1);
    for (int d = 0; d < rank - 1; ++d) offset += at[d] * strides[d];
    CopyElements(flat->Slice(i, i + 1), to, offset);
    for (int d = rank - 2; d >= 0 && ++at[d] == from.dim_size(d); --d) at[d] = 0;
  }
}

std::vector<PartialTensorShape> WithBatch(const std::vector<PartialTensorShape>& padded, int64_t size) {
  std::vector<PartialTensorShape> shapes;
  for (const PartialTensorShape& shape : padded) {
    DimVector dims{size};
    dims.insert(dims.end(), shape.dim_sizes().begin(), shape.dim_sizes().end());
    absl::StatusOr<PartialTensorShape> batched = PartialTensorShape::Build(dims);
    shapes.push_back(batched.ok() ? *batched : PartialTensorShape());
  }
  return shapes;
}

class PaddedBatchDataset : public UnaryDataset {
 public:
  PaddedBatchDataset(const DatasetPtr& input, int64_t size, bool drop_remainder,
                     std::vector<PartialTensorShape> padded_shapes, Element values)
      : UnaryDataset(
            "PaddedBatch", input, input->output_types(),
            WithBatch(padded_shapes, drop_remainder || input->Cardinality() == kInfiniteCardinality ? size : -1)),
        batching_{size, drop_remainder},
        padded_shapes_(std::move(padded_shapes)),
        values_(std::move(values)) {}

  int64_t CountElements(IteratorContext* ctx) const override { return batching_.Count(input()->CountElements(ctx)); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    std::vector<Element> elements;
    RETURN_IF_ERROR(batching_.Get(ctx, *input(), index, &elements));
    ASSIGN_OR_RETURN(*element, Pad(ctx, elements));
    return absl::OkStatus();
  }
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<PaddedBatchDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      std::vector<Element> elements;
      ASSIGN_OR_RETURN(const bool more, dataset().batching_.Next(ctx, *input_, &elements));
      if (!more) return false;
      ASSIGN_OR_RETURN(*element, dataset().Pad(ctx, elements));
      return true;
    }
  };

  // The shape of component `c` of the batch.
  absl::StatusOr<TensorShape> BatchShape(const std::vector<Element>& elements, size_t c) const {
    const PartialTensorShape& padded = padded_shapes_[c];
    DimVector dims{static_cast<int64_t>(elements.size())};
    for (int64_t dim : padded.dim_sizes()) dims.push_back(std::max<int64_t>(dim, 0));
    for (const Element& element : elements) {
      if (element[c].dims() != padded.dims()) {
        return errors::InvalidArgument(
            "All elements in a batch must have the same rank as the padded shape for component", c, ": expected rank ",
            padded.dims(), " but got element with rank ", element[c].dims());
      }
      for (int d = 0; d < padded.dims(); ++d) {
        if (padded.dim_size(d) < 0) {
          dims[d + 1] = std::max(dims[d + 1], element[c].dim_size(d));
        } else if (element[c].dim_size(d) > padded.dim_size(d)) {
          return errors::DataLoss("Attempted to pad to a smaller size than the input element.");
        }
      }
    }
    return TensorShape::Build(dims);
  }

  absl::StatusOr<Element> Pad(IteratorContext& ctx, const std::vector<Element>& elements) const {
    for (const Element& element : elements) RETURN_IF_ERROR(CheckElement(element, output_types()));
    Element batch;
    for (size_t c = 0; c < output_types().size(); ++c) {
      ASSIGN_OR_RETURN(const TensorShape shape, BatchShape(elements, c));
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(ctx.allocator(), output_types()[c], shape));
      Fill(values_[c], tensor);
      for (size_t i = 0; i < elements.size(); ++i) CopyIntoRow(elements[i][c], static_cast<int64_t>(i), tensor);
      batch.push_back(std::move(tensor));
    }
    return batch;
  }

  const Batching batching_;
  const std::vector<PartialTensorShape> padded_shapes_;
  const Element values_;
};

class PaddedBatchKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    ASSIGN_OR_RETURN(const int64_t size, inputs.Int("batch_size"));
    if (size <= 0) return errors::InvalidArgument("Batch size must be greater than zero.");
    bool drop_remainder = false;
    if (inputs.Has("drop_remainder")) {
      ASSIGN_OR_RETURN(drop_remainder, inputs.Bool("drop_remainder"));
    }
    ASSIGN_OR_RETURN(std::vector<PartialTensorShape> shapes, Shapes(inputs, *input));
    Element values = inputs.List("padding_values");
    RETURN_IF_ERROR(CheckValues(values, *input));
    return std::make_shared<PaddedBatchDataset>(input, size, drop_remainder, std::move(shapes), std::move(values));
  }

 private:
  static absl::StatusOr<std::vector<PartialTensorShape>> Shapes(const NodeInputs& inputs, const DatasetBase& input) {
    const Element given = inputs.List("padded_shapes");
    if (given.size() != input.output_types().size()) {
      return errors::InvalidArgument("Number of padded shapes (", given.size(),
                                     ") must match the number of components in the input dataset's elements (",
                                     input.output_types().size(), ")");
    }
    std::vector<PartialTensorShape> shapes;
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].dims() != 1) return errors::InvalidArgument("All padded shapes must be vectors");
      ASSIGN_OR_RETURN(shapes.emplace_back(), PartialTensorShape::Build(given[i].flat<int64_t>()));
      if (!IsPlainType(input.output_types()[i]) && input.output_types()[i] != DT_STRING) {
        return errors::Unimplemented("Component ", i, " cannot be padded: it is ",
                                     DataTypeName(input.output_types()[i]));
      }
      if (!input.output_shapes()[i].unknown_rank() && input.output_shapes()[i].dims() != shapes[i].dims()) {
        return errors::InvalidArgument("The padded shape ", shapes[i].ToString(), " of component ", i,
                                       " does not have the rank of its elements, ",
                                       input.output_shapes()[i].ToString());
      }
    }
    return shapes;
  }

  static absl::Status CheckValues(const Element& values, const DatasetBase& input) {
    if (values.size() != input.output_types().size()) {
      return errors::InvalidArgument("Number of padding values (", values.size(),
                                     ") must match the number of components in the input dataset's elements (",
                                     input.output_types().size(), ")");
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].dims() != 0) return errors::InvalidArgument("All padding values must be scalars");
      if (values[i].dtype() == input.output_types()[i]) continue;
      return errors::InvalidArgument("Mismatched type between padding value ", i, "'s dtype (",
                                     DataTypeName(values[i].dtype()), ") and input dataset's component ", i,
                                     "'s dtype (", DataTypeName(input.output_types()[i]), ")");
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterPaddedBatchKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<PaddedBatchKernel>(Kernel("PaddedBatchDataset").Cpu()));
  return kernels.Register<PaddedBatchKernel>(Kernel("PaddedBatchDatasetV2").Cpu());
}

}  // namespace weir
