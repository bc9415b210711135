// NVRTC's functions, found when the process first asks for them: no program needs libnvrtc to start.
#pragma once

#include <nvrtc.h>

#include <string>

#include "core/status.h"

namespace weir {

struct NvrtcFunctions {
  decltype(&::nvrtcVersion) Version;
  decltype(&::nvrtcGetErrorString) GetErrorString;
  decltype(&::nvrtcGetNumSupportedArchs) GetNumSupportedArchs;
  decltype(&::nvrtcGetSupportedArchs) GetSupportedArchs;
  decltype(&::nvrtcCreateProgram) CreateProgram;
  decltype(&::nvrtcDestroyProgram) DestroyProgram;
  decltype(&::nvrtcCompileProgram) CompileProgram;
  decltype(&::nvrtcGetCUBINSize) GetCUBINSize;
  decltype(&::nvrtcGetCUBIN) GetCUBIN;
  decltype(&::nvrtcGetPTXSize) GetPTXSize;
  decltype(&::nvrtcGetPTX) GetPTX;
  decltype(&::nvrtcGetProgramLogSize) GetProgramLogSize;
  decltype(&::nvrtcGetProgramLog) GetProgramLog;
  std::string version;  // "13.0"

  // OK for success; INTERNAL, naming `what`, for the rest.
  absl::Status StatusOf(nvrtcResult result, absl::string_view what) const;
};

// Of libnvrtc.so.13 on the loader's path, or else of the one that the build found. It stays loaded. UNAVAILABLE, with
// the loader's reason, where there is none, or one of another major version.
absl::StatusOr<const NvrtcFunctions*> LoadNvrtc();

}  // namespace weir
