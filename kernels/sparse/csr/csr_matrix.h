// Sparse matrices by rows: the value that variants of the CSR ops hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"

namespace weir {

// One matrix, or a batch of them. Entry e of row r of matrix b is in column columns[e], for e from
// starts[b] + rows[b * (row_count + 1) + r] up to that of row r + 1. TensorFlow's wire form; what Make and Decode
// return has pointers that ascend and columns that exist.
class CsrMatrix final : public VariantValue {
 public:
  static constexpr char kTypeName[] = "tensorflow::CSRSparseMatrix";

  // Of float, double or complex values. The tensors are vectors: int64 sizes (2 or 3 of them), int32 pointers and
  // columns. InvalidArgument where they do not fit together.
  static absl::StatusOr<std::shared_ptr<CsrMatrix>> Make(Tensor dense_shape, Tensor batch_pointers, Tensor row_pointers,
                                                         Tensor columns, Tensor values);

  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<CsrMatrix>(*this); }
  std::string DebugString() const override;
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  static absl::StatusOr<std::unique_ptr<VariantValue>> Decode(absl::string_view metadata, std::vector<Tensor> tensors);

  int rank() const { return static_cast<int>(dense_shape_.NumElements()); }
  int64_t size(int d) const { return dense_shape_.data<int64_t>()[d]; }  // 0 <= d < rank()
  int64_t batches() const { return batch_pointers_.NumElements() - 1; }
  int64_t row_count() const { return size(rank() - 2); }
  int64_t column_count() const { return size(rank() - 1); }
  int64_t entries() const { return columns_.NumElements(); }
  DataType dtype() const { return values_.dtype(); }

  // Of matrix b: where its entries begin, its row_count() + 1 row pointers.
  int64_t start(int64_t b) const { return batch_pointers_.data<int32_t>()[b]; }
  const int32_t* rows(int64_t b) const { return row_pointers_.data<int32_t>() + b * (row_count() + 1); }
  const int32_t* columns() const { return columns_.data<int32_t>(); }
  const Tensor& values() const { return values_; }
  const Tensor& dense_shape() const { return dense_shape_; }

 private:
  absl::Status Check() const;

  Tensor dense_shape_, batch_pointers_, row_pointers_, columns_, values_;
};

// Calls fn(entry, batch, row, column) for every entry in order.
template <typename Fn>
void ForEachEntry(const CsrMatrix& m, Fn fn) {
  for (int64_t b = 0; b < m.batches(); ++b) {
    for (int64_t r = 0; r < m.row_count(); ++r) {
      for (int64_t e = m.start(b) + m.rows(b)[r]; e < m.start(b) + m.rows(b)[r + 1]; ++e) fn(e, b, r, m.columns()[e]);
    }
  }
}

// Input i; InvalidArgument where it is no CsrMatrix of type `dtype` (DT_INVALID: of any).
absl::StatusOr<const CsrMatrix*> CsrInput(const OpKernelContext& ctx, int i, DataType dtype);
void SetCsrOutput(OpKernelContext& ctx, std::shared_ptr<CsrMatrix> matrix);

// Puts together a matrix whose entries come in any order, those of a row in the order in which they come.
class CsrBuilder {
 public:
  // The pointers must fit into int32. `dense_shape` has 2 or 3 sizes.
  static absl::StatusOr<CsrBuilder> Create(OpKernelContext& ctx, Tensor dense_shape, int64_t entries);
  // First each entry's row is counted, then, after PlaceRows, each entry gets its place.
  void Count(int64_t batch, int64_t row, int32_t entries = 1) { Row(batch)[row + 1] += entries; }
  void PlaceRows();
  int64_t Place(int64_t batch, int64_t row, int64_t column);
  absl::StatusOr<std::shared_ptr<CsrMatrix>> Finish(Tensor values) &&;

 private:
  int32_t* Row(int64_t batch) { return row_pointers_.data<int32_t>() + batch * (rows_ + 1); }

  Tensor dense_shape_, batch_pointers_, row_pointers_, columns_;
  int64_t batches_ = 0, rows_ = 0;
  std::vector<int32_t> next_;
};

}  // namespace weir
