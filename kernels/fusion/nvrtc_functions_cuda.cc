#include "core/shared_library.h"
#include "kernels/fusion/nvrtc_functions.h"

namespace weir {
namespace {

constexpr int kMajorVersion = 13;  // that of nvrtc.h: its functions keep their form within one

absl::StatusOr<NvrtcFunctions> Load() {
  ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open("NVRTC", {"libnvrtc.so.13", WEIR_NVRTC_LIBRARY}));
  NvrtcFunctions f = {};
  RETURN_IF_ERROR(library.Find({{"nvrtcVersion", &f.Version},
                                {"nvrtcGetErrorString", &f.GetErrorString},
                                {"nvrtcGetNumSupportedArchs", &f.GetNumSupportedArchs},
                                {"nvrtcGetSupportedArchs", &f.GetSupportedArchs},
                                {"nvrtcCreateProgram", &f.CreateProgram},
                                {"nvrtcDestroyProgram", &f.DestroyProgram},
                                {"nvrtcCompileProgram", &f.CompileProgram},
                                {"nvrtcGetCUBINSize", &f.GetCUBINSize},
                                {"nvrtcGetCUBIN", &f.GetCUBIN},
                                {"nvrtcGetPTXSize", &f.GetPTXSize},
                                {"nvrtcGetPTX", &f.GetPTX},
                                {"nvrtcGetProgramLogSize", &f.GetProgramLogSize},
                                {"nvrtcGetProgramLog", &f.GetProgramLog}}));
  int major = 0, minor = 0;
  RETURN_IF_ERROR(f.StatusOf(f.Version(&major, &minor), "its version"));
  if (major != kMajorVersion) {
    return errors::Unavailable("NVRTC ", major, ".", minor, " was loaded; major version ", kMajorVersion, " is needed");
  }
  f.version = absl::StrCat(major, ".", minor);
  return f;
}

}  // namespace

absl::Status NvrtcFunctions::StatusOf(nvrtcResult result, absl::string_view what) const {
  if (result == NVRTC_SUCCESS) return absl::OkStatus();
  return errors::Internal("NVRTC: ", what, ": ", GetErrorString(result));
}

absl::StatusOr<const NvrtcFunctions*> LoadNvrtc() {
  static const auto* const loaded = new absl::StatusOr<NvrtcFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace weir
