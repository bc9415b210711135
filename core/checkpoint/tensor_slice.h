// Rectangular parts of tensors, as used by checkpoints of partitioned variables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/tensor/tensor.h"

namespace tensorflow {
class TensorSliceProto;
}

namespace weir {

// A value type. An extent without a length covers the whole dimension.
class TensorSlice {
 public:
  struct Extent {
    int64_t start = 0;
    int64_t length = kFull;
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  static constexpr int64_t kFull = -1;

  TensorSlice() = default;
  explicit TensorSlice(int dims) : extents_(dims) {}  // everything
  explicit TensorSlice(std::vector<Extent> extents) : extents_(std::move(extents)) {}
  // "0,2:-:3,1": start and length of each dimension, "-" for all of it. InvalidArgument quoting the text.
  static absl::StatusOr<TensorSlice> Parse(absl::string_view text);
  static absl::StatusOr<TensorSlice> FromProto(const tensorflow::TensorSliceProto& proto);
  void ToProto(tensorflow::TensorSliceProto* proto) const;

  int dims() const { return static_cast<int>(extents_.size()); }
  const std::vector<Extent>& extents() const { return extents_; }
  bool IsFull() const;
  std::string ToString() const;
  // The shape of this part of a tensor of shape `full`; InvalidArgument if it is out of bounds.
  absl::StatusOr<TensorShape> ShapeWithin(const TensorShape& full) const;
  // The same part with all lengths explicit. Must lie within `full`.
  TensorSlice Resolved(const TensorShape& full) const;
  // The intersection of two resolved slices; nullopt if it is empty.
  std::optional<TensorSlice> Intersect(const TensorSlice& other) const;

  friend bool operator==(const TensorSlice& a, const TensorSlice& b) = default;

 private:
  std::vector<Extent> extents_;
};

// The shape_and_slice argument of SaveV2 and RestoreV2: "" (all), or the full shape and a slice of it, "4 3 0,2:-".
struct ShapeAndSlice {
  TensorShape full_shape;
  TensorSlice slice;
  TensorShape slice_shape;
};
absl::StatusOr<ShapeAndSlice> ParseShapeAndSlice(absl::string_view spec);

// Copies the part `region` from a tensor that holds the slice `from_slice` to one that holds `to_slice`. All are
// resolved; `region` lies in both.
void CopyRegion(const TensorSlice& region, const TensorSlice& from_slice, const Tensor& from,
                const TensorSlice& to_slice, Tensor* to);

}  // namespace weir
