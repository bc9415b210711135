// The methods that links carry.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/types/span.h"

namespace weir {

struct LinkMethod {
  uint32_t id = 0;             // in frames
  const char* path = nullptr;  // gRPC's name for it
  bool computes = false;       // its handler may take long
};

// The methods that make up a step. Their handlers are the same as over gRPC.
inline constexpr LinkMethod kLinkRecvTensor{1, "/tensorflow.WorkerService/RecvTensor", false};
inline constexpr LinkMethod kLinkRunGraph{2, "/tensorflow.WorkerService/RunGraph", true};
inline constexpr LinkMethod kLinkCleanupGraph{3, "/tensorflow.WorkerService/CleanupGraph", false};
inline constexpr LinkMethod kLinkMethods[] = {kLinkRecvTensor, kLinkRunGraph, kLinkCleanupGraph};

// Starts every call frame.
struct CallHead {
  static constexpr int64_t kNoTimeout = std::numeric_limits<int64_t>::max();

  uint32_t method = 0;
  uint32_t reserved = 0;
  int64_t timeout_micros = kNoTimeout;
};
static_assert(sizeof(CallHead) == 16);

}  // namespace weir
