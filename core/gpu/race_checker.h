// Finds operations of several streams that touch the same memory without an order between them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "core/gpu/gpu_runtime.h"

namespace weir {

// Happens-before by vector clocks. Actors are the host (all its threads: what orders them among each other is ordinary
// synchronisation, which ThreadSanitizer checks; but what one thread has waited for counts as known to all, which may
// hide a race) and the streams. Operations are told in the order in which the host issues them; whether two of them
// have an order follows from the events and waits between them, not from when they happened to run, so that a missing
// dependency between streams shows in every run. Not thread-safe.
class RaceChecker {
 public:
  static constexpr int kHost = 0;
  using Clock = std::vector<uint64_t>;  // by actor; missing entries are 0

  // One operation, as it is ordered among others.
  struct Operation {
    std::string name, actor_name;
    int actor = kHost;
    uint64_t number = 0;  // among the actor's
    Clock clock;
  };
  using OperationRef = std::shared_ptr<const Operation>;

  RaceChecker();
  int AddActor(std::string name);

  // An operation that comes after all that its actor did before and, for a stream, after all that the host knew.
  OperationRef Issue(int actor, absl::string_view name, absl::Span<const GpuAccess> accesses);
  // A further access of an operation that was issued before: what a callback touches while it runs.
  void Access(const OperationRef& operation, absl::Span<const GpuAccess> accesses);

  // What `actor` has done so far: an event's content.
  const Clock& Now(int actor) const { return clocks_[actor]; }
  // `actor` goes on only after what the clock stands for.
  void Join(int actor, const Clock& clock);

  // The memory went back to where it came from.
  void Forget(const void* data, size_t bytes);

  // "write by 'add' (compute, operation 3) and read by 'copy' (to_host, operation 1) of the same 64 bytes: neither
  // waits for the other"; each pair of names once.
  const std::vector<std::string>& races() const { return races_; }

 private:
  struct Segment {
    uintptr_t end = 0;
    OperationRef writer;
    std::vector<OperationRef> readers;  // since the writer
  };
  using Shadow = std::map<uintptr_t, Segment>;  // by first byte

  Shadow::iterator SplitAt(uintptr_t address);
  void AccessSegment(const OperationRef& operation, uintptr_t begin, Segment* segment, bool writes);
  void Compare(const Operation& before, bool before_writes, const Operation& now, bool now_writes, size_t bytes);

  std::vector<std::string> names_;
  std::vector<Clock> clocks_;
  Shadow shadow_;
  absl::flat_hash_set<std::string> seen_;
  std::vector<std::string> races_;
};

}  // namespace weir
