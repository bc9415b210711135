#include "distribute/collective/nccl/nccl_functions.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// Of communicators that do not block and have a configuration.
constexpr int kLeastVersion = NCCL_VERSION(2, 18, 0);

template <typename Function>
absl::Status Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  if (*function != nullptr) return absl::OkStatus();
  return errors::Unavailable("libnccl.so.2 has no ", name, ": it is too old");
}

absl::StatusOr<NcclFunctions> Load() {
  void* library = nullptr;
  std::string reason;
  for (const char* name : {"libnccl.so.2", WEIR_NCCL_LIBRARY}) {
    if (library != nullptr || *name == '\0') continue;
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr && reason.empty()) reason = ::dlerror();
  }
  if (library == nullptr) return errors::Unavailable("NCCL cannot be loaded: ", reason);
  NcclFunctions f = {};
  RETURN_IF_ERROR(Find(library, "ncclGetVersion", &f.GetVersion));
  int version = 0;
  if (f.GetVersion(&version) != ncclSuccess || version < kLeastVersion) {
    return errors::Unavailable("NCCL ", version, " is too old; ", kLeastVersion, " is needed");
  }
  f.version = absl::StrCat(version / 10000, ".", version / 100 % 100);
  RETURN_IF_ERROR(Find(library, "ncclGetUniqueId", &f.GetUniqueId));
  RETURN_IF_ERROR(Find(library, "ncclCommInitRankConfig", &f.CommInitRankConfig));
  RETURN_IF_ERROR(Find(library, "ncclCommGetAsyncError", &f.CommGetAsyncError));
  RETURN_IF_ERROR(Find(library, "ncclCommAbort", &f.CommAbort));
  RETURN_IF_ERROR(Find(library, "ncclGetErrorString", &f.GetErrorString));
  RETURN_IF_ERROR(Find(library, "ncclGetLastError", &f.GetLastError));
  RETURN_IF_ERROR(Find(library, "ncclGroupStart", &f.GroupStart));
  RETURN_IF_ERROR(Find(library, "ncclGroupEnd", &f.GroupEnd));
  RETURN_IF_ERROR(Find(library, "ncclAllReduce", &f.AllReduce));
  RETURN_IF_ERROR(Find(library, "ncclReduce", &f.Reduce));
  RETURN_IF_ERROR(Find(library, "ncclReduceScatter", &f.ReduceScatter));
  RETURN_IF_ERROR(Find(library, "ncclAllGather", &f.AllGather));
  RETURN_IF_ERROR(Find(library, "ncclBroadcast", &f.Broadcast));
  RETURN_IF_ERROR(Find(library, "ncclSend", &f.Send));
  RETURN_IF_ERROR(Find(library, "ncclRecv", &f.Recv));
  return f;
}

}  // namespace

absl::StatusOr<const NcclFunctions*> LoadNccl() {
  static const auto* const loaded = new absl::StatusOr<NcclFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace weir
