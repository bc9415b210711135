// The calls that links carry.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/types/span.h"

namespace weir {

struct LinkMethod {
  uint32_t id = 0;             // in frames
  const char* path = nullptr;  // as gRPC knows it
  bool computes = false;       // serving it may take long
};

// Those of which a step consists. They are served as they are when they come over gRPC.
inline constexpr LinkMethod kLinkRecvTensor{1, "/tensorflow.WorkerService/RecvTensor", false};
inline constexpr LinkMethod kLinkRunGraph{2, "/tensorflow.WorkerService/RunGraph", true};
inline constexpr LinkMethod kLinkCleanupGraph{3, "/tensorflow.WorkerService/CleanupGraph", false};
inline constexpr LinkMethod kLinkMethods[] = {kLinkRecvTensor, kLinkRunGraph, kLinkCleanupGraph};

// What a frame that is a call starts with.
struct CallHead {
  static constexpr int64_t kNoTimeout = std::numeric_limits<int64_t>::max();

  uint32_t method = 0;
  uint32_t reserved = 0;
  int64_t timeout_micros = kNoTimeout;
};
static_assert(sizeof(CallHead) == 16);

}  // namespace weir
