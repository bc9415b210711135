// Memory that cannot be had ends a computation, not the process.
#pragma once

#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/status.h"

namespace weir {

// Calls `work`, which returns a Status or a StatusOr, and answers RESOURCE_EXHAUSTED where it runs out of memory or
// asks for a size that cannot be (std::length_error, also of a TensorShape with more elements than 2**63 - 1). Tensors
// come from the device's allocator, which refuses by Status; this is for what an op needs beside them, such as a count
// for each class that an input names. Stands wherever code of ops runs: kernels, shape functions, what they hand to
// threads.
template <typename Work>
std::invoke_result_t<Work> OrOutOfMemory(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return errors::ResourceExhausted("OOM when computing: there is not enough memory for what the op needs");
  } catch (const std::length_error&) {
    return errors::ResourceExhausted("OOM when computing: the op needs more memory than can be addressed");
  }
}

}  // namespace weir
