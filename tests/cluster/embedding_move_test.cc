// Parts of embeddings that move between parameter servers, while workers push and servers are killed.
#include <atomic>
#include <deque>
#include <latch>
#include <thread>

#include "client/embedding/embedding_parts.h"
#include "client/embedding/embedding_prefetch.h"
#include "client/embedding/embedding_saver.h"
#include "client/embedding/embedding_variable.h"
#include "client/forwarding_session_testing.h"
#include "client/gradients.h"
#include "client/ops.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tensorflow/core/protobuf/master.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using LoadMeasure = EmbeddingParts::LoadMeasure;

constexpr int64_t kKeys = 200, kBatch = 24, kParts = 16;

// The keys of a worker's step: some of a ring, not one after the other.
std::vector<int64_t> KeysOf(int64_t step) {
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < kBatch; ++i) keys.push_back((step * 7 + i * i) % kKeys);
  return keys;
}

// How often each key is in the batches of so many steps.
std::vector<float> Counts(int64_t steps) {
  std::vector<float> counts(kKeys);
  for (int64_t step = 0; step < steps; ++step) {
    for (const int64_t key : KeysOf(step)) ++counts[key];
  }
  return counts;
}

EmbeddingVariableOptions CounterOptions() {
  EmbeddingVariableOptions options{.width = 3};
  options.devices = {"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:2"};
  options.optimizer = {.kind = EmbeddingOptimizer::Kind::kGradientDescent, .learning_rate = 1};
  options.initializer = "constant";
  options.initializer_params = {0};
  options.parts = kParts;
  options.initial_devices = 2;
  return options;
}

// A graph with an embedding on three parameter servers, of which two have parts at first, and a step by a worker that
// adds 1 to the rows of the keys that are fed.
struct Counter {
  explicit Counter(int worker_index, const EmbeddingVariableOptions& options = CounterOptions(), bool ahead = false) {
    worker = scope.WithDevice(absl::StrCat("/job:worker/task:", worker_index));
    global_step = GlobalStep(scope.WithDevice("/job:ps/task:0"));
    variable = EmbeddingVariable::Make(scope.WithName("counters"), options);
    keys = ops::Placeholder(worker.WithName("keys"), DT_INT64);
    EmbeddingPull pull = variable.Pull(worker, keys);
    rows = variable.Embed(worker, pull);
    if (ahead) {
      prefetch =
          std::make_unique<EmbeddingPrefetch>(worker, std::vector<EmbeddingPull>{pull}, std::vector<Output>(), 3);
      pull = prefetch->pulls()[0];
    }
    const Output loss =
        ops::Neg(worker, ops::Sum(worker, variable.Embed(worker, pull), Tensor::Vector<int32_t>({0, 1})));
    const std::vector<Gradient> gradients = Gradients(worker, {loss}, {pull.unique});
    EXPECT_THAT(scope.status(), IsOk());
    if (!scope.ok()) return;
    push = variable.Push(worker, pull, gradients[0], global_step.value(),
                         options.synchronous_workers > 1 ? worker_index : 0);
  }
  absl::Status Connect(const ProcessCluster& cluster) {
    ASSIGN_OR_RETURN(session, Session::Connect(cluster.Target("worker", 0), scope));
    return absl::OkStatus();
  }
  FeedList Feeds(int64_t step) const { return {{keys, Tensor::Vector<int64_t>(KeysOf(step))}}; }
  // The first number of each row. A move may come between the pull and this task's part of it.
  std::vector<float> Values() {
    std::vector<int64_t> all(kKeys);
    for (int64_t key = 0; key < kKeys; ++key) all[key] = key;
    absl::StatusOr<std::vector<Tensor>> out;
    do {
      out = session->Run({{keys, Tensor::Vector<int64_t>(all)}}, {rows});
    } while (absl::IsAborted(out.status()));
    EXPECT_THAT(out.status(), IsOk());
    std::vector<float> values;
    for (int64_t key = 0; out.ok() && key < kKeys; ++key) values.push_back((*out)[0].flat<float>()[3 * key]);
    return values;
  }

  Scope scope = Scope::NewRoot(), worker = scope;
  ResourceVariable global_step;
  EmbeddingVariable variable;
  Output keys, rows;
  std::unique_ptr<EmbeddingPrefetch> prefetch;
  Operation push;
  std::unique_ptr<Session> session;
};

absl::StatusOr<std::unique_ptr<ProcessCluster>> StartCluster(int workers) {
  return ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 3}, {"worker", workers}}, .restart = true});
}

EmbeddingParts PartsOf(const EmbeddingVariable& variable, const ProcessCluster& cluster,
                       EmbeddingPartsOptions options = {}) {
  return EmbeddingParts(
      variable, [target = cluster.Target("worker", 0)](const Scope& scope) { return Session::Connect(target, scope); },
      options);
}

int64_t PartsOn(const PartsState& state, int device) {
  return std::count(state.owners.begin(), state.owners.end(), device);
}

TEST(EmbeddingMoveTest, SumsComeOutExactlyWhileWorkersOfTheirOwnPush) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(2));
  Counter first(0);
  ASSERT_THAT(first.Connect(*cluster), IsOk());
  ASSERT_THAT(first.session->RunTargets({InitializeAll(first.scope), first.variable.initializer()}), IsOk());

  // Two workers that pull and push in one step, and one that pulls ahead.
  constexpr int kWorkers = 3;
  std::atomic<bool> stop{false};
  std::latch begun(kWorkers);  // their first steps have ended
  std::vector<int64_t> steps(kWorkers);
  std::vector<absl::Status> statuses(kWorkers);
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&, i] {
      Counter counter(i % 2, CounterOptions(), /*ahead=*/i == 2);
      absl::Status status = counter.Connect(*cluster);
      if (status.ok() && i == 2) {
        status = counter.prefetch->Start(
            *counter.session, [&](int64_t step) { return counter.Feeds(step); }, 0);
      }
      while (status.ok() && !stop) {
        const FeedList feeds = i == 2 ? FeedList() : counter.Feeds(steps[i]);
        status = counter.session->Run(feeds, {}, {counter.push}).status();
        if (status.ok() && ++steps[i] == 1) begun.count_down();
      }
      if (steps[i] == 0) begun.count_down();
      if (counter.prefetch != nullptr) counter.prefetch->Stop().IgnoreError();
      statuses[i] = status;
      if (counter.session != nullptr) counter.session->Close().IgnoreError();
    });
  }

  begun.wait();
  EmbeddingParts parts = PartsOf(first.variable, *cluster);
  const std::vector<std::vector<bool>> allowed = {
      {true, true, true}, {true, false, true}, {false, true, false}, {true, true, false}, {true, true, true}};
  for (const std::vector<bool>& may_have : allowed) {
    const absl::StatusOr<MoveReport> report = parts.Balance(may_have, LoadMeasure::kBytes);
    EXPECT_THAT(report.status(), IsOk());
    if (!report.ok()) break;
    EXPECT_GT(report->parts, 0);
    const absl::StatusOr<PartsState> state = parts.Read();
    EXPECT_THAT(state.status(), IsOk());
    for (int i = 0; state.ok() && i < 3; ++i) EXPECT_EQ(PartsOn(*state, i) > 0, may_have[i]) << i;
    std::cout << "moved " << report->parts << " parts, " << report->rows << " rows; steps waited "
              << absl::FormatDuration(report->pause) << "\n";
  }
  EXPECT_THAT(parts.Balance({true, true, true}, LoadMeasure::kTraffic).status(), IsOk());
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::vector<float> expected(kKeys);
  for (int i = 0; i < kWorkers; ++i) {
    EXPECT_THAT(statuses[i], IsOk()) << i;
    EXPECT_GT(steps[i], 0);
    const std::vector<float> counts = Counts(steps[i]);
    for (int64_t key = 0; key < kKeys; ++key) expected[key] += counts[key];
  }
  EXPECT_EQ(first.Values(), expected);
  EXPECT_THAT(first.session->Close(), IsOk());
}

// Pushes that wait for those of another worker: a move must come between their rounds.
TEST(EmbeddingMoveTest, SynchronousWorkersOfTheirOwnAreMovedBetweenRounds) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(2));
  EmbeddingVariableOptions options = CounterOptions();
  options.synchronous_workers = 2;
  Counter first(0, options);
  ASSERT_THAT(first.Connect(*cluster), IsOk());
  ASSERT_THAT(first.session->RunTargets({InitializeAll(first.scope), first.variable.initializer()}), IsOk());
  constexpr int64_t kSteps = 60;
  std::vector<absl::Status> statuses(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Counter counter(i, options);
      absl::Status status = counter.Connect(*cluster);
      for (int64_t step = 0; status.ok() && step < kSteps; ++step) {
        status = counter.session->Run(counter.Feeds(step), {}, {counter.push}).status();
      }
      statuses[i] = status;
    });
  }
  const EmbeddingParts parts = PartsOf(first.variable, *cluster, {.max_pause = absl::Seconds(60)});
  for (int move = 1; move <= 4; ++move) {
    EXPECT_THAT(parts.Move(std::vector<int32_t>(kParts, move % 3)).status(), IsOk());
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) EXPECT_THAT(status, IsOk());
  std::vector<float> expected = Counts(kSteps);
  for (float& count : expected) count *= 2;
  EXPECT_EQ(first.Values(), expected);
  EXPECT_THAT(first.session->Close(), IsOk());
}

// A session before each of whose runs something may happen; `is_last` of the one that makes a move.
class WatchedSession : public ForwardingSession {
 public:
  WatchedSession(std::unique_ptr<Session> session, std::function<void(bool is_last)> before_run)
      : ForwardingSession(std::move(session)), before_run_(std::move(before_run)) {}
  absl::StatusOr<std::vector<Tensor>> Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                          const std::vector<Operation>& targets, const RunOptions& run_options,
                                          tensorflow::RunMetadata* metadata) override {
    before_run_(/*is_last=*/!targets.empty());
    return ForwardingSession::Run(feeds, fetches, targets, run_options, metadata);
  }

 private:
  const std::function<void(bool is_last)> before_run_;
};

// Moves all parts to other tasks while the training goes on, and kills a parameter server before one of the move's
// steps, or during the last one: the first ones read and copy, the last one makes the move.
class MoveAndKill : public TrainingHook {
 public:
  enum When { kNever, kFirstCopy, kThirdCopy, kBeforeLast, kDuringLast };
  struct Blow {
    When when = kNever;
    int victim = 0;
  };
  MoveAndKill(const EmbeddingVariable& variable, ProcessCluster* cluster, std::deque<Blow> blows)
      : variable_(variable), cluster_(cluster), blows_(std::move(blows)) {}
  ~MoveAndKill() override { Join(); }

  // Between two moves there is a step, which recovers from what the first has killed. True when all are over.
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (is_moving_) return false;
    if (mover_.joinable()) {
      Join();
      last_step_ = report.global_step;
      return false;
    }
    if (report.global_step < last_step_ + kStepsBetween) return false;
    if (blows_.empty()) return true;
    is_moving_ = true;
    mover_ = std::thread([this, blow = blows_.front()] {
      Move(blow);
      is_moving_ = false;
    });
    blows_.pop_front();
    return false;
  }
  // A server that stood still is recovered from too, but has lost nothing to restore.
  void Recovered(const RecoveryReport& report) override { restores += report.restored_from.empty() ? 0 : 1; }
  void Join() {
    if (mover_.joinable()) mover_.join();
  }
  int restores = 0, moved = 0, failed = 0;

 private:
  static constexpr int64_t kStepsBetween = 8;

  void Move(Blow blow) {
    int runs = 0;
    std::thread killer;
    const auto connect = [&](const Scope& scope) -> absl::StatusOr<std::unique_ptr<Session>> {
      ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Connect(cluster_->Target("worker", 0), scope));
      return std::make_unique<WatchedSession>(std::move(session), [&](bool is_last) {
        ++runs;  // the first one reads the map
        if (runs == 2 && blow.when == kFirstCopy) cluster_->Kill("ps", blow.victim);
        if (runs == 4 && blow.when == kThirdCopy) cluster_->Kill("ps", blow.victim);
        if (is_last && blow.when == kBeforeLast) cluster_->Kill("ps", blow.victim);
        if (is_last && blow.when == kDuringLast && !killer.joinable()) {
          killer = std::thread([&] { cluster_->Kill("ps", blow.victim); });
        }
      });
    };
    const EmbeddingParts parts(variable_, connect);
    const absl::StatusOr<PartsState> now = PartsOf(variable_, *cluster_).Read();
    ASSERT_THAT(now, IsOk());
    std::vector<int32_t> owners = now->owners;
    for (int32_t& owner : owners) owner = (owner + 1) % 3;
    const absl::Status status = parts.Move(owners).status();
    if (killer.joinable()) killer.join();
    ++(status.ok() ? moved : failed);
    if (blow.when == kNever) {
      EXPECT_THAT(status, IsOk());
    }
  }

  const EmbeddingVariable& variable_;
  ProcessCluster* const cluster_;
  std::deque<Blow> blows_;
  int64_t last_step_ = 0;
  std::atomic<bool> is_moving_{false};
  std::thread mover_;
};

TEST(EmbeddingMoveTest, ServersThatAreKilledDuringMovesLeaveTheOldOrTheNew) {
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(1));
  Counter counter(0);
  // Of the victims one has the map, one had parts from the start, and one had none.
  auto moves = std::make_shared<MoveAndKill>(counter.variable, cluster.get(),
                                             std::deque<MoveAndKill::Blow>{{},
                                                                           {MoveAndKill::kFirstCopy, 2},
                                                                           {MoveAndKill::kThirdCopy, 1},
                                                                           {MoveAndKill::kBeforeLast, 0},
                                                                           {MoveAndKill::kDuringLast, 2},
                                                                           {MoveAndKill::kDuringLast, 1},
                                                                           {MoveAndKill::kDuringLast, 0},
                                                                           {}});
  TrainingLoopOptions options;
  options.global_step = counter.global_step;
  options.train = counter.global_step.AssignAdd(counter.scope.ColocateWith(counter.global_step.handle().op())
                                                    .WithControlDependencies(std::vector<Operation>{counter.push}),
                                                int64_t{1});
  options.feeds = [&](int64_t step) -> absl::StatusOr<FeedList> { return counter.Feeds(step); };
  options.hooks = {moves};
  options.checkpoint_dir = directory.path();
  options.states = {std::make_shared<EmbeddingSaver>(counter.scope, std::vector<EmbeddingVariable>{counter.variable},
                                                     EmbeddingSaverOptions{.full_every = 4})};
  options.checkpoint_steps = 4;
  TrainingLoop loop(counter.scope, options);
  ASSERT_THAT(counter.Connect(*cluster), IsOk());
  ASSERT_OK_AND_ASSIGN(const int64_t steps, loop.Run(*counter.session));
  EXPECT_EQ(moves->restores, 6);
  EXPECT_GE(moves->moved, 2);
  std::cout << moves->moved << " moves made, " << moves->failed << " failed, " << moves->restores << " restores\n";
  EXPECT_EQ(counter.Values(), Counts(steps));
  // What is left allows another move.
  EXPECT_THAT(PartsOf(counter.variable, *cluster).Move(std::vector<int32_t>(kParts, 1)).status(), IsOk());
  EXPECT_EQ(counter.Values(), Counts(steps));
  EXPECT_THAT(counter.session->Close(), IsOk());
}

TEST(EmbeddingMoveTest, TheMapIsInTheCheckpoint) {
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(1));
  Counter counter(0);
  EmbeddingSaver saver(counter.scope, {counter.variable});
  ASSERT_THAT(counter.Connect(*cluster), IsOk());
  ASSERT_THAT(counter.session->RunTargets({InitializeAll(counter.scope)}), IsOk());
  ASSERT_THAT(saver.Initialize(*counter.session), IsOk());
  EmbeddingParts parts = PartsOf(counter.variable, *cluster);
  const auto step = [&](int64_t i) {
    ASSERT_THAT(counter.session->Run(counter.Feeds(i), {}, {counter.push}).status(), IsOk());
  };
  const auto save = [&](const std::string& name) {
    ASSERT_THAT(saver.Save(*counter.session, directory.Path(name)), IsOk());
  };
  step(0);
  save("a");
  step(1);
  save("b");
  EXPECT_TRUE(saver.last_was_delta());
  std::vector<int32_t> owners(kParts, 2);
  owners[0] = 0;
  ASSERT_THAT(parts.Move(owners).status(), IsOk());
  step(2);
  save("c");
  EXPECT_FALSE(saver.last_was_delta());
  step(3);
  save("d");
  EXPECT_TRUE(saver.last_was_delta());
  ASSERT_THAT(parts.Move(std::vector<int32_t>(kParts, 1)).status(), IsOk());
  step(4);
  EXPECT_EQ(counter.Values(), Counts(5));
  ASSERT_THAT(saver.Restore(*counter.session, directory.Path("d")), IsOk());
  EXPECT_EQ(counter.Values(), Counts(4));
  ASSERT_OK_AND_ASSIGN(PartsState state, parts.Read());
  EXPECT_EQ(state.owners, owners);
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> size, counter.session->Run({counter.variable.size()}));
  int64_t keys = 0, expected = 0;
  for (int i = 0; i < 3; ++i) keys += state.OnDevice(i).keys;
  for (const float count : Counts(4)) expected += count > 0 ? 1 : 0;
  EXPECT_EQ(size[0].scalar<int64_t>(), expected);
  EXPECT_EQ(keys, expected);
  save("e");
  EXPECT_TRUE(saver.last_was_delta());
  EXPECT_THAT(counter.session->Close(), IsOk());

  // Fewer tasks, other numbers of parts, and parts that do not move: rows go by their keys.
  EmbeddingVariableOptions two = CounterOptions(), other = CounterOptions(), plain = CounterOptions();
  two.devices.resize(2);
  other.parts = 5;
  plain.parts = plain.initial_devices = 0;
  plain.devices.resize(2);
  for (const EmbeddingVariableOptions& options : {two, other, plain}) {
    ASSERT_OK_AND_ASSIGN(cluster, StartCluster(1));
    Counter restored(0, options);
    EmbeddingSaver restorer(restored.scope, {restored.variable});
    ASSERT_THAT(restored.Connect(*cluster), IsOk());
    ASSERT_THAT(restored.session->RunTargets({InitializeAll(restored.scope)}), IsOk());
    ASSERT_THAT(restorer.Restore(*restored.session, directory.Path("e")), IsOk());
    EXPECT_EQ(restored.Values(), Counts(4)) << options.parts;
    EXPECT_THAT(restored.session->Close(), IsOk());
  }
}

TEST(EmbeddingMoveTest, ATaskThatTheCheckpointDoesNotHaveIsInTheNext) {
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(1));
  EmbeddingVariableOptions two = CounterOptions();
  two.devices.resize(2);
  int64_t steps = 0;
  for (const EmbeddingVariableOptions& options : {two, CounterOptions()}) {
    Counter counter(0, options);
    EmbeddingSaver saver(counter.scope, {counter.variable});
    ASSERT_THAT(counter.Connect(*cluster), IsOk());
    ASSERT_THAT(counter.session->RunTargets({InitializeAll(counter.scope)}), IsOk());
    ASSERT_THAT(steps == 0 ? saver.Initialize(*counter.session) : saver.Restore(*counter.session, directory.Path("0")),
                IsOk());
    ASSERT_THAT(counter.session->Run(counter.Feeds(steps), {}, {counter.push}).status(), IsOk());
    const std::string path = directory.Path(std::to_string(steps));
    ASSERT_THAT(saver.Save(*counter.session, path), IsOk());
    EXPECT_FALSE(saver.last_was_delta());
    ASSERT_THAT(saver.Restore(*counter.session, path), IsOk());
    EXPECT_EQ(counter.Values(), Counts(++steps));
    EXPECT_THAT(counter.session->Close(), IsOk());
  }
}

TEST(EmbeddingMoveTest, WhatAMoveThatFailedLateHasLeftGoesBeforeTheNext) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(1));
  Counter counter(0);
  // All but the change of the map.
  const EmbeddingVariable& variable = counter.variable;
  const Tensor parts = Tensor::Vector<int32_t>({0}), since = Tensor::Vector<int64_t>({-1}),
               move = Tensor::Scalar<int64_t>(7);
  const Scope to = variable.Beside(counter.scope, 2);
  const auto sent = ops::EmbeddingTableSend(variable.Beside(counter.scope, 0), variable.table(0), parts, since, move);
  const Output received =
      ops::EmbeddingTableReceive(to, variable.table(2), parts, since, move, sent.keys, sent.values, sent.slots,
                                 sent.versions, sent.freqs, sent.used, sent.removed, sent.filters);
  const Operation adopted = ops::EmbeddingTableAdopt(to.WithControlDependencies(std::vector<Output>{received}),
                                                     variable.table(2), parts, move);
  ASSERT_THAT(counter.Connect(*cluster), IsOk());
  ASSERT_THAT(counter.session->RunTargets({InitializeAll(counter.scope), variable.initializer()}), IsOk());
  ASSERT_THAT(counter.session->Run(counter.Feeds(0), {}, {counter.push}).status(), IsOk());
  ASSERT_THAT(counter.session->RunTargets({adopted}), IsOk());
  ASSERT_THAT(counter.session->Run(counter.Feeds(1), {}, {counter.push}).status(), IsOk());
  ASSERT_THAT(PartsOf(variable, *cluster).Move(std::vector<int32_t>(kParts, 2)).status(), IsOk());
  EXPECT_EQ(counter.Values(), Counts(2));
  EXPECT_THAT(counter.session->Close(), IsOk());
}

TEST(EmbeddingMoveTest, AMoveThatCannotComeToItsEndChangesNothing) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(1));
  Counter counter(0);
  // A step that has asked the map, and then waits for what never comes.
  const Output never = ops::QueueDequeueV2(
      counter.worker, ops::FIFOQueueV2(counter.worker, {DT_INT64}, {.shared_name = "never"}), {DT_INT64})[0];
  const EmbeddingPull pull = counter.variable.Pull(counter.worker, counter.keys);
  const Operation held = ops::NoOp(counter.scope.ColocateWith(counter.variable.map().op())
                                       .WithControlDependencies(std::vector<Output>{pull.unique, never}));
  const Output holds = ops::FIFOQueueV2(counter.worker, {DT_INT64}, {.shared_name = "holds"});
  const Operation tell = ops::QueueEnqueueV2(counter.worker.WithControlDependencies(std::vector<Output>{pull.unique}),
                                             holds, {counter.scope.Constant(Tensor::Scalar<int64_t>(0))});
  const Output told = ops::QueueDequeueV2(counter.worker, holds, {DT_INT64})[0];
  ASSERT_THAT(counter.Connect(*cluster), IsOk());
  ASSERT_THAT(counter.session->RunTargets({InitializeAll(counter.scope), counter.variable.initializer()}), IsOk());
  EmbeddingParts parts = PartsOf(counter.variable, *cluster, {.max_pause = absl::Milliseconds(300)});
  ASSERT_OK_AND_ASSIGN(const PartsState before, parts.Read());
  std::thread holder([&] {
    tensorflow::RunOptions run;
    run.set_timeout_in_ms(60000);
    counter.session->Run(counter.Feeds(0), {}, {held, tell}, run).IgnoreError();
  });
  EXPECT_THAT(counter.session->Run({told}), IsOk());
  EXPECT_THAT(parts.Move(std::vector<int32_t>(kParts, 2)).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("Moving parts of embedding")));
  ASSERT_OK_AND_ASSIGN(PartsState after, parts.Read());
  EXPECT_EQ(after.owners, before.owners);
  EXPECT_EQ(after.epoch, before.epoch);
  ASSERT_THAT(counter.session->Run(counter.Feeds(0), {}, {counter.push}).status(), IsOk());
  EXPECT_EQ(counter.Values(), Counts(1));
  EXPECT_THAT(counter.session->Close(), IsOk());  // ends the step that waits
  holder.join();
}

std::string OutputOf(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  for (size_t n; pipe != nullptr && (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << output;
  return output;
}

TEST(EmbeddingMoveTest, StatusShowsWhatATaskHas) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(1));
  Counter counter(0);
  ASSERT_THAT(counter.Connect(*cluster), IsOk());
  ASSERT_THAT(counter.session->RunTargets({InitializeAll(counter.scope), counter.variable.initializer()}), IsOk());
  ASSERT_THAT(PartsOf(counter.variable, *cluster).Move(std::vector<int32_t>(kParts, 1)).status(), IsOk());
  ASSERT_THAT(counter.session->Run(counter.Feeds(0), {}, {counter.push}).status(), IsOk());
  const auto status = [&](int task) {
    return OutputOf(absl::StrCat(WEIR_PROGRAM, " status --resources ", cluster->Target("ps", task)));
  };
  const std::string with_map = status(0), with_rows = status(1);
  EXPECT_THAT(with_map, HasSubstr("0 keys pulled, 0 pushed, 0 of 16 parts"));
  EXPECT_THAT(with_map, HasSubstr("EmbeddingMap counters/map of 16 parts, epoch 2"));
  EXPECT_THAT(with_map, HasSubstr(", 16 on /job:ps/task:1"));
  EXPECT_THAT(with_rows, ::testing::ContainsRegex("EmbeddingTable counters/table of [0-9]+ keys of width 3, [0-9]+ "
                                                  "bytes, [0-9]+ keys pulled, [0-9]+ pushed, 16 of 16 parts"));
  EXPECT_THAT(counter.session->Close(), IsOk());
}

TEST(EmbeddingMoveTest, MeasuredLoadMovesAHotPartAway) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ProcessCluster> cluster, StartCluster(1));
  EmbeddingVariableOptions options = CounterOptions();
  Counter counter(0, options);
  ASSERT_THAT(counter.Connect(*cluster), IsOk());
  ASSERT_THAT(counter.session->RunTargets({InitializeAll(counter.scope), counter.variable.initializer()}), IsOk());
  ASSERT_THAT(counter.session->Run(counter.Feeds(0), {}, {counter.push}).status(), IsOk());
  EmbeddingParts parts = PartsOf(counter.variable, *cluster);
  ASSERT_THAT(parts.Balance({true, true, true}, LoadMeasure::kTraffic).status(), IsOk());
  // Two keys of one task are asked for again and again.
  ASSERT_OK_AND_ASSIGN(PartsState before, parts.Read());
  int hot = -1, other = -1;
  for (int i = 0; i < kParts; ++i) {
    if (before.owners[i] != 0 || before.loads[i].keys == 0) continue;
    (hot < 0 ? hot : other) = i;
  }
  ASSERT_GE(other, 0);
  std::vector<int64_t> keys;
  for (const int part : {hot, other}) {
    for (int64_t key = 0; key < kKeys; ++key) {
      // KeyHash and PartitionOf, as the pull divides them.
      uint64_t x = static_cast<uint64_t>(key) + 0x9E3779B97F4A7C15;
      x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
      x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
      x ^= x >> 31;
      if (static_cast<int>(((x >> 32) * kParts) >> 32) != part) continue;
      keys.push_back(key);
      break;
    }
  }
  ASSERT_EQ(keys.size(), 2);
  for (int i = 0; i < 50; ++i) {
    ASSERT_THAT(counter.session->Run({{counter.keys, Tensor::Vector<int64_t>(keys)}}, {counter.rows}).status(), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(PartsState measured, parts.Read());
  EXPECT_GE(measured.loads[hot].pulled, 50);
  ASSERT_THAT(parts.Balance({true, true, true}, LoadMeasure::kTraffic).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(PartsState after, parts.Read());
  EXPECT_NE(after.owners[hot], after.owners[other]);
  EXPECT_THAT(counter.session->Close(), IsOk());
}

}  // namespace
}  // namespace weir
