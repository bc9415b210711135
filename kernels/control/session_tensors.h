// Tensors that a session keeps on a device between steps, addressed by handle.
#pragma once

#include <string>

#include "core/kernel/kernel_registry.h"
#include "core/status.h"

namespace weir {

// The resource container of a session's tensors; it is cleared when the session ends.
inline std::string SessionTensorContainer(absl::string_view session_handle) {
  return absl::StrCat("_session_tensors/", session_handle);
}

// Replaces a tensor fed by handle (a resource in the container TensorHandle) with the tensor that the session keeps
// under that name on `device`. InvalidArgument if there is none; other tensors are returned unchanged.
absl::Status ResolveSessionTensor(Device* device, absl::string_view session_handle, Tensor* fed);

// GetSessionHandle, GetSessionHandleV2, GetSessionTensor, DeleteSessionTensor.

}  // namespace weir
