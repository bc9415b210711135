// A master of the simulated cluster.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/commit_task.h"

namespace weir {

// As MasterSession, Step and SessionTasks.
class CommitWorld::Master {
 public:
  // On the process `id`, a worker or a parameter server.
  Master(CommitWorld* world, int id) : world_(*world), net_(world->network_), id_(id) {
    incarnation_ = net_.incarnation(id_);
    coordinator_ = static_cast<int>(net_.random().In(0, world_.num_servers_ - 1));
  }

  // The session of its client. `done` gets whether it is open.
  void Connect(std::function<void(bool)> done) {
    if (is_open_) return done(true);
    if (handle_.empty()) handle_ = absl::StrCat("session-", world_.next_id_++);
    Refresh([this, done = std::move(done)](bool ok) {
      is_open_ = is_open_ || (ok && known_.size() == world_.tasks_.size());
      done(is_open_);
    });
  }

  // `done` gets the code and, for a read, whether the variables are whole, and the client's number of steps.
  void Run(RunRequest::Kind kind, int client, int64_t number, std::function<void(const Response&)> done) {
    RefreshIfNeeded([this, kind, client, number, done = std::move(done)](bool ok) {
      if (!ok) return done({.code = Code::kUnavailable});
      FenceAll(TasksOf(kind), [this, kind, client, number, done](bool settled) {
        if (!settled) return done({.code = Code::kUnavailable});
        StartStep(kind, client, number, done);
      });
    });
  }

 private:
  static constexpr Micros kCallTimeout = 10 * kSecond, kAbortTimeout = kSecond, kCommittedPatience = 5 * kSecond;

  static const char* NameOf(RunRequest::Kind kind) {
    if (kind == RunRequest::Kind::kRestore) return ", a restore";
    return kind == RunRequest::Kind::kSide ? ", beside others" : "";
  }

  enum class Updates { kUnknown, kCommitted, kAborted };
  struct Step {
    int64_t id = 0;
    RunRequest::Kind kind = RunRequest::Kind::kRead;
    std::vector<int> tasks;
    std::vector<std::shared_ptr<Call>> calls;
    std::map<int, std::vector<int64_t>> values;
    std::map<int, int64_t> incarnations;  // of the tasks
    std::function<void(const Response&)> done;
    int pending = 0;
    bool has_failed = false, part_failed = false, ending = false, is_over = false;
    Updates updates = Updates::kUnknown;
    bool commits() const { return kind != RunRequest::Kind::kRead; }
  };

  // The parameter servers, and the master's own task, from which updates come; of a side step, the coordinator.
  std::vector<int> TasksOf(RunRequest::Kind kind) const {
    if (kind == RunRequest::Kind::kSide) return {coordinator_};
    std::vector<int> tasks;
    for (int task = 0; task < world_.num_servers_; ++task) tasks.push_back(task);
    if (kind != RunRequest::Kind::kRead && !world_.is_server(id_)) tasks.push_back(id_);
    return tasks;
  }

  // Calls start(task, end) for each task at once, and `done` with whether all ended well.
  static void ForAll(const std::vector<int>& tasks, std::function<void(bool)> done,
                     const std::function<void(int, std::function<void(bool)>)>& start) {
    struct Round {
      size_t pending = 0;
      bool ok = true;
      std::function<void(bool)> done;
    };
    auto round = std::make_shared<Round>();
    round->done = std::move(done);
    round->pending = tasks.size();
    for (const int task : tasks) {
      start(task, [round](bool ok) {
        round->ok = round->ok && ok;
        if (--round->pending == 0) round->done(round->ok);
      });
    }
  }

  void FenceAll(const std::vector<int>& tasks, std::function<void(bool)> done) {
    ForAll(tasks, std::move(done), [this](int task, std::function<void(bool)> end) { Fence(task, std::move(end)); });
  }

  void RefreshIfNeeded(std::function<void(bool)> done) {
    if (is_refreshing_) {
      waiting_.push_back(std::move(done));
      return;
    }
    if (!std::exchange(needs_refresh_, false)) return done(true);
    is_refreshing_ = true;
    Refresh([this, done = std::move(done)](bool ok) {
      is_refreshing_ = false;
      if (!ok) needs_refresh_ = true;
      done(ok);
      for (auto& next : std::exchange(waiting_, {})) RefreshIfNeeded(std::move(next));
    });
  }

  // Asks all tasks, then opens sessions on those that have restarted.
  void Refresh(std::function<void(bool)> done) {
    std::vector<int> tasks(world_.tasks_.size());
    std::iota(tasks.begin(), tasks.end(), 0);
    ForAll(tasks, std::move(done), [this](int task, std::function<void(bool)> end) {
      net_.Start(
          id_, task, kCallTimeout, true, [&world = world_, task](auto call) { world.tasks_[task]->GetStatus(call); },
          [this, task, end = std::move(end)](const Response& status) {
            const auto known = known_.find(task);
            if (status.code != Code::kOk) return end(known != known_.end());
            const bool is_same = known != known_.end() && known->second == status.incarnation;
            is_same ? end(true) : Open(task, status.incarnation, end);
          });
    });
  }

  void Open(int task, int64_t incarnation, std::function<void(bool)> end) {
    net_.Start(
        id_, task, kCallTimeout, true,
        [&world = world_, task, handle = handle_, id = id_, own = incarnation_](auto call) {
          world.tasks_[task]->CreateSession(call, handle, id, own);
        },
        [this, task, incarnation, end](const Response& opened) {
          if (opened.code == Code::kOk) {
            known_[task] = incarnation;
            unsettled_.erase(task);
          }
          end(opened.code == Code::kOk);
        });
  }

  void Fence(int task, std::function<void(bool)> end) {
    const std::vector<int64_t> ids = unsettled_[task];
    if (ids.empty()) return end(true);
    if (world_.has_bug(PlantedBug::kSkipsFence)) {
      unsettled_.erase(task);
      return end(true);
    }
    net_.Start(
        id_, task, kCallTimeout, true,
        [&world = world_, task, handle = handle_, ids](auto call) {
          world.tasks_[task]->FenceSteps(call, handle, ids);
        },
        [this, task, ids, end](const Response& fenced) {
          const bool ok = fenced.code == Code::kOk || fenced.code == Code::kNoSession;
          if (ok) {
            std::vector<int64_t>& unsettled = unsettled_[task];
            unsettled.erase(
                std::remove_if(unsettled.begin(), unsettled.end(),
                               [&](int64_t id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }),
                unsettled.end());
          }
          end(ok);
        });
  }

  void StartStep(RunRequest::Kind kind, int client, int64_t number, std::function<void(const Response&)> done) {
    auto step = std::make_shared<Step>();
    step->id = world_.next_id_++;
    step->kind = kind;
    step->done = std::move(done);
    RunRequest request{.session = handle_, .step_id = step->id, .kind = kind, .client = client, .number = number};
    if (kind == RunRequest::Kind::kRestore) request.generation = ++world_.generation_;
    step->tasks = TasksOf(kind);
    for (const int task : step->tasks) {
      if (world_.is_server(task)) request.participants.push_back(task);
    }
    if (step->commits()) {
      request.coordinator = coordinator_;
      request.coordinator_incarnation = known_[coordinator_];
      if (kind != RunRequest::Kind::kSide) request.sources = {id_};
      net_.Trace(id_, absl::StrCat("starts step ", step->id, NameOf(kind), ", client ", client, " number ", number));
    }
    step->pending = static_cast<int>(step->tasks.size());
    const Micros timeout = net_.random().OneIn(3) ? net_.random().In(5, 3000) * kMilli : 30 * kSecond;
    net_.Timer(id_, timeout, [this, step] { Fail(step, -1, Code::kDeadline); });
    for (const int task : step->tasks) {
      step->incarnations[task] = request.graph_incarnation = known_[task];
      step->calls.push_back(net_.Start(
          id_, task, timeout + 5 * kSecond, false,
          [&world = world_, task, request](auto call) { world.tasks_[task]->RunGraph(call, request); },
          [this, step, task](const Response& response) {
            step->values[task] = response.values;
            if (response.code != Code::kOk) {
              step->part_failed = true;
              Fail(step, task, response.code);
            }
            Settle(step);
          }));
    }
  }

  void Fail(const std::shared_ptr<Step>& step, int from, Code code) {
    if (step->is_over) return;
    step->has_failed = true;
    if (std::exchange(step->ending, true)) return;
    const bool is_dead = code == Code::kUnavailable && from == coordinator_;
    if (!step->commits() || is_dead) return CancelParts(step);
    ++step->pending;
    const int coordinator = coordinator_;
    net_.Start(
        id_, coordinator, kAbortTimeout, true,
        [&world = world_, coordinator, handle = handle_, id = step->id](auto call) {
          world.tasks_[coordinator]->ResolveStep(call, handle, id);
        },
        [this, step](const Response& response) { Aborted(step, response); });
  }

  void Aborted(const std::shared_ptr<Step>& step, const Response& response) {
    // Another incarnation has forgotten its decision, which may have reached others.
    const bool answered = response.code == Code::kOk && response.incarnation == step->incarnations[coordinator_];
    if (answered) step->updates = response.committed ? Updates::kCommitted : Updates::kAborted;
    if (step->updates == Updates::kCommitted) {
      net_.Timer(id_, kCommittedPatience, [this, step] { CancelParts(step); });
    } else {
      CancelParts(step);
    }
    Settle(step);
  }

  void CancelParts(const std::shared_ptr<Step>& step) {
    if (step->is_over) return;
    for (const auto& call : step->calls) {
      if (call->is_done) continue;
      net_.Cancel(call);
      // The caller's end does not wait for the other side.
      call->is_done = true;
      net_.Post(id_, 1, [call] { call->done({.code = Code::kCancelled}); });
    }
  }

  void Settle(const std::shared_ptr<Step>& step) {
    if (--step->pending > 0) return;
    step->is_over = true;
    const bool late = step->updates == Updates::kCommitted && !step->part_failed;
    if (late) step->has_failed = false;
    for (const int task : step->tasks) {
      if (!step->commits()) continue;
      net_.Start(
          id_, task, 0, false,
          [&world = world_, task, id = step->id](auto call) {
            world.tasks_[task]->Cleanup(id);
            world.network_.Answer(call, {});
          },
          [](const Response&) {});
    }
    if (step->has_failed) {
      needs_refresh_ = true;
      if (step->commits() && step->updates != Updates::kAborted) {
        for (const int task : step->tasks) unsettled_[task].push_back(step->id);
      }
      if (step->commits()) net_.Trace(id_, absl::StrCat("step ", step->id, " has failed"));
      return step->done({.code = Code::kAborted});
    }
    if (step->commits()) {
      net_.Trace(id_, absl::StrCat("step ", step->id, " has succeeded"));
      return step->done({});
    }
    const int64_t generation = step->values[0][0];
    bool is_whole = generation != 0;
    for (int task = 0; task < world_.num_servers_; ++task) is_whole = is_whole && step->values[task][0] == generation;
    step->done({.values = {is_whole ? 1 : 0, step->values[0][1]}});
  }

  CommitWorld& world_;
  VirtualNetwork& net_;
  const int id_;
  int64_t incarnation_ = 0;
  int coordinator_ = 0;
  std::string handle_;
  bool is_open_ = false, needs_refresh_ = false, is_refreshing_ = false;
  std::map<int, int64_t> known_;
  std::map<int, std::vector<int64_t>> unsettled_;
  std::vector<std::function<void(bool)>> waiting_;
};

}  // namespace weir
