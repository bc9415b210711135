// A client of the simulated cluster.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/simulation/commit_master.h"

namespace weir {

// As TrainingLoop, in its master's process. The first client is the chief.
class CommitWorld::Client {
 public:
  Client(CommitWorld* world, int id, int process) : world_(*world), net_(world->network_), id_(id), process_(process) {}

  int process() const { return process_; }
  bool is_done() const { return is_done_; }

  // At each start of its process.
  void Start() { Read(); }

 private:
  Master& master() { return *world_.masters_[process_]; }
  void Later(std::function<void()> what) { net_.Timer(process_, net_.random().In(50, 1000) * kMilli, std::move(what)); }

  void Read() {
    is_done_ = false;
    master().Connect([this](bool is_open) {
      if (!is_open) return Later([this] { Read(); });
      master().Run(RunRequest::Kind::kRead, id_, 0, [this](const Response& response) {
        if (response.code != Code::kOk) return Later([this] { Read(); });
        if (response.values[0] == 0) return id_ == 0 ? Restore() : Later([this] { Read(); });
        number_ = response.values[1];
        Next();
      });
    });
  }

  void Restore() {
    master().Run(RunRequest::Kind::kRestore, id_, 0, [this](const Response&) { Later([this] { Read(); }); });
  }

  void Next() {
    // The end is sure only once nothing can be lost any more.
    if (number_ >= kStepsPerClient) {
      if (net_.now() > world_.heal_time_) {
        is_done_ = true;
        return;
      }
      return net_.Timer(process_, 2 * (world_.heal_time_ - net_.now()) + kSecond, [this] { Read(); });
    }
    ++world_.steps_;
    if (world_.has_side_steps_) RunSideSteps();
    master().Run(RunRequest::Kind::kTrain, id_, number_, [this](const Response& response) {
      if (response.code != Code::kOk) {
        if (world_.has_bug(PlantedBug::kRepeatsWithoutReading) && net_.random().OneIn(2)) {
          return Later([this] { Next(); });
        }
        return Later([this] { Read(); });
      }
      ++number_;
      if (id_ == 0 && net_.random().OneIn(3)) Save();
      net_.Timer(process_, net_.random().In(0, 300) * kMilli, [this] { Next(); });
    });
  }

  // In the same session, as other threads of a client do: the coordinator forgets the outcomes of earlier steps.
  void RunSideSteps() {
    for (int64_t steps = net_.random().In(0, 8); steps > 0; --steps) {
      net_.Timer(process_, net_.random().In(1, 600) * kMilli,
                 [this] { master().Run(RunRequest::Kind::kSide, id_, 0, [](const Response&) {}); });
    }
  }

  // All steps that have reached every server, at once.
  void Save() {
    for (int task = 0; task < world_.num_servers_; ++task) {
      if (!world_.tasks_[task]->is_whole() || world_.tasks_[task]->generation() != world_.tasks_[0]->generation())
        return;
    }
    std::vector<Update> saved;
    for (const Update& update : world_.tasks_[0]->log()) {
      bool everywhere = true;
      for (int place = 0; place < world_.num_servers_ * world_.num_devices_; ++place) {
        const auto& log = world_.tasks_[place / world_.num_devices_]->log(place % world_.num_devices_);
        everywhere = everywhere && std::any_of(log.begin(), log.end(),
                                               [&](const Update& other) { return other.step_id == update.step_id; });
      }
      if (everywhere) saved.push_back(update);
    }
    world_.checkpoint_ = std::move(saved);
  }

  CommitWorld& world_;
  VirtualNetwork& net_;
  const int id_, process_;
  int64_t number_ = 0;
  bool is_done_ = false;
};

}  // namespace weir
