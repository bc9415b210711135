// A sparse tensor as kernels get it: three tensors that may contradict each other.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"

namespace weir {

// `entries` index rows of `rank` numbers, as many values, and the sizes of the dense tensor. What Read returns has
// consistent counts; indices may still lie anywhere, and sizes may be negative or overflow.
class SparseTensor {
 public:
  // Clients match the texts of errors, and those of ops differ.
  enum class Wording {
    kInput,   // "Input indices should be a matrix but received shape …", "Number of values must match …"
    kParts,   // "indices must be a matrix, but got: …", "indices and values rows (indexing dimension) must match …"
    kSparse,  // "Sparse indices must be rank 2 but is rank …", "Number of elements in indices … do not match"
  };
  // How an error calls the parts: "Input indices should be a matrix …", "Input sp_indices …".
  struct Names {
    const char* indices = "indices";
    const char* values = "values";
    const char* shape = "shape";
    Wording wording = Wording::kInput;
  };

  SparseTensor() = default;
  // From int64 indices [entries, rank], values [entries] and an int64 shape [rank]; InvalidArgument otherwise.
  static absl::StatusOr<SparseTensor> Read(const Tensor& indices, const Tensor& values, const Tensor& shape,
                                           const Names& names);
  static absl::StatusOr<SparseTensor> Read(const Tensor& indices, const Tensor& values, const Tensor& shape) {
    return Read(indices, values, shape, Names());
  }

  int64_t entries() const { return indices_.dim_size(0); }
  int rank() const { return static_cast<int>(shape_.size()); }
  const Tensor& indices() const { return indices_; }
  const Tensor& values() const { return values_; }
  absl::Span<const int64_t> shape() const { return shape_; }
  absl::Span<const int64_t> index(int64_t entry) const {
    return {indices_.data<int64_t>() + entry * rank(), static_cast<size_t>(rank())};
  }

  // The dense tensor's shape; InvalidArgument where the sizes make none.
  absl::StatusOr<TensorShape> DenseShape() const { return TensorShape::Build(shape_); }
  // Every index is within the shape, and each is behind its predecessor in row-major order. Otherwise InvalidArgument:
  // "indices[1] = [0,3] is out of bounds: need 0 <= index < [2,3]", "… is out of order …" or "… is repeated".
  absl::Status CheckOrdered() const;
  // Every index is within the shape. kSparse: "Sparse index tuple indices[1, :] = [0, 3] is out of bounds".
  absl::Status CheckBounds(Wording wording = Wording::kInput) const;

 private:
  Tensor indices_, values_;
  DimVector shape_;
};

// -1, 0 or 1 as row `a` comes before, equals or follows row `b`.
int CompareIndices(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

// The entries in row-major order of their indices, equal ones as they stood; `indices` is [entries, rank].
std::vector<int64_t> SortedEntries(const int64_t* indices, int64_t entries, int rank);

// Elements values[picks[i]] as a vector in output i.
absl::StatusOr<Tensor> GatherElements(OpKernelContext& ctx, const Tensor& values, absl::Span<const int64_t> picks);
// Rows rows[picks[i]] of an int64 matrix.
absl::StatusOr<Tensor> GatherIndexRows(OpKernelContext& ctx, const Tensor& rows, absl::Span<const int64_t> picks);

// "[1,2,3]"
std::string IndexText(absl::Span<const int64_t> index);
// An int64 vector.
Tensor ShapeTensor(absl::Span<const int64_t> sizes);
// The elements of an int64 vector; InvalidArgument for another rank, with `name`.
absl::StatusOr<DimVector> ReadVector(const Tensor& tensor, absl::string_view name);

}  // namespace weir
