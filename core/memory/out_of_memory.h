// Makes running out of memory fail a computation, not the process.
#pragma once

#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/status.h"

namespace weir {

// Calls `work`, which returns a Status or a StatusOr. RESOURCE_EXHAUSTED if it runs out of memory or requests an
// impossible size (std::length_error, also thrown by a TensorShape with more than 2**63 - 1 elements). Tensors come
// from the device's allocator, which fails by Status; this covers other memory of an op, such as a count for each class
// that an input names. Used wherever op code runs: kernels, shape functions, and tasks that they schedule.
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
