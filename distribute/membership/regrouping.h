// Decides which workers train together next.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "core/status.h"
#include "weir/regroup.pb.h"

namespace weir {

// What one worker knows of another.
struct RegroupPeer {
  enum State {
    kUnknown,  // not heard of since this worker began to wait
    kAnswers,  // `note` is what it says
    kLost,     // its process has ended, it hangs, or it does not train
  };
  State state = kUnknown;
  TrainingNote note;
};

struct RegroupPolicy {
  int initial_workers = 1;  // wait for so many before the first step
  int min_workers = 1;      // never train with fewer
  int max_workers = 64;
};

// What a worker is to do next.
struct RegroupAction {
  enum Kind {
    kNone,
    kPropose,  // publish `plan` as this worker's; it is then the deciding worker's
    kPrepare,  // make ready for `plan`, and go on training until the end of a step in which a worker asks to stop
    kForget,   // give the prepared plan up, and go on training
    kEnter,    // meet the others of `plan`
    kAbandon,  // end the step, or the meeting, and wait
  };
  Kind kind = kNone;
  TrainingGeneration plan;
  std::string reason;  // of kForget and kAbandon
};

using RegroupPeers = absl::btree_map<std::string, RegroupPeer>;  // by task, without the worker itself

// One worker's rules, a function of what it says and knows. `excluded`: (task, run) of workers that the next plan of
// this worker leaves out. `new_id` is the id of a plan that it makes, and not 0.
//
// Safe, because a generation steps only by collectives of all its members, under keys that contain its id, and a worker
// is in one generation at a time. Each begins with a gathering of its members' states (StateOf), from which all compute
// the same source. So it does not matter whether two workers decide at once, or the deciding one dies: a plan that is
// not met by all its members comes to nothing, and they give it up.
RegroupAction NextRegroupAction(const TrainingNote& self, const RegroupPeers& peers, const RegroupPolicy& policy,
                                const std::set<std::pair<std::string, uint64_t>>& excluded, uint64_t new_id);

// The state of a member's variables, as members tell each other when they meet.
struct MemberState {
  int64_t number = 0;  // of the generation that it comes from; 0: it has no state
  uint64_t id = 0;
  int64_t step = 0;
  bool whole = false;  // no step has ended half-way
  friend bool operator==(const MemberState&, const MemberState&) = default;
};
// The rank whose state all members continue from. FAILED_PRECONDITION if all that have a state have a broken one.
absl::StatusOr<int> SourceOf(const std::vector<MemberState>& states);
// The ranks that need the source's state. Those of a first generation are all but the source.
std::vector<int> NeedyOf(const std::vector<MemberState>& states, int source);

bool IsNewer(const TrainingGeneration& a, const TrainingGeneration& b);
// By job (chief, master, worker, others) and index: the order of ranks.
bool HasLowerRank(const TrainingMember& a, const TrainingMember& b);
// -1: it is not a member.
int RankIn(const TrainingGeneration& generation, const TrainingMember& member);

}  // namespace weir
