// Tensor shapes: fully known (TensorShape) and partly known (PartialTensorShape).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/api.h"
#include "core/status.h"

namespace tensorflow {
class TensorShapeProto;
}

namespace WEIR_API weir {

using DimVector = absl::InlinedVector<int64_t, 4>;
constexpr int kMaxRank = 254;

// A product that cannot wrap: -1 if either factor is negative or the product exceeds int64.
int64_t MultiplyWithoutOverflow(int64_t a, int64_t b);

// A known shape.
// - Invariant: 0 to 254 dimensions, none negative, and their product fits int64.
// - The constructor and mutators are for trusted dimensions; use Build, which checks, for dimensions from outside.
// - Up to four dimensions are stored inline, so that copies of most shapes are cheap.
// - A moved-from shape is a scalar's.
class TensorShape {
 public:
  TensorShape() = default;  // a scalar
  TensorShape(std::initializer_list<int64_t> dims) : TensorShape(absl::MakeConstSpan(dims.begin(), dims.size())) {}
  // Throws std::length_error if the element count overflows: the step fails as for lack of memory. Sizes from outside
  // go through Build.
  explicit TensorShape(absl::Span<const int64_t> dims);
  TensorShape(const TensorShape& other) : TensorShape(other, Bits()) {
    if (rank_ > kInline) CopyHeap(other);
  }
  TensorShape(TensorShape&& other) noexcept : TensorShape(other, Bits()) { other.SetScalar(); }
  TensorShape& operator=(const TensorShape& other) {
    if (this != &other) *this = TensorShape(other);
    return *this;
  }
  TensorShape& operator=(TensorShape&& other) noexcept {
    if (this == &other) return *this;
    if (rank_ > kInline) delete[] storage_.heap;
    storage_ = other.storage_;
    num_elements_ = other.num_elements_;
    rank_ = other.rank_;
    other.SetScalar();
    return *this;
  }
  ~TensorShape() {
    if (rank_ > kInline) delete[] storage_.heap;
  }

  static absl::StatusOr<TensorShape> Build(absl::Span<const int64_t> dims);
  static absl::StatusOr<TensorShape> FromProto(const tensorflow::TensorShapeProto& proto);
  void ToProto(tensorflow::TensorShapeProto* proto) const;

  int dims() const { return rank_; }
  int64_t dim_size(int i) const { return data()[i]; }
  absl::Span<const int64_t> dim_sizes() const { return {data(), static_cast<size_t>(rank_)}; }
  int64_t num_elements() const { return num_elements_; }
  bool IsScalar() const { return rank_ == 0; }
  bool IsVector() const { return rank_ == 1; }
  bool IsMatrix() const { return rank_ == 2; }

  // Each returns InvalidArgument, and changes nothing, if the result would break the invariant.
  absl::Status AddDim(int64_t size);
  absl::Status InsertDim(int position, int64_t size);
  absl::Status SetDim(int i, int64_t size);
  void RemoveDim(int i);
  absl::Status Append(const TensorShape& other);

  std::string ToString() const;  // "[2,3]"
  friend bool operator==(const TensorShape& a, const TensorShape& b) { return a.dim_sizes() == b.dim_sizes(); }
  friend bool operator!=(const TensorShape& a, const TensorShape& b) { return !(a == b); }

 private:
  static constexpr int kInline = 4;
  struct Bits {};

  // A bitwise copy of `other`: the caller handles memory on the heap.
  TensorShape(const TensorShape& other, Bits)
      : storage_(other.storage_), num_elements_(other.num_elements_), rank_(other.rank_) {}
  void CopyHeap(const TensorShape& other);
  void SetScalar() {
    rank_ = 0;
    num_elements_ = 1;
  }
  const int64_t* data() const { return rank_ > kInline ? storage_.heap : storage_.local; }

  union Storage {
    int64_t local[kInline];
    int64_t* heap;
  };
  Storage storage_ = {};
  int64_t num_elements_ = 1;
  int rank_ = 0;
};

// A shape whose rank or single dimensions (-1) may be unknown.
class PartialTensorShape {
 public:
  PartialTensorShape() = default;               // unknown rank
  PartialTensorShape(const TensorShape& shape)  // NOLINT(google-explicit-constructor): every shape is a partial one
      : unknown_rank_(false), dims_(shape.dim_sizes().begin(), shape.dim_sizes().end()) {}

  static absl::StatusOr<PartialTensorShape> Build(absl::Span<const int64_t> dims);  // -1: unknown
  static absl::StatusOr<PartialTensorShape> FromProto(const tensorflow::TensorShapeProto& proto);
  void ToProto(tensorflow::TensorShapeProto* proto) const;

  bool unknown_rank() const { return unknown_rank_; }
  int dims() const { return unknown_rank_ ? -1 : static_cast<int>(dims_.size()); }
  int64_t dim_size(int i) const { return dims_[i]; }  // -1: unknown
  absl::Span<const int64_t> dim_sizes() const { return dims_; }
  bool IsFullyDefined() const;
  // The known shape, if fully defined.
  absl::StatusOr<TensorShape> AsTensorShape() const;
  bool IsCompatibleWith(const PartialTensorShape& other) const;
  // The combined knowledge of both; InvalidArgument if they conflict.
  absl::StatusOr<PartialTensorShape> MergeWith(const PartialTensorShape& other) const;

  std::string ToString() const;  // "[?,3]", "<unknown>"
  friend bool operator==(const PartialTensorShape& a, const PartialTensorShape& b) {
    return a.unknown_rank_ == b.unknown_rank_ && a.dims_ == b.dims_;
  }

 private:
  bool unknown_rank_ = true;
  DimVector dims_;
};

}  // namespace weir
