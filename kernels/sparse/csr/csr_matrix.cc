#include "kernels/sparse/csr/csr_matrix.h"
#include "kernels/sparse/family.h"

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

bool IsVector(const Tensor& tensor, DataType dtype, int64_t size) {
  return tensor.dtype() == dtype && tensor.dims() == 1 && tensor.NumElements() == size;
}

// Starts at 0, ends at `last`, never falls.
bool Ascends(const int32_t* pointers, int64_t count, int64_t last) {
  return pointers[0] == 0 && pointers[count - 1] == last && std::is_sorted(pointers, pointers + count);
}

// As the struct that TensorFlow copies.
struct WireMetadata {
  int32_t validated = 1;
  int32_t dtype = 0;
};

}  // namespace

absl::Status CsrMatrix::Check() const {
  const auto malformed = [](const char* what) { return errors::InvalidArgument("CSRSparseMatrix::Validate: ", what); };
  const DataType type = values_.dtype();
  if (type != DT_FLOAT && type != DT_DOUBLE && type != DT_COMPLEX64 && type != DT_COMPLEX128) {
    return errors::InvalidArgument("CSRSparseMatrix::Validate: dtype = ", DataTypeName(type),
                                   " not in {float32, float64, complex64, complex128}");
  }
  if (dense_shape_.dtype() != DT_INT64 || dense_shape_.dims() != 1 || rank() < 2 || rank() > 3) {
    return malformed("dense_shape should be a 2- or 3- vector of int64");
  }
  RETURN_IF_ERROR(TensorShape::Build({dense_shape_.data<int64_t>(), static_cast<size_t>(rank())}).status());
  const int64_t batches = rank() == 3 ? size(0) : 1, count = columns_.NumElements();
  if (batches > INT32_MAX || row_count() > INT32_MAX || column_count() > INT32_MAX || count > INT32_MAX) {
    return malformed("the matrix is too large");
  }
  if (!IsVector(batch_pointers_, DT_INT32, batches + 1)) return malformed("batch_pointers has the wrong type or shape");
  if (!IsVector(row_pointers_, DT_INT32, batches * (row_count() + 1))) {
    return malformed("row_pointers has the wrong type or shape");
  }
  if (!IsVector(columns_, DT_INT32, count) || !IsVector(values_, type, count)) {
    return malformed("col_indices and values are not vectors of one length");
  }
  const int32_t* const starts = batch_pointers_.data<int32_t>();
  if (!Ascends(starts, batches + 1, count)) return malformed("batch_pointers do not ascend to the number of values");
  for (int64_t b = 0; b < batches; ++b) {
    if (!Ascends(rows(b), row_count() + 1, starts[b + 1] - starts[b])) {
      return malformed("row_pointers do not ascend to the number of values");
    }
  }
  const bool exist =
      std::all_of(columns(), columns() + count, [&](int32_t column) { return column >= 0 && column < column_count(); });
  return exist ? absl::OkStatus() : malformed("col_indices are out of range");
}

absl::StatusOr<std::shared_ptr<CsrMatrix>> CsrMatrix::Make(Tensor dense_shape, Tensor batch_pointers,
                                                           Tensor row_pointers, Tensor columns, Tensor values) {
  auto matrix = std::make_shared<CsrMatrix>();
  matrix->dense_shape_ = std::move(dense_shape);
  matrix->batch_pointers_ = std::move(batch_pointers);
  matrix->row_pointers_ = std::move(row_pointers);
  matrix->columns_ = std::move(columns);
  matrix->values_ = std::move(values);
  RETURN_IF_ERROR(matrix->Check());
  return matrix;
}

std::string CsrMatrix::DebugString() const {
  return absl::StrCat("CSRSparseMatrix of ", entries(), " ", DataTypeName(dtype()));
}

absl::Status CsrMatrix::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  const WireMetadata wire = {.dtype = dtype()};
  metadata->assign(reinterpret_cast<const char*>(&wire), sizeof(wire));
  *tensors = {dense_shape_, batch_pointers_, row_pointers_, columns_, values_};
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<VariantValue>> CsrMatrix::Decode(absl::string_view metadata,
                                                                std::vector<Tensor> tensors) {
  WireMetadata wire;
  if (metadata.size() != sizeof(wire) || tensors.size() != 5) {
    return errors::InvalidArgument("An encoded CSRSparseMatrix has ", tensors.size(), " tensors and ", metadata.size(),
                                   " bytes of metadata");
  }
  std::memcpy(&wire, metadata.data(), sizeof(wire));
  if (wire.dtype != tensors[4].dtype()) return errors::InvalidArgument("An encoded CSRSparseMatrix mistakes its type");
  ASSIGN_OR_RETURN(const std::shared_ptr<CsrMatrix> matrix,
                   Make(std::move(tensors[0]), std::move(tensors[1]), std::move(tensors[2]), std::move(tensors[3]),
                        std::move(tensors[4])));
  return matrix->Clone();
}

absl::StatusOr<const CsrMatrix*> CsrInput(const OpKernelContext& ctx, int i, DataType dtype) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.dtype() != DT_VARIANT || tensor.NumElements() != 1) {
    return errors::InvalidArgument("Unable to retrieve CSRSparseMatrix from input ", i, ": it is no variant scalar");
  }
  const Variant& variant = tensor.data<Variant>()[0];
  const CsrMatrix* const matrix = variant.get<CsrMatrix>();
  if (matrix == nullptr) {
    return errors::InvalidArgument("Unable to retrieve CSRSparseMatrix from input ", i, ": it holds '",
                                   variant.empty() ? "nothing" : variant.TypeName(), "'");
  }
  if (dtype == DT_INVALID || matrix->dtype() == dtype) return matrix;
  return errors::InvalidArgument("Asked for a CSRSparseMatrix of type ", DataTypeName(dtype),
                                 " but saw dtype: ", DataTypeName(matrix->dtype()));
}

void SetCsrOutput(OpKernelContext& ctx, std::shared_ptr<CsrMatrix> matrix) {
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(matrix))));
}

absl::StatusOr<CsrBuilder> CsrBuilder::Create(OpKernelContext& ctx, Tensor dense_shape, int64_t entries) {
  CsrBuilder builder;
  const int64_t* const sizes = dense_shape.data<int64_t>();
  const int64_t rank = dense_shape.NumElements();
  RETURN_IF_ERROR(TensorShape::Build({sizes, static_cast<size_t>(rank)}).status());
  builder.batches_ = rank == 3 ? sizes[0] : 1;
  builder.rows_ = sizes[rank - 2];
  // What the caller says of sizes costs memory only up to here.
  constexpr int64_t kMostPointers = int64_t{1} << 28;
  const int64_t pointers =
      builder.rows_ > kMostPointers ? -1 : MultiplyWithoutOverflow(builder.batches_, builder.rows_ + 1);
  if (pointers < 0 || pointers > kMostPointers || builder.batches_ > kMostPointers || sizes[rank - 1] > INT32_MAX ||
      entries > INT32_MAX) {
    return errors::InvalidArgument("A CSRSparseMatrix cannot have ", entries, " values in matrices of ", builder.rows_,
                                   " rows, ", builder.batches_, " of them");
  }
  ASSIGN_OR_RETURN(builder.batch_pointers_, ctx.allocate_temp(DT_INT32, TensorShape({builder.batches_ + 1})));
  ASSIGN_OR_RETURN(builder.row_pointers_, ctx.allocate_temp(DT_INT32, TensorShape({pointers})));
  ASSIGN_OR_RETURN(builder.columns_, ctx.allocate_temp(DT_INT32, TensorShape({entries})));
  std::fill_n(builder.row_pointers_.data<int32_t>(), builder.row_pointers_.NumElements(), 0);
  builder.dense_shape_ = std::move(dense_shape);
  return builder;
}

void CsrBuilder::PlaceRows() {
  int32_t* const starts = batch_pointers_.data<int32_t>();
  starts[0] = 0;
  next_.resize(batches_ * rows_);
  for (int64_t b = 0; b < batches_; ++b) {
    int32_t* const row = Row(b);
    for (int64_t r = 0; r < rows_; ++r) {
      next_[b * rows_ + r] = starts[b] + row[r];
      row[r + 1] += row[r];
    }
    starts[b + 1] = starts[b] + row[rows_];
  }
}

int64_t CsrBuilder::Place(int64_t batch, int64_t row, int64_t column) {
  const int64_t at = next_[batch * rows_ + row]++;
  columns_.data<int32_t>()[at] = static_cast<int32_t>(column);
  return at;
}

absl::StatusOr<std::shared_ptr<CsrMatrix>> CsrBuilder::Finish(Tensor values) && {
  return CsrMatrix::Make(std::move(dense_shape_), std::move(batch_pointers_), std::move(row_pointers_),
                         std::move(columns_), std::move(values));
}

absl::Status RegisterCsrVariants(VariantRegistry& variants) {
  return variants.Register(CsrMatrix::kTypeName, &CsrMatrix::Decode);
}

}  // namespace weir
