// cuDNN's backend descriptors: what its graphs, engines and plans are described by.
#pragma once

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "kernels/device/cudnn/cudnn_functions.h"

namespace weir {

// One descriptor. Attributes are set before Finalize, and read after it. Errors name the attribute by its number in
// cudnn_graph.h.
class CudnnDescriptor {
 public:
  static absl::StatusOr<CudnnDescriptor> New(const CudnnFunctions& cudnn, cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }
  absl::Status Finalize(absl::string_view what);

  template <typename T>
  absl::Status SetMany(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, absl::Span<const T> values) {
    return SetRaw(name, type, static_cast<int64_t>(values.size()), values.data());
  }
  template <typename T>
  absl::Status Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    return SetRaw(name, type, 1, &value);
  }
  absl::Status SetInt64s(cudnnBackendAttributeName_t name, absl::Span<const int64_t> values) {
    return SetMany(name, CUDNN_TYPE_INT64, values);
  }
  absl::Status SetInt64(cudnnBackendAttributeName_t name, int64_t value) { return Set(name, CUDNN_TYPE_INT64, value); }
  absl::Status SetDescriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get());
  }
  absl::Status SetDescriptors(cudnnBackendAttributeName_t name, absl::Span<const CudnnDescriptor> values);

  absl::StatusOr<int64_t> GetInt64(cudnnBackendAttributeName_t name) const;
  // At most `most` of them.
  template <typename T>
  absl::StatusOr<std::vector<T>> GetMany(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                         int64_t most) const {
    std::vector<T> values(static_cast<size_t>(most));
    ASSIGN_OR_RETURN(const int64_t count, GetRaw(name, type, most, values.data()));
    values.resize(static_cast<size_t>(count));
    return values;
  }
  // At most `most`, of that type.
  absl::StatusOr<std::vector<CudnnDescriptor>> GetDescriptors(cudnnBackendAttributeName_t name,
                                                              cudnnBackendDescriptorType_t type, int64_t most) const;

 private:
  struct Destroy {
    const CudnnFunctions* cudnn;
    void operator()(cudnnBackendDescriptor_t descriptor) const { cudnn->DestroyDescriptor(descriptor); }
  };
  CudnnDescriptor(const CudnnFunctions& cudnn, cudnnBackendDescriptor_t descriptor)
      : cudnn_(&cudnn), descriptor_(descriptor, Destroy{&cudnn}) {}
  absl::Status SetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                      const void* values);
  // How many there are, `most` at most.
  absl::StatusOr<int64_t> GetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
                                 void* values) const;

  const CudnnFunctions* cudnn_;
  std::unique_ptr<void, Destroy> descriptor_;
};

}  // namespace weir
