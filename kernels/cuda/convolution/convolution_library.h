// What libraries that convolve on GPUs look like to kernels: cuDNN, and a simulated one for tests on any machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/gpu/gpu_math_settings.h"
#include "core/gpu/gpu_runtime.h"
#include "kernels/cuda/convolution/convolution_problem.h"
#include "kernels/cuda/library_recipe.h"

namespace weir {

// Of the memory that a plan is given.
inline constexpr size_t kConvolutionAlignment = 16;

// The arguments of a call; what the direction makes is written, the others are read.
struct ConvolutionBuffers {
  void* in = nullptr;
  void* filter = nullptr;
  void* out = nullptr;
};

// A recipe made ready for one problem on one device. Thread-safe.
class ConvolutionPlan {
 public:
  virtual ~ConvolutionPlan() = default;
  virtual const ConvolutionProblem& problem() const = 0;
  virtual const LibraryRecipe& recipe() const = 0;
  virtual size_t workspace_bytes() const = 0;
  // Enqueues it. `workspace` has workspace_bytes() of this stream's memory, which need not be initialised.
  // UNIMPLEMENTED where the library finds only now that it cannot do it: nothing has been enqueued.
  virtual absl::Status Enqueue(GpuStream& stream, const ConvolutionBuffers& buffers, void* workspace) = 0;
};

// One library for one device. Thread-safe. Keeps within its settings: a recipe that needs more workspace, is not
// deterministic or is less precise than they allow is neither proposed nor made.
class ConvolutionLibrary {
 public:
  virtual ~ConvolutionLibrary() = default;
  // Device, driver and library with their versions: where recipes and measurements hold. One line, without tabs.
  virtual const std::string& identity() const = 0;
  // The layouts (channels_first) to try for a problem, best first.
  virtual std::vector<bool> Layouts(const ConvolutionProblem& problem) const = 0;
  // What the library thinks best first; it may turn out that it cannot make one. Empty: it cannot do the problem.
  virtual absl::StatusOr<std::vector<LibraryRecipe>> Propose(const ConvolutionProblem& problem) = 0;
  // UNIMPLEMENTED for a recipe that the library does not do, or that the settings forbid. Takes milliseconds, or
  // seconds where code is generated.
  virtual absl::StatusOr<std::shared_ptr<ConvolutionPlan>> Make(const ConvolutionProblem& problem,
                                                                const LibraryRecipe& recipe) = 0;
};

}  // namespace weir
