// dense_to_sparse_batch: rows of different sizes become one sparse tensor.
#include "core/tensor/index_tensor.h"
#include "core/tensor/tensor_variant.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"
#include "kernels/data/transformations/batching.h"

namespace weir {
namespace {

class SparseBatchDataset : public UnaryDataset {
 public:
  SparseBatchDataset(const DatasetPtr& input, int64_t size, PartialTensorShape row)
      : UnaryDataset("DenseToSparseBatch", input, {DT_VARIANT}, {TensorShape({3})}),
        batching_{size, false},
        row_(std::move(row)) {}
  int64_t CountElements(IteratorContext* ctx) const override { return batching_.Count(input()->CountElements(ctx)); }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<SparseBatchDataset> {
   public:
    using UnaryIterator::UnaryIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      std::vector<Element> rows;
      ASSIGN_OR_RETURN(const bool more, dataset().batching_.Next(ctx, *input_, &rows));
      if (!more) return false;
      ASSIGN_OR_RETURN(Tensor sparse, MakeSparse(ctx, rows));
      *element = {std::move(sparse)};
      return true;
    }

   private:
    // The sizes of a row: those given, and else the largest that occurs.
    absl::StatusOr<DimVector> RowSizes(const std::vector<Element>& rows) const {
      const PartialTensorShape& given = dataset().row_;
      DimVector sizes(given.dims(), 0);
      for (int d = 0; d < given.dims(); ++d) sizes[d] = std::max<int64_t>(0, given.dim_size(d));
      for (const Element& row : rows) {
        RETURN_IF_ERROR(CheckElement(row, dataset().input()->output_types()));
        const Tensor& values = row[0];
        if (values.dims() != given.dims()) {
          return errors::InvalidArgument("Input element had shape (", values.shape().ToString(),
                                         ") that is incompatible with the row shape (", given.ToString(), ").");
        }
        for (int d = 0; d < given.dims(); ++d) {
          if (given.dim_size(d) < 0) {
            sizes[d] = std::max(sizes[d], values.dim_size(d));
          } else if (values.dim_size(d) > given.dim_size(d)) {
            return errors::DataLoss("Input element had shape (", values.shape().ToString(),
                                    ") that is larger than the row shape (", given.ToString(), ").");
          }
        }
      }
      return sizes;
    }

    // Indices, values and dense shape, each in a variant.
    absl::StatusOr<Tensor> MakeSparse(IteratorContext& ctx, const std::vector<Element>& rows) const {
      ASSIGN_OR_RETURN(const DimVector sizes, RowSizes(rows));
      const int rank = static_cast<int>(sizes.size()) + 1;
      int64_t total = 0;
      for (const Element& row : rows) total += row[0].NumElements();
      ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(ctx.allocator(), DT_INT64, TensorShape({total, rank})));
      ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(ctx.allocator(), rows[0][0].dtype(), TensorShape({total})));
      int64_t* index = indices.data<int64_t>();
      int64_t at = 0;
      for (size_t b = 0; b < rows.size(); ++b) {
        const Tensor& row = rows[b][0];
        CopyElements(row, values, at);
        at += row.NumElements();
        for (int64_t i = 0; i < row.NumElements(); ++i, index += rank) {
          index[0] = static_cast<int64_t>(b);
          int64_t rest = i;
          for (int d = rank - 1; d > 0; --d) {
            index[d] = rest % row.dim_size(d - 1);
            rest /= row.dim_size(d - 1);
          }
        }
      }
      std::vector<int64_t> dense{static_cast<int64_t>(rows.size())};
      dense.insert(dense.end(), sizes.begin(), sizes.end());
      Tensor sparse(DT_VARIANT, TensorShape({3}));
      sparse.data<Variant>()[0] = MakeTensorVariant(std::move(indices));
      sparse.data<Variant>()[1] = MakeTensorVariant(std::move(values));
      sparse.data<Variant>()[2] = MakeTensorVariant(Tensor::Vector<int64_t>(dense));
      return sparse;
    }
  };

  const Batching batching_;
  const PartialTensorShape row_;
};

class SparseBatchKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    if (input->output_types().size() != 1) {
      return errors::InvalidArgument("DenseToSparseBatchDataset only supports inputs with a single component.");
    }
    ASSIGN_OR_RETURN(const int64_t size, inputs.Int("batch_size"));
    if (size <= 0) return errors::InvalidArgument("Batch size must be greater than zero.");
    const Tensor row = inputs.Get("row_shape");
    if (row.dims() != 1) return errors::InvalidArgument("row_shape must be a vector");
    ASSIGN_OR_RETURN(const DimVector dims, ReadIntegers(row));
    ASSIGN_OR_RETURN(PartialTensorShape shape, PartialTensorShape::Build(dims));
    return std::make_shared<SparseBatchDataset>(input, size, std::move(shape));
  }
};

}  // namespace

absl::Status RegisterSparseBatchKernels(KernelRegistry& kernels) {
  for (const char* op : {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"}) {
    RETURN_IF_ERROR(kernels.Register<SparseBatchKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
