// Detects unordered accesses of several streams to the same memory.
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

// Determines happens-before with vector clocks. Not thread-safe.
// - Actors are the streams and the host. All host threads are one actor: ordering among them is ordinary
//   synchronisation, which ThreadSanitizer checks. One thread's wait counts for all, which may hide a race.
// - Operations are reported in the order in which the host issues them. Their ordering follows from events and waits,
//   not from when they happened to run, so a missing dependency between streams shows in every run.
class RaceChecker {
 public:
  static constexpr int kHost = 0;
  using Clock = std::vector<uint64_t>;  // by actor; missing entries are 0

  // One operation and its clock.
  struct Operation {
    std::string name, actor_name;
    int actor = kHost;
    uint64_t number = 0;  // sequence number of the actor
    Clock clock;
  };
  using OperationRef = std::shared_ptr<const Operation>;

  RaceChecker();
  int AddActor(std::string name);

  // Issues an operation, ordered after all earlier operations of its actor and, for a stream, after everything that the
  // host knows.
  OperationRef Issue(int actor, absl::string_view name, absl::Span<const GpuAccess> accesses);
  // Adds an access to an operation that was already issued: memory that a callback touches while it runs.
  void Access(const OperationRef& operation, absl::Span<const GpuAccess> accesses);

  // The current clock of `actor`, as stored in an event.
  const Clock& Now(int actor) const { return clocks_[actor]; }
  // Later operations of `actor` are ordered after `clock`.
  void Join(int actor, const Clock& clock);

  // Drops the history of memory that was freed.
  void Forget(const void* data, size_t bytes);

  // "write by 'add' (compute, operation 3) and read by 'copy' (to_host, operation 1) of the same 64 bytes: neither
  // waits for the other". Each pair of names is listed once.
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
