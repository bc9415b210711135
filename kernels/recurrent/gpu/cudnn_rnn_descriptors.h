// cuDNN's descriptors of a recurrent network and of its sequences.
#pragma once

#include <memory>
#include <type_traits>

#include "kernels/recurrent/gpu/cudnn_rnn_functions.h"
#include "kernels/recurrent/gpu/rnn_library.h"

namespace weir {

// One descriptor, made and destroyed by two of the library's functions.
template <typename T>
using CudnnRnnDescriptor = std::unique_ptr<std::remove_pointer_t<T>, cudnnStatus_t (*)(T)>;
template <typename T>
absl::StatusOr<CudnnRnnDescriptor<T>> NewCudnnRnnDescriptor(const CudnnFunctions& cudnn, cudnnStatus_t (*create)(T*),
                                                            cudnnStatus_t (*destroy)(T)) {
  T made = nullptr;
  RETURN_IF_ERROR(cudnn.StatusOf(create(&made), "a descriptor of a recurrent network"));
  return CudnnRnnDescriptor<T>(made, destroy);
}

struct CudnnRnnDescriptors {
  CudnnRnnDescriptor<cudnnRNNDescriptor_t> network;
  CudnnRnnDescriptor<cudnnRNNDataDescriptor_t> x, y;
  CudnnRnnDescriptor<cudnnTensorDescriptor_t> h, c;

  // Needs no device. UNIMPLEMENTED for what the library does not support. `dropout` may be null, and outlives them.
  static absl::StatusOr<CudnnRnnDescriptors> Make(const CudnnFunctions& cudnn, const CudnnRnnFunctions& rnn,
                                                  const RnnProblem& problem, bool allow_tf32,
                                                  cudnnDropoutDescriptor_t dropout);
};

}  // namespace weir
