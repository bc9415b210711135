#include "kernels/containers/tensor_list.h"

#include <algorithm>

#include "core/checkpoint/coding.h"
#include "kernels/containers/family.h"
#include "kernels/device/variant_nesting.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace weir {

std::string TensorList::DebugString() const {
  return absl::StrCat("TensorList of ", elements.size(), " ", DataTypeName(dtype), element_shape.ToString());
}

absl::Status TensorList::Admit(const Tensor& element) {
  RETURN_IF_ERROR(CheckNesting(element));
  depth = std::max(depth, VariantDepth(element) + 1);
  return absl::OkStatus();
}

// The wire form is TensorFlow's: how many elements are missing and which, dtype, limit, the elements' shape.
absl::Status TensorList::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  metadata->clear();
  tensors->clear();
  std::vector<uint64_t> missing;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].has_value()) {
      tensors->push_back(*elements[i]);
    } else {
      missing.push_back(i);
    }
  }
  coding::PutVarint(metadata, missing.size());
  for (uint64_t i : missing) coding::PutVarint(metadata, i);
  coding::PutVarint(metadata, static_cast<uint64_t>(dtype));
  coding::PutVarint(metadata, static_cast<uint64_t>(max_size));
  tensorflow::TensorShapeProto shape;
  element_shape.ToProto(&shape);
  shape.AppendToString(metadata);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<VariantValue>> TensorList::Decode(absl::string_view metadata,
                                                                 std::vector<Tensor> tensors) {
  const auto malformed = [] { return errors::InvalidArgument("The metadata of a TensorList is malformed"); };
  uint64_t count, dtype, max_size;
  if (!coding::GetVarint64(&metadata, &count)) return malformed();
  const uint64_t size = count + tensors.size();
  if (count > kMaxSize || size > kMaxSize) return malformed();
  std::vector<bool> is_missing(size);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t index;
    if (!coding::GetVarint64(&metadata, &index) || index >= size || is_missing[index]) return malformed();
    is_missing[index] = true;
  }
  if (!coding::GetVarint64(&metadata, &dtype) || !coding::GetVarint64(&metadata, &max_size)) return malformed();
  auto list = std::make_unique<TensorList>();
  list->dtype = static_cast<DataType>(dtype);
  list->max_size = static_cast<int64_t>(max_size);
  tensorflow::TensorShapeProto shape;
  if (dtype > INT32_MAX || !IsValidDataType(list->dtype) ||
      !shape.ParseFromArray(metadata.data(), static_cast<int>(metadata.size()))) {
    return malformed();
  }
  ASSIGN_OR_RETURN(list->element_shape, PartialTensorShape::FromProto(shape));
  list->elements.resize(size);
  size_t next = 0;
  for (uint64_t i = 0; i < size; ++i) {
    if (is_missing[i]) continue;
    if (tensors[next].dtype() != list->dtype || !list->element_shape.IsCompatibleWith(tensors[next].shape())) {
      return malformed();
    }
    RETURN_IF_ERROR(list->Admit(tensors[next]));
    list->elements[i] = std::move(tensors[next++]);
  }
  return std::unique_ptr<VariantValue>(std::move(list));
}

absl::StatusOr<std::unique_ptr<VariantValue>> TensorList::MapTensors(const TensorMapping& fn) const {
  auto mapped = std::make_unique<TensorList>(*this);
  for (std::optional<Tensor>& element : mapped->elements) {
    if (!element.has_value()) continue;
    ASSIGN_OR_RETURN(element, fn(*element));
  }
  return std::unique_ptr<VariantValue>(std::move(mapped));
}

absl::Status RegisterTensorListVariants(VariantRegistry& variants) {
  return variants.Register(TensorList::kTypeName, &TensorList::Decode);
}

}  // namespace weir
