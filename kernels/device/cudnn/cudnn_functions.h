// cuDNN's functions, found when the process first asks for them: no program needs libcudnn to start.
#pragma once

#include <cudnn_graph.h>

#include <string>

#include "core/shared_library.h"
#include "core/status.h"

namespace weir {

struct CudnnFunctions {
  decltype(&::cudnnGetVersion) GetVersion;
  decltype(&::cudnnGetErrorString) GetErrorString;
  decltype(&::cudnnGetLastErrorString) GetLastErrorString;
  decltype(&::cudnnCreate) Create;
  decltype(&::cudnnDestroy) Destroy;
  decltype(&::cudnnSetStream) SetStream;
  decltype(&::cudnnBackendCreateDescriptor) CreateDescriptor;
  decltype(&::cudnnBackendDestroyDescriptor) DestroyDescriptor;
  decltype(&::cudnnBackendFinalize) Finalize;
  decltype(&::cudnnBackendSetAttribute) SetAttribute;
  decltype(&::cudnnBackendGetAttribute) GetAttribute;
  decltype(&::cudnnBackendExecute) Execute;
  std::string version;  // "9.19.0"

  // OK for success. UNIMPLEMENTED for what the library does not support, RESOURCE_EXHAUSTED where it finds no memory,
  // INVALID_ARGUMENT for what it was called with, INTERNAL for the rest; with what it says of the last error.
  absl::Status StatusOf(cudnnStatus_t status, absl::string_view what) const;
};

// Of libcudnn.so.9 on the loader's path, or else of the one that the build found. It stays loaded. UNAVAILABLE, with
// the loader's reason, where there is none, or it is of another major version.
absl::StatusOr<const CudnnFunctions*> LoadCudnn();
// The library itself, whatever its version, for further functions of it.
absl::StatusOr<SharedLibrary> OpenCudnnLibrary();

}  // namespace weir
