#include "kernels/device/cudnn/cudnn_descriptor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir {

absl::StatusOr<CudnnDescriptor> CudnnDescriptor::New(const CudnnFunctions& cudnn, cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  RETURN_IF_ERROR(cudnn.StatusOf(cudnn.CreateDescriptor(type, &made), absl::StrCat("a descriptor of type ", type)));
  return CudnnDescriptor(cudnn, made);
}

absl::Status CudnnDescriptor::Finalize(absl::string_view what) {
  return cudnn_->StatusOf(cudnn_->Finalize(get()), what);
}

absl::Status CudnnDescriptor::SetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                                     const void* values) {
  return cudnn_->StatusOf(cudnn_->SetAttribute(get(), name, type, count, values),
                          absl::StrCat("setting attribute ", name));
}

absl::Status CudnnDescriptor::SetDescriptors(cudnnBackendAttributeName_t name,
                                             absl::Span<const CudnnDescriptor> values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& value : values) raw.push_back(value.get());
  return SetMany<cudnnBackendDescriptor_t>(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw);
}

absl::StatusOr<int64_t> CudnnDescriptor::GetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                                int64_t most, void* values) const {
  int64_t count = 0;
  RETURN_IF_ERROR(cudnn_->StatusOf(cudnn_->GetAttribute(get(), name, type, most, &count, values),
                                   absl::StrCat("reading attribute ", name)));
  return std::clamp<int64_t>(count, 0, most);
}

absl::StatusOr<int64_t> CudnnDescriptor::GetInt64(cudnnBackendAttributeName_t name) const {
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, GetMany<int64_t>(name, CUDNN_TYPE_INT64, 1));
  if (values.empty()) return errors::Internal("cuDNN: attribute ", name, " has no value");
  return values[0];
}

absl::StatusOr<std::vector<CudnnDescriptor>> CudnnDescriptor::GetDescriptors(cudnnBackendAttributeName_t name,
                                                                             cudnnBackendDescriptorType_t type,
                                                                             int64_t most) const {
  // The library fills in descriptors that the caller has made.
  std::vector<CudnnDescriptor> made;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < most; ++i) {
    ASSIGN_OR_RETURN(CudnnDescriptor one, New(*cudnn_, type));
    raw.push_back(one.get());
    made.push_back(std::move(one));
  }
  ASSIGN_OR_RETURN(const int64_t count, GetRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data()));
  made.erase(made.begin() + count, made.end());
  return made;
}

}  // namespace weir
