// One member's side of the collectives of a group.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/cancellation.h"
#include "core/collective.h"
#include "core/status.h"
#include "core/types.h"
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
  kRing,               // blocks go round; several rings at once on slices of a large vector
  kTree,               // binary tree, pipelined
  kBinomialTree,
  kHierarchical,   // within hosts, among hosts, within hosts
  kBruck,          // all-gather in log(n) rounds for any number of ranks
  kPairwise,       // each pair directly
  kScatterGather,  // broadcast: scatter by a binomial tree, then all-gather round a ring
};

absl::string_view Name(CollectiveKind kind);
absl::string_view Name(Algorithm algorithm);

// What one member asks for. `count` is in elements: of a member's input for all kinds but broadcast and permute's
// receivers, whose output has as many.
//   all-reduce, reduce     input count, output count (reduce: at the root alone)
//   reduce-scatter         input count, output: block `rank` of PartitionBlocks(count, size)
//   all-gather             input count, output size * count
//   broadcast              input count at the root, output count everywhere; they may be the same memory
//   all-to-all             input count, a multiple of size; output as many
//   permute                input to permutation[rank]; output from whoever has this rank there
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  DataType dtype = DT_FLOAT;
  Reduction reduction = Reduction::kAdd;
  int64_t divisor = 1;  // of what was reduced
  int64_t count = 0;
  int root = 0;
  std::vector<int> permutation;
  const void* input = nullptr;
  void* output = nullptr;
  WireOptions wire;                             // the same on every member; barriers have none
  int64_t sequence = 0;                         // of the call among those of the group: the same on every member
  std::optional<Algorithm> algorithm;           // nullopt: what the cost model says; the same on every member
  CancellationManager* cancellation = nullptr;  // lives until `done`
  // Of input and output, to keep after `done` while a peer may still read what a call that failed has sent. Null: then
  // no peer does, and a peer that does not read keeps the call from ending.
  std::shared_ptr<const void> owner;
};

// Thread-safe: calls with different sequence numbers may overlap. `done` runs exactly once, with no lock held, when
// input and output are no longer written, nor read but as CollectiveCall::owner says, on any thread. An error of one
// member, or its absence, is an error of all that have not finished.
class Collective {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void RunAsync(const CollectiveCall& call, DoneCallback done) = 0;
};

}  // namespace weir
