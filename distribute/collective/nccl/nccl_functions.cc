#include "distribute/collective/nccl/nccl_functions.h"

#include "absl/strings/str_cat.h"
#include "core/shared_library.h"

namespace weir {
namespace {

// The first version with nonblocking communicators and configurations.
constexpr int kLeastVersion = NCCL_VERSION(2, 18, 0);

absl::StatusOr<NcclFunctions> Load() {
  ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open("NCCL", {"libnccl.so.2", WEIR_NCCL_LIBRARY}));
  NcclFunctions f = {};
  RETURN_IF_ERROR(library.Find({{"ncclGetVersion", &f.GetVersion}}));
  int version = 0;
  if (f.GetVersion(&version) != ncclSuccess || version < kLeastVersion) {
    return errors::Unavailable("NCCL ", version, " is too old; ", kLeastVersion, " is needed");
  }
  f.version = absl::StrCat(version / 10000, ".", version / 100 % 100);
  RETURN_IF_ERROR(library.Find({{"ncclGetUniqueId", &f.GetUniqueId},
                                {"ncclCommInitRankConfig", &f.CommInitRankConfig},
                                {"ncclCommGetAsyncError", &f.CommGetAsyncError},
                                {"ncclCommAbort", &f.CommAbort},
                                {"ncclGetErrorString", &f.GetErrorString},
                                {"ncclGetLastError", &f.GetLastError},
                                {"ncclGroupStart", &f.GroupStart},
                                {"ncclGroupEnd", &f.GroupEnd},
                                {"ncclAllReduce", &f.AllReduce},
                                {"ncclReduce", &f.Reduce},
                                {"ncclReduceScatter", &f.ReduceScatter},
                                {"ncclAllGather", &f.AllGather},
                                {"ncclBroadcast", &f.Broadcast},
                                {"ncclSend", &f.Send},
                                {"ncclRecv", &f.Recv}}));
  return f;
}

}  // namespace

absl::StatusOr<const NcclFunctions*> LoadNccl() {
  static const auto* const loaded = new absl::StatusOr<NcclFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace weir
