#include "distribute/membership/regrouping.h"

#include <map>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "core/testing.h"

namespace weir {
namespace {

using Note = TrainingNote;

TrainingMember WorkerOf(int index, uint64_t run = 1) {
  TrainingMember member;
  member.set_task(absl::StrCat("/job:worker/replica:0/task:", index));
  member.set_run(run);
  return member;
}

// Workers as abstract processes: they read each other's notes late, die, stop, continue and come back; collectives end
// for some of their members and fail for others.
class World {
 public:
  struct Worker {
    Note note;
    RegroupPeers peers;
    MemberState state;     // of its variables
    uint64_t history = 0;  // what they went through: the steps, and the generations that made them
    bool alive = true, stopped = false, met = false, stops = false, excluded = false;
    // In a collective: the step of a generation, or the meeting of one.
    std::string collective;
    bool has_result = false;  // of the collective
    std::vector<MemberState> gathered;
  };

  World(uint64_t seed, int workers) : random_(seed) {
    for (int i = 0; i < workers; ++i) Start(i);
  }

  void Start(int i) {
    Worker worker;
    *worker.note.mutable_self() = WorkerOf(i, ++runs_);
    worker.note.set_phase(Note::WAITING);
    workers_[i] = std::move(worker);
  }
  int Below(int n) { return static_cast<int>(random_() % n); }

  void RunAtRandom(int events, bool faults) {
    fails_ = faults;
    for (int event = 0; event < events && !broken_ && !testing::Test::HasFailure(); ++event) {
      const int i = Below(static_cast<int>(workers_.size()));
      Worker& worker = workers_[i];
      if (faults && Below(200) == 0) {
        Fault(i);
        continue;
      }
      if (!worker.alive || worker.stopped) continue;
      switch (Below(3)) {
        case 0:
          Read(worker);
          break;
        case 1:
          Act(worker);
          break;
        default:
          Progress(worker);
      }
    }
  }
  void EndFaults() {
    for (auto& [i, worker] : workers_) {
      worker.stopped = false;
      if (!worker.alive) Start(i);
    }
  }
  // The generation that all workers train in; null: there is none.
  const TrainingGeneration* Common() const {
    const TrainingGeneration* common = nullptr;
    for (const auto& [i, worker] : workers_) {
      if (worker.note.phase() == Note::ENDED) continue;
      if (worker.note.phase() != Note::TRAINING) return nullptr;
      if (common != nullptr && common->id() != worker.note.held().id()) return nullptr;
      common = &worker.note.held();
    }
    return common;
  }
  bool broken() const { return broken_; }
  int64_t steps() const { return steps_; }
  int generations() const { return static_cast<int>(started_.size()); }
  std::string ToString() const {
    std::string text;
    for (const auto& [i, w] : workers_) {
      absl::StrAppend(&text, i, ": step ", w.state.step, w.stops ? " stops " : " ", w.collective, "; ",
                      w.note.ShortDebugString(), "\n");
    }
    return text;
  }

 private:
  void Fault(int i) {
    Worker& worker = workers_[i];
    switch (Below(4)) {
      case 0:
        worker.alive = false;
        break;
      case 1:
        worker.stopped = !worker.stopped;
        break;
      case 2:
        if (!worker.alive) Start(i);
        break;
      default:
        worker.stopped = false;
    }
  }

  void Read(Worker& reader) {
    const int i = Below(static_cast<int>(workers_.size()));
    const Worker& read = workers_[i];
    if (read.note.self().task() == reader.note.self().task()) return;
    RegroupPeer& peer = reader.peers[read.note.self().task()];
    if (!read.alive || (read.stopped && Below(4) == 0)) {
      peer.state = RegroupPeer::kLost;
    } else if (!read.stopped) {
      peer = {RegroupPeer::kAnswers, read.note};
    }
  }

  static void Forget(Worker& worker) {
    if (IsNewer(worker.note.prepared(), worker.note.abandoned())) {
      *worker.note.mutable_abandoned() = worker.note.prepared();
    }
    worker.note.clear_prepared();
  }
  void BeginToWait(Worker& worker) {
    Forget(worker);
    worker.note.set_phase(Note::WAITING);
    worker.collective.clear();
    worker.met = worker.stops = worker.has_result = false;
    for (const auto& [i, other] : workers_) worker.peers[other.note.self().task()].state = RegroupPeer::kUnknown;
    worker.peers.erase(worker.note.self().task());
  }

  void Act(Worker& worker) {
    if (worker.peers.empty()) return BeginToWait(worker);
    const RegroupAction action =
        NextRegroupAction(worker.note, worker.peers, {.initial_workers = 2}, {}, random_() | 1);
    switch (action.kind) {
      case RegroupAction::kPropose:
        *worker.note.mutable_plan() = action.plan;
        break;
      case RegroupAction::kPrepare:
        *worker.note.mutable_prepared() = action.plan;
        worker.met = false;
        break;
      case RegroupAction::kForget:
        Forget(worker);
        break;
      case RegroupAction::kEnter:
        *worker.note.mutable_prepared() = action.plan;
        worker.note.set_phase(Note::ENTERING);
        Meet(worker);
        break;
      case RegroupAction::kAbandon:
        BeginToWait(worker);
        break;
      case RegroupAction::kNone:
        break;
    }
  }

  // A collective of all members of a generation. Members whose call has ended with a result may go on before others.
  struct Call {
    std::map<uint64_t, MemberState> joined;  // by run
    std::vector<MemberState> result;
  };
  bool Join(Worker& worker, const std::string& key, const TrainingGeneration& generation) {
    if (worker.collective != key) {
      worker.collective = key;
      calls_[key].joined[worker.note.self().run()] = worker.state;
    }
    Call& call = calls_[key];
    if (call.result.empty() && static_cast<int>(call.joined.size()) == generation.member_size()) {
      std::vector<MemberState> states;
      for (const TrainingMember& member : generation.member()) {
        // A member that has left before all had come does not take part.
        bool is_there = false;
        for (const auto& [i, other] : workers_) {
          is_there |= other.alive && other.note.self().run() == member.run() && other.collective == key;
        }
        if (!is_there) return false;
        states.push_back(call.joined.at(member.run()));
      }
      call.result = std::move(states);
    }
    worker.gathered = call.result;
    return !call.result.empty();
  }

  void Meet(Worker& worker) {
    const TrainingGeneration plan = worker.note.prepared();
    if (!Join(worker, absl::StrCat("meet ", plan.id()), plan)) return;
    if (fails_ && Below(30) == 0) return BeginToWait(worker);  // the call fails for this one
    auto source = SourceOf(worker.gathered);
    if (!source.ok()) {
      broken_ = true;  // of all that are left
      return;
    }
    const std::vector<int> needy = NeedyOf(worker.gathered, *source);
    const int rank = RankIn(plan, worker.note.self());
    const std::string state_key = absl::StrCat("state ", plan.id());
    if (rank == *source && !histories_.contains(state_key)) {
      if (worker.state.number == 0) worker.history = plan.id();
      histories_[state_key] = worker.history;
      steps_of_[state_key] = worker.state.step;
    }
    if (!histories_.contains(state_key)) return;  // the source has not sent it
    if (std::count(needy.begin(), needy.end(), rank) > 0) {
      worker.state.whole = false;
      if (fails_ && Below(30) == 0) return BeginToWait(worker);
      worker.history = histories_[state_key];
      worker.state.step = steps_of_[state_key];
    }
    worker.state.number = plan.number();
    worker.state.id = plan.id();
    worker.state.whole = true;
    *worker.note.mutable_held() = plan;
    worker.note.clear_prepared();
    worker.note.set_phase(Note::TRAINING);
    worker.collective.clear();
    worker.stops = false;
  }

  void Progress(Worker& worker) {
    if (worker.note.phase() == Note::ENTERING) return Meet(worker);
    if (worker.note.phase() != Note::TRAINING) return;
    if (worker.stops) {
      if (worker.note.prepared().id() == 0) return BeginToWait(worker);
      worker.note.set_phase(Note::ENTERING);
      return Meet(worker);
    }
    const TrainingGeneration held = worker.note.held();
    const std::string key = absl::StrCat("step ", held.id(), " ", worker.state.step + 1);
    // The first to come fixes what all must have.
    const auto [known, is_new] = histories_.emplace(key, worker.history);
    ASSERT_EQ(known->second, worker.history) << key << "\n" << ToString();
    if (worker.collective != key && worker.note.prepared().id() != 0 && Below(4) == 0) flags_.insert({key, true});
    if (!Join(worker, key, held)) return;
    const bool stop = flags_.contains(key);
    closed_.insert({key, stop});
    // The updates may end half-way, or the call may fail after them.
    const int outcome = fails_ ? Below(60) : 2;
    if (outcome == 0) {
      worker.state.whole = false;
      return BeginToWait(worker);
    }
    ++worker.state.step;
    worker.history = worker.history * 1000003 + held.id() + static_cast<uint64_t>(worker.state.step);
    ++steps_;
    started_.insert({held.id(), true});
    if (outcome == 1) return BeginToWait(worker);
    worker.stops = closed_.at(key);
    worker.collective.clear();
  }

  std::mt19937_64 random_;
  bool fails_ = false, broken_ = false;
  uint64_t runs_ = 0;
  int64_t steps_ = 0;
  std::map<int, Worker> workers_;
  std::map<std::string, Call> calls_;
  std::map<std::string, uint64_t> histories_;
  std::map<std::string, int64_t> steps_of_;
  std::map<std::string, bool> flags_, closed_;
  std::map<uint64_t, bool> started_;
};

class RegroupScheduleTest : public testing::TestWithParam<int> {};

// The world itself checks that all members of a generation make each step from the same variables.
TEST_P(RegroupScheduleTest, MembersOfAGenerationHaveTheSameVariablesAndAllMeetInTheEnd) {
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    World world(GetParam() * 1000 + round, 2 + round % 4);
    world.RunAtRandom(4000, /*faults=*/true);
    world.EndFaults();
    for (int i = 0; i < 200 && !world.broken() && world.Common() == nullptr; ++i)
      world.RunAtRandom(500, /*faults=*/false);
    if (world.broken()) continue;
    EXPECT_NE(world.Common(), nullptr) << "round " << round << "\n" << world.ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RegroupScheduleTest, testing::Range(0, 8));

TEST(RegroupingTest, TheSourceIsTheMostAdvancedOfTheNewestGeneration) {
  const std::vector<MemberState> states = {{.number = 2, .id = 7, .step = 10, .whole = true},
                                           {.number = 3, .id = 9, .step = 8, .whole = true},
                                           {.number = 3, .id = 9, .step = 9, .whole = true},
                                           {.number = 3, .id = 9, .step = 10, .whole = false},
                                           {}};
  ASSERT_OK_AND_ASSIGN(const int source, SourceOf(states));
  EXPECT_EQ(source, 2);
  EXPECT_EQ(NeedyOf(states, source), (std::vector<int>{0, 1, 3, 4}));
}

TEST(RegroupingTest, BrokenVariablesAreNoSource) {
  EXPECT_THAT(SourceOf({{.number = 1, .id = 1, .step = 3}, {}}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("checkpoint")));
}

TEST(RegroupingTest, RanksGoByJobAndNumber) {
  TrainingMember chief;
  chief.set_task("/job:chief/replica:0/task:3");
  EXPECT_TRUE(HasLowerRank(chief, WorkerOf(0)));
  EXPECT_TRUE(HasLowerRank(WorkerOf(9), WorkerOf(10)));
}

}  // namespace
}  // namespace weir
