// One member's side of the collectives of a group.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/rendezvous/collective.h"
#include "core/status.h"
#include "core/tensor/types.h"
#include "core/threads/cancellation.h"
#include "core/wire/wire_options.h"

namespace weir {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kBarrier,
  kPermute,
};

enum class Algorithm : uint8_t {
  kRecursiveDoubling,  // whole vectors with partners at distance 1, 2, 4 …; barriers by dissemination
  kHalvingDoubling,    // reduce-scatter by halving distances and sizes, then all-gather by doubling
  kRing,               // blocks move round a ring; several rings work on slices of a large vector
  kTree,               // binary tree, pipelined
  kBinomialTree,
  kHierarchical,   // within hosts, among hosts, within hosts
  kBruck,          // all-gather in log(n) rounds for any number of ranks
  kPairwise,       // each pair directly
  kScatterGather,  // broadcast: scatter by a binomial tree, then all-gather round a ring
};

absl::string_view Name(CollectiveKind kind);
absl::string_view Name(Algorithm algorithm);

// One member's call. `count` is in elements: of the member's input, except for broadcast and permute's receivers, where
// it is that of the output.
// - all-reduce, reduce: input count, output count (reduce: only at the root)
// - reduce-scatter: input count, output block `rank` of PartitionBlocks(count, size)
// - all-gather: input count, output size * count
// - broadcast: input count at the root, output count everywhere; they may be the same memory
// - all-to-all: input count, a multiple of size; output as many
// - permute: input to permutation[rank]; output from the rank whose permutation entry is this rank
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  DataType dtype = DT_FLOAT;
  Reduction reduction = Reduction::kAdd;
  int64_t divisor = 1;  // of the reduced value
  int64_t count = 0;
  int root = 0;
  std::vector<int> permutation;
  const void* input = nullptr;
  void* output = nullptr;
  WireOptions wire;                             // equal on every member; barriers have none
  int64_t sequence = 0;                         // of the call in its group; equal on every member
  std::optional<Algorithm> algorithm;           // nullopt: the cost model chooses; equal on every member
  CancellationManager* cancellation = nullptr;  // lives until `done`
  // Owns input and output; kept after `done` while a peer may still read what a failed call has sent. Null: the call
  // waits until no peer reads, so a peer that does not read delays its end.
  std::shared_ptr<const void> owner;
};

// Thread-safe: calls with different sequence numbers may overlap.
// - `done` runs exactly once, with no lock held, on any thread. By then input and output are no longer written, nor
//   read except as CollectiveCall::owner says.
// - A member's error or absence is an error of all members that have not finished.
class Collective {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void RunAsync(const CollectiveCall& call, DoneCallback done) = 0;
};

}  // namespace weir
