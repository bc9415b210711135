// NCCL's functions, loaded when first needed: no program needs libnccl to start.
#pragma once

#include <nccl.h>

#include <string>

#include "core/status.h"

namespace weir {

struct NcclFunctions {
  decltype(&::ncclGetVersion) GetVersion;
  decltype(&::ncclGetUniqueId) GetUniqueId;
  decltype(&::ncclCommInitRankConfig) CommInitRankConfig;
  decltype(&::ncclCommGetAsyncError) CommGetAsyncError;
  decltype(&::ncclCommAbort) CommAbort;
  decltype(&::ncclGetErrorString) GetErrorString;
  decltype(&::ncclGetLastError) GetLastError;
  decltype(&::ncclGroupStart) GroupStart;
  decltype(&::ncclGroupEnd) GroupEnd;
  decltype(&::ncclAllReduce) AllReduce;
  decltype(&::ncclReduce) Reduce;
  decltype(&::ncclReduceScatter) ReduceScatter;
  decltype(&::ncclAllGather) AllGather;
  decltype(&::ncclBroadcast) Broadcast;
  decltype(&::ncclSend) Send;
  decltype(&::ncclRecv) Recv;
  std::string version;  // "2.28"
};

// Loads libnccl.so.2 from the loader's path, or else the one that the build found, and keeps it loaded. UNAVAILABLE,
// with the loader's reason, if there is none or it is too old.
absl::StatusOr<const NcclFunctions*> LoadNccl();

}  // namespace weir
