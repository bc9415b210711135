// Tensors that a session keeps on a device between its steps, by handles.
#pragma once

#include <string>

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// The container of the device's resources in which a session's tensors lie; whoever ends the session clears it.
inline std::string SessionTensorContainer(absl::string_view session_handle) {
  return absl::StrCat("_session_tensors/", session_handle);
}

// A tensor that is fed by its handle (as clients encode one: a resource in the container TensorHandle) gives way to
// what the session keeps under that name on `device`. InvalidArgument when there is nothing; other tensors stay.
absl::Status ResolveSessionTensor(Device* device, absl::string_view session_handle, Tensor* fed);

// GetSessionHandle, GetSessionHandleV2, GetSessionTensor, DeleteSessionTensor.

}  // namespace weir
