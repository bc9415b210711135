#include "core/tensor/tensor_shape.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace weir {
namespace {

std::string JoinDims(absl::Span<const int64_t> dims) {
  return absl::StrCat(
      "[",
      absl::StrJoin(dims, ",",
                    [](std::string* out, int64_t d) { absl::StrAppend(out, d < 0 ? "?" : absl::StrCat(d)); }),
      "]");
}

// The number of elements of `dims`, or InvalidArgument. A dimension of zero does not excuse an overflow in the others:
// TensorFlow rejects those as well.
absl::StatusOr<int64_t> CheckedNumElements(absl::Span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return errors::InvalidArgument("Shape has ", dims.size(), " dimensions; the limit is ", kMaxRank);
  }
  int64_t n = 1;
  for (int64_t d : dims) {
    if (d < 0) return errors::InvalidArgument("Dimension ", d, " must be >= 0 in shape ", absl::StrJoin(dims, ","));
    n = MultiplyWithoutOverflow(n, d);
    if (n < 0) return errors::InvalidArgument("Shape ", JoinDims(dims), " would have more than 2**63 - 1 elements");
  }
  return n;
}

}  // namespace

int64_t MultiplyWithoutOverflow(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) return -1;
  return product;
}

// Dimensions from outside go through Build. If a product of known sizes still overflows, this throws, which fails the
// step like an out-of-memory error: a wrapped count would let a kernel write past its output.
TensorShape::TensorShape(absl::Span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  bool wrapped = false;
  for (int64_t d : dims) wrapped |= __builtin_mul_overflow(num_elements_, d, &num_elements_);
  if (wrapped && std::find(dims.begin(), dims.end(), 0) == dims.end()) {
    throw std::length_error(absl::StrCat("Shape ", JoinDims(dims), " would have more than 2**63 - 1 elements"));
  }
  int64_t* out = storage_.local;
  if (rank_ > kInline) out = storage_.heap = new int64_t[rank_];
  std::copy(dims.begin(), dims.end(), out);
}

void TensorShape::CopyHeap(const TensorShape& other) {
  storage_.heap = new int64_t[rank_];
  std::copy_n(other.storage_.heap, rank_, storage_.heap);
}

absl::StatusOr<TensorShape> TensorShape::Build(absl::Span<const int64_t> dims) {
  RETURN_IF_ERROR(CheckedNumElements(dims).status());
  return TensorShape(dims);
}

absl::StatusOr<TensorShape> TensorShape::FromProto(const tensorflow::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return errors::InvalidArgument("Shape of unknown rank where a full shape is needed");
  DimVector dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  return Build(dims);
}

void TensorShape::ToProto(tensorflow::TensorShapeProto* proto) const {
  proto->Clear();
  for (int64_t d : dim_sizes()) proto->add_dim()->set_size(d);
}

absl::Status TensorShape::AddDim(int64_t size) { return InsertDim(dims(), size); }

absl::Status TensorShape::InsertDim(int position, int64_t size) {
  DimVector dims(dim_sizes().begin(), dim_sizes().end());
  dims.insert(dims.begin() + position, size);
  ASSIGN_OR_RETURN(*this, Build(dims));
  return absl::OkStatus();
}

absl::Status TensorShape::SetDim(int i, int64_t size) {
  DimVector dims(dim_sizes().begin(), dim_sizes().end());
  dims[i] = size;
  ASSIGN_OR_RETURN(*this, Build(dims));
  return absl::OkStatus();
}

void TensorShape::RemoveDim(int i) {
  DimVector dims(dim_sizes().begin(), dim_sizes().end());
  dims.erase(dims.begin() + i);
  *this = TensorShape(dims);
}

absl::Status TensorShape::Append(const TensorShape& other) {
  DimVector dims(dim_sizes().begin(), dim_sizes().end());
  dims.insert(dims.end(), other.dim_sizes().begin(), other.dim_sizes().end());
  ASSIGN_OR_RETURN(*this, Build(dims));
  return absl::OkStatus();
}

std::string TensorShape::ToString() const { return JoinDims(dim_sizes()); }

absl::StatusOr<PartialTensorShape> PartialTensorShape::Build(absl::Span<const int64_t> dims) {
  DimVector known;
  for (int64_t d : dims) {
    if (d < -1) return errors::InvalidArgument("Dimension ", d, " must be >= -1 in partial shape");
    if (d >= 0) known.push_back(d);
  }
  if (dims.size() > kMaxRank) return CheckedNumElements(dims).status();
  RETURN_IF_ERROR(CheckedNumElements(known).status());
  PartialTensorShape shape;
  shape.unknown_rank_ = false;
  shape.dims_.assign(dims.begin(), dims.end());
  return shape;
}

absl::StatusOr<PartialTensorShape> PartialTensorShape::FromProto(const tensorflow::TensorShapeProto& proto) {
  if (proto.unknown_rank()) {
    if (proto.dim_size() > 0) {
      return errors::InvalidArgument("An unknown rank shape must not have any dimensions set, but it has ",
                                     proto.dim_size());
    }
    return PartialTensorShape();
  }
  DimVector dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  return Build(dims);
}

void PartialTensorShape::ToProto(tensorflow::TensorShapeProto* proto) const {
  proto->Clear();
  proto->set_unknown_rank(unknown_rank_);
  for (int64_t d : dims_) proto->add_dim()->set_size(d);
}

bool PartialTensorShape::IsFullyDefined() const {
  return !unknown_rank_ && std::none_of(dims_.begin(), dims_.end(), [](int64_t d) { return d < 0; });
}

absl::StatusOr<TensorShape> PartialTensorShape::AsTensorShape() const {
  if (!IsFullyDefined()) return errors::InvalidArgument("Shape ", ToString(), " is not fully defined");
  return TensorShape::Build(dims_);
}

bool PartialTensorShape::IsCompatibleWith(const PartialTensorShape& other) const {
  if (unknown_rank_ || other.unknown_rank_) return true;
  if (dims_.size() != other.dims_.size()) return false;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] >= 0 && other.dims_[i] >= 0 && dims_[i] != other.dims_[i]) return false;
  }
  return true;
}

absl::StatusOr<PartialTensorShape> PartialTensorShape::MergeWith(const PartialTensorShape& other) const {
  if (unknown_rank_) return other;
  if (other.unknown_rank_) return *this;
  if (dims_.size() != other.dims_.size()) {
    return errors::InvalidArgument("PartialTensorShape: Incompatible ranks during merge: ", dims_.size(), " vs. ",
                                   other.dims_.size());
  }
  if (!IsCompatibleWith(other)) {
    return errors::InvalidArgument("PartialTensorShape: Incompatible shapes during merge: ", ToString(), " vs. ",
                                   other.ToString());
  }
  DimVector dims = dims_;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) dims[i] = other.dims_[i];
  }
  return Build(dims);
}

std::string PartialTensorShape::ToString() const { return unknown_rank_ ? "<unknown>" : JoinDims(dims_); }

}  // namespace weir
