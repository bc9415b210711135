#include "kernels/cuda/convolution/cudnn_functions.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

template <typename Function>
absl::Status Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  if (*function != nullptr) return absl::OkStatus();
  return errors::Unavailable("libcudnn.so.9 has no ", name, ": it is too old");
}

absl::StatusOr<CudnnFunctions> Load() {
  void* library = nullptr;
  std::string reason;
  for (const char* name : {"libcudnn.so.9", WEIR_CUDNN_LIBRARY}) {
    if (library != nullptr || *name == '\0') continue;
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr && reason.empty()) reason = ::dlerror();
  }
  if (library == nullptr) return errors::Unavailable("cuDNN cannot be loaded: ", reason);
  CudnnFunctions f = {};
  RETURN_IF_ERROR(Find(library, "cudnnGetVersion", &f.GetVersion));
  const size_t version = f.GetVersion();
  if (version / 10000 != CUDNN_MAJOR) {
    return errors::Unavailable("cuDNN ", version, " was loaded; major version ", CUDNN_MAJOR, " is needed");
  }
  f.version = absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
  RETURN_IF_ERROR(Find(library, "cudnnGetErrorString", &f.GetErrorString));
  RETURN_IF_ERROR(Find(library, "cudnnGetLastErrorString", &f.GetLastErrorString));
  RETURN_IF_ERROR(Find(library, "cudnnCreate", &f.Create));
  RETURN_IF_ERROR(Find(library, "cudnnDestroy", &f.Destroy));
  RETURN_IF_ERROR(Find(library, "cudnnSetStream", &f.SetStream));
  RETURN_IF_ERROR(Find(library, "cudnnBackendCreateDescriptor", &f.CreateDescriptor));
  RETURN_IF_ERROR(Find(library, "cudnnBackendDestroyDescriptor", &f.DestroyDescriptor));
  RETURN_IF_ERROR(Find(library, "cudnnBackendFinalize", &f.Finalize));
  RETURN_IF_ERROR(Find(library, "cudnnBackendSetAttribute", &f.SetAttribute));
  RETURN_IF_ERROR(Find(library, "cudnnBackendGetAttribute", &f.GetAttribute));
  RETURN_IF_ERROR(Find(library, "cudnnBackendExecute", &f.Execute));
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

absl::StatusOr<const CudnnFunctions*> LoadCudnn() {
  static const auto* const loaded = new absl::StatusOr<CudnnFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace weir
