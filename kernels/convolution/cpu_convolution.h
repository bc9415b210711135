// Two-dimensional convolutions and their gradients over raw memory.
#pragma once

#include <memory>

#include "kernels/convolution/args.h"
#include "kernels/device/epilogue.h"

namespace weir {

enum class ConvolutionKind { kForward, kBackpropInput, kBackpropFilter };

// Two of the three tensors are read and the third, which kind names, is written in full. A forward convolution may have
// an epilogue, for its output.
struct ConvolutionBuffers {
  void* input = nullptr;
  void* filter = nullptr;
  void* output = nullptr;
  const BoundEpilogue* epilogue = nullptr;
};

// Over the whole output of a problem, or of a part of one whose images or rows lie one after another.
void ApplyEpilogue(const ConvolutionShape& shape, const ConvolutionBuffers& buffers);

// Computes problems of one kind and element type. Thread-safe; one belongs to each kernel and remembers what it built
// for the shapes that it has seen.
class Convolution {
 public:
  virtual ~Convolution() = default;
  // The result has elements. Splits the work over the device's threads.
  virtual absl::Status Run(OpKernelContext& ctx, const ConvolutionShape& shape, const ConvolutionBuffers& buffers) = 0;
};

// float, half and bfloat16 by oneDNN; double and int32 by matrix products over patches. nullptr for other types.
std::unique_ptr<Convolution> NewConvolution(ConvolutionKind kind, DataType type);
std::unique_ptr<Convolution> NewDnnlConvolution(ConvolutionKind kind, DataType type);
std::unique_ptr<Convolution> NewPlainConvolution(ConvolutionKind kind, DataType type);

}  // namespace weir
