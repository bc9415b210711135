// Counts the bytes that a task exchanges, for monitoring.
#pragma once

#include "core/metrics/counter.h"

namespace weir {

// Thread-safe.
struct ByteCounts {
  EventCounter sent, received;
};

// Thread-safe. Links count their own bytes (LinkPoller::Describe, StreamLinks::Describe).
struct TransportMetrics {
  ByteCounts calls;           // requests and answers of gRPC calls, of clients and of other tasks
  ByteCounts shared_tensors;  // tensors written into another task's memory, or into this one's
  EventCounter calls_served;
};

}  // namespace weir
