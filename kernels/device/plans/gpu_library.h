// The interface of a library that computes on GPUs: cuDNN, or a simulated one for tests on any machine.
//
// A `Problem` says what is computed, without the memory. It is a value that can be compared and hashed, and has
//   static constexpr char kNoun[], kOtherwise[];       // for the log: what it is, and what computes it without a plan
//   static constexpr size_t kMostCandidates;           // the most proposals of a library that are looked at
//   DataType dtype;
//   std::string ToString() const;                      // the same for equal problems alone; no tab, no line end
//   Problem InLayout(bool channels_first) const;       // itself, where it has but one layout
//   bool IsChannelsFirst() const;
// `Buffers` are the arguments of a call: memory of the device, and what is passed by value.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/gpu/gpu_runtime.h"
#include "kernels/device/plans/library_recipe.h"

namespace weir {

// Of the memory that a plan is given.
inline constexpr size_t kPlanAlignment = 16;

// A recipe made ready for one problem on one device. Thread-safe.
template <typename Problem, typename Buffers>
class LibraryPlan {
 public:
  virtual ~LibraryPlan() = default;
  virtual const Problem& problem() const = 0;
  virtual const LibraryRecipe& recipe() const = 0;
  virtual size_t workspace_bytes() const = 0;
  // Enqueues it. `workspace` has workspace_bytes() of this stream's memory, which need not be initialised.
  // UNIMPLEMENTED where the library finds only now that it cannot do it: nothing has been enqueued.
  virtual absl::Status Enqueue(GpuStream& stream, const Buffers& buffers, void* workspace) = 0;
};

// One library for one device. Thread-safe. Keeps within its settings: a recipe that needs more workspace, is not
// deterministic or is less precise than they allow is neither proposed nor made.
template <typename Problem, typename Buffers>
class GpuLibrary {
 public:
  virtual ~GpuLibrary() = default;
  // Device, driver and library with their versions: where recipes and measurements hold. One line, without tabs.
  virtual const std::string& identity() const = 0;
  // The layouts (channels_first) to try for a problem, best first.
  virtual std::vector<bool> Layouts(const Problem& problem) const { return {problem.IsChannelsFirst()}; }
  // What the library thinks best first; it may turn out that it cannot make one. Empty: it cannot do the problem.
  virtual absl::StatusOr<std::vector<LibraryRecipe>> Propose(const Problem& problem) = 0;
  // UNIMPLEMENTED for a recipe that the library does not do, or that the settings forbid. Takes milliseconds, or
  // seconds where code is generated.
  virtual absl::StatusOr<std::shared_ptr<LibraryPlan<Problem, Buffers>>> Make(const Problem& problem,
                                                                              const LibraryRecipe& recipe) = 0;
};

}  // namespace weir
