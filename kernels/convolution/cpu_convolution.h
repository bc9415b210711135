// Two-dimensional convolutions and their gradients over raw memory.
#pragma once

#include <memory>

#include "kernels/convolution/args.h"
#include "kernels/device/epilogue.h"

namespace weir {

enum class ConvolutionKind { kForward, kBackpropInput, kBackpropFilter };

// Two of the three tensors are read. The third, chosen by the kind, is written in full. A forward convolution may have
// an epilogue.
struct ConvolutionBuffers {
  void* input = nullptr;
  void* filter = nullptr;
  void* output = nullptr;
  const BoundEpilogue* epilogue = nullptr;
};

// Applies the epilogue to the whole output, or to a part of whole images or rows.
void ApplyEpilogue(const ConvolutionShape& shape, const ConvolutionBuffers& buffers);

// Computes convolutions of one kind and element type. Thread-safe. Each kernel owns one, which caches by shape what it
// built.
class Convolution {
 public:
  virtual ~Convolution() = default;
  // Splits the work over the device's threads. The result must not be empty.
  virtual absl::Status Run(OpKernelContext& ctx, const ConvolutionShape& shape, const ConvolutionBuffers& buffers) = 0;
};

// float, half and bfloat16 by oneDNN; double and int32 by matrix products over patches. nullptr for other types. With
// `deterministic`, results do not depend on the number of threads; those of double and int32 never do.
std::unique_ptr<Convolution> NewConvolution(ConvolutionKind kind, DataType type, bool deterministic);
std::unique_ptr<Convolution> NewDnnlConvolution(ConvolutionKind kind, DataType type, bool deterministic);
std::unique_ptr<Convolution> NewPlainConvolution(ConvolutionKind kind, DataType type);

}  // namespace weir
