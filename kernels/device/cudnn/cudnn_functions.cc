#include "kernels/device/cudnn/cudnn_functions.h"

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

absl::StatusOr<CudnnFunctions> Load() {
  ASSIGN_OR_RETURN(const SharedLibrary library, OpenCudnnLibrary());
  CudnnFunctions f = {};
  RETURN_IF_ERROR(library.Find({{"cudnnGetVersion", &f.GetVersion}}));
  const size_t version = f.GetVersion();
  if (version / 10000 != CUDNN_MAJOR) {
    return errors::Unavailable("cuDNN ", version, " was loaded; major version ", CUDNN_MAJOR, " is needed");
  }
  f.version = absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
  RETURN_IF_ERROR(library.Find({{"cudnnGetErrorString", &f.GetErrorString},
                                {"cudnnGetLastErrorString", &f.GetLastErrorString},
                                {"cudnnCreate", &f.Create},
                                {"cudnnDestroy", &f.Destroy},
                                {"cudnnSetStream", &f.SetStream},
                                {"cudnnBackendCreateDescriptor", &f.CreateDescriptor},
                                {"cudnnBackendDestroyDescriptor", &f.DestroyDescriptor},
                                {"cudnnBackendFinalize", &f.Finalize},
                                {"cudnnBackendSetAttribute", &f.SetAttribute},
                                {"cudnnBackendGetAttribute", &f.GetAttribute},
                                {"cudnnBackendExecute", &f.Execute}}));
  return f;
}

}  // namespace

absl::Status CudnnFunctions::StatusOf(cudnnStatus_t status, absl::string_view what) const {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  char more[1024] = {};
  GetLastErrorString(more, sizeof(more));
  const std::string text =
      absl::StrCat("cuDNN: ", what, ": ", GetErrorString(status), *more == '\0' ? "" : absl::StrCat(" (", more, ")"));
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    return errors::ResourceExhausted(text);
  }
  switch (CUDNN_STATUS_CATEGORY(status)) {
    case CUDNN_STATUS_NOT_SUPPORTED:
      return errors::Unimplemented(text);
    case CUDNN_STATUS_BAD_PARAM:
      return errors::InvalidArgument(text);
    default:
      return errors::Internal(text);
  }
}

absl::StatusOr<SharedLibrary> OpenCudnnLibrary() {
  return SharedLibrary::Open("cuDNN", {"libcudnn.so.9", WEIR_CUDNN_LIBRARY});
}

absl::StatusOr<const CudnnFunctions*> LoadCudnn() {
  static const auto* const loaded = new absl::StatusOr<CudnnFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace weir
