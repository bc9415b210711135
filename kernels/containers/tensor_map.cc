#include "kernels/containers/tensor_map.h"

#include <algorithm>

#include "core/checkpoint/coding.h"
#include "kernels/containers/family.h"
#include "kernels/device/variant_nesting.h"

namespace weir {
namespace {

// Dtype, shape and contents as one string.
absl::StatusOr<std::string> Identity(const Tensor& key) {
  std::string bytes;
  coding::PutVarint(&bytes, static_cast<uint64_t>(key.dtype()));
  coding::PutVarint(&bytes, static_cast<uint64_t>(key.dims()));
  for (int i = 0; i < key.dims(); ++i) coding::PutVarint(&bytes, static_cast<uint64_t>(key.dim_size(i)));
  if (key.dtype() == DT_STRING) {
    for (int64_t i = 0; i < key.NumElements(); ++i) {
      const absl::string_view text = key.data<tstring>()[i];
      coding::PutVarint(&bytes, text.size());
      bytes.append(text.data(), text.size());
    }
    return bytes;
  }
  if (key.dtype() == DT_RESOURCE || key.dtype() == DT_VARIANT) {
    return errors::Unimplemented("Keys of a tensor map of type ", DataTypeName(key.dtype()), " are not supported");
  }
  bytes.append(static_cast<const char*>(key.raw_data()), key.NumElements() * DataTypeSize(key.dtype()));
  return bytes;
}

}  // namespace

std::string TensorMap::DebugString() const { return absl::StrCat("TensorMap of ", items_.size()); }

absl::StatusOr<const Tensor*> TensorMap::Find(const Tensor& key) const {
  ASSIGN_OR_RETURN(const std::string identity, Identity(key));
  const auto it = items_.find(identity);
  return it == items_.end() ? nullptr : &it->second.value;
}

absl::Status TensorMap::Insert(const Tensor& key, Tensor value) {
  RETURN_IF_ERROR(CheckNesting(value));
  ASSIGN_OR_RETURN(std::string identity, Identity(key));
  if (items_.size() >= kMaxSize && !items_.contains(identity)) {
    return errors::ResourceExhausted("A tensor map holds no more than ", kMaxSize, " tensors");
  }
  depth_ = std::max(depth_, VariantDepth(value) + 1);
  items_.insert_or_assign(std::move(identity), Item{key, std::move(value)});
  return absl::OkStatus();
}

absl::StatusOr<bool> TensorMap::Erase(const Tensor& key) {
  ASSIGN_OR_RETURN(const std::string identity, Identity(key));
  return items_.erase(identity) > 0;
}

// The wire form is TensorFlow's: each key, followed by its value.
absl::Status TensorMap::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  metadata->clear();
  tensors->clear();
  for (const auto& [identity, item] : items_) {
    tensors->push_back(item.key);
    tensors->push_back(item.value);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<VariantValue>> TensorMap::Decode(absl::string_view metadata,
                                                                std::vector<Tensor> tensors) {
  if (tensors.size() % 2 != 0) return errors::InvalidArgument("A TensorMap with a key that has no value");
  auto map = std::make_unique<TensorMap>();
  for (size_t i = 0; i < tensors.size(); i += 2) RETURN_IF_ERROR(map->Insert(tensors[i], std::move(tensors[i + 1])));
  return std::unique_ptr<VariantValue>(std::move(map));
}

absl::StatusOr<std::unique_ptr<VariantValue>> TensorMap::MapTensors(const TensorMapping& fn) const {
  auto mapped = std::make_unique<TensorMap>(*this);
  for (auto& [identity, item] : mapped->items_) {
    ASSIGN_OR_RETURN(item.value, fn(item.value));
  }
  return std::unique_ptr<VariantValue>(std::move(mapped));
}

absl::Status RegisterTensorMapVariants(VariantRegistry& variants) {
  return variants.Register(TensorMap::kTypeName, &TensorMap::Decode);
}

}  // namespace weir
