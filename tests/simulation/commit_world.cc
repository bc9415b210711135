#include "tests/simulation/commit_world.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/commit_client.h"

namespace weir {
namespace {

constexpr Micros kSuspensionLimit = 2500 * kMilli, kLongestRun = 3600 * kSecond;

}  // namespace

const char* NameOf(PlantedBug bug) {
  static constexpr const char* kNames[] = {"none",
                                           "decides_without_ready",
                                           "aborts_when_ready",
                                           "forgets_outcomes",
                                           "forgotten_is_aborted",
                                           "denies_commit",
                                           "runs_updates_twice",
                                           "drops_updates",
                                           "unreachable_is_aborted",
                                           "commits_after_abort",
                                           "skips_fence",
                                           "unfenced_session",
                                           "repeats_without_reading",
                                           "cleans_up_own_transfers"};
  static_assert(std::size(kNames) == static_cast<size_t>(PlantedBug::kCount));
  return kNames[static_cast<int>(bug)];
}

CommitWorld::CommitWorld(uint64_t seed, PlantedBug bug, bool prints) : network_(seed, prints), bug_(bug) {
  num_servers_ = static_cast<int>(random().In(2, 3));
  num_workers_ = static_cast<int>(random().In(1, 4));
  num_devices_ = random().OneIn(3) ? 2 : 1;
  remembered_steps_ = random().OneIn(2) ? 3 : OutcomeLimits().steps;
  has_side_steps_ = remembered_steps_ == 3 && random().OneIn(2);
  has_local_failures_ = random().OneIn(4);
  last_fault_ = random().In(2, 30) * kSecond;
  heal_time_ = last_fault_ + 30 * kSecond;  // longer than any fault and its notice
  tasks_.resize(num_servers_ + num_workers_);
  for (int task = 0; task < static_cast<int>(tasks_.size()); ++task) {
    const std::string name = is_server(task) ? absl::StrCat("ps-", task) : absl::StrCat("worker-", task - num_servers_);
    tasks_[task] = std::make_unique<Task>(this, task);
    network_.AddProcess(name, [this, task] {
      tasks_[task] = std::make_unique<Task>(this, task);
      for (const auto& client : clients_) {
        if (client->process() != task) continue;
        masters_[task] = std::make_unique<Master>(this, task);
        client->Start();
      }
    });
  }
  for (int worker = 0; worker < num_workers_; ++worker) {
    clients_.push_back(std::make_unique<Client>(this, worker, num_servers_ + worker));
  }
  if (random().OneIn(3)) {
    const int server = static_cast<int>(random().In(0, num_servers_ - 1));
    clients_.push_back(std::make_unique<Client>(this, num_workers_, server));
  }
  ScheduleFaults();
}

CommitWorld::~CommitWorld() = default;

void CommitWorld::ScheduleFaults() {
  const int last = static_cast<int>(tasks_.size()) - 1;
  const int64_t busy = std::min<Micros>(last_fault_, 6 * kSecond);
  for (int64_t faults = random().In(1, 8); faults > 0; --faults) {
    const Micros time = random().In(0, random().OneIn(2) ? busy : last_fault_);
    const int a = static_cast<int>(random().In(0, last)), b = static_cast<int>(random().In(0, last));
    const Micros duration = random().OneIn(2) ? random().In(1, 800) * kMilli : random().In(1, 12) * kSecond;
    switch (random().In(0, 5)) {
      case 0:
        network_.At(time, [this, a, duration] { network_.Crash(a, duration); });
        break;
      case 1:
        network_.At(time, [this, a, duration] {
          if (!network_.is_up(a)) return;
          tasks_[a]->WillStandStill(duration);
          network_.Suspend(a, duration, [this, a, duration] {
            if (duration > kSuspensionLimit) tasks_[a]->StoodStill();
          });
        });
        break;
      case 2:
        network_.At(time, [this, a, b, duration] { network_.Cut(a, b, duration); });
        break;
      case 3:
        network_.At(time, [this, a, b, duration] {
          network_.Cut(a, b, duration);
          network_.Cut(b, a, duration);
        });
        break;
      default:
        network_.At(time, [this, a, b] { network_.Break(a, b, random().OneIn(2) ? 8 * kSecond : 10 * kMilli); });
    }
  }
}

void CommitWorld::Fail(std::string what) {
  network_.Trace(-1, absl::StrCat("VIOLATION: ", what));
  violations_.push_back({std::move(what), network_.now()});
}

void CommitWorld::Applied(int task, const std::vector<Update>& log, const Update& update) {
  const std::string step = absl::StrCat("step ", update.step_id, " on ", network_.name(task));
  if (fenced_.contains({task, update.step_id})) Fail(absl::StrCat(step, " was applied after its fence was answered"));
  int64_t before = 0;
  for (const Update& other : log) {
    if (other.step_id == update.step_id) return Fail(absl::StrCat(step, " was applied twice"));
    before += other.client == update.client ? 1 : 0;
  }
  if (update.number != before) {
    Fail(absl::StrCat(step, ", number ", update.number, " of client ", update.client, ", was applied after ", before,
                      " steps of the client"));
  }
}

void CommitWorld::CheckEnd() {
  for (size_t client = 0; client < clients_.size(); ++client) {
    if (!clients_[client]->is_done()) Fail(absl::StrCat("client ", client, " waits without end"));
  }
  if (!violations_.empty()) return;
  CheckServers();
}

void CommitWorld::CheckServers() {
  std::set<int64_t> expected;
  for (const Update& update : tasks_[0]->log()) expected.insert(update.step_id);
  for (int place = 0; place < num_servers_ * num_devices_; ++place) {
    const int task = place / num_devices_;
    const std::vector<Update>& log = tasks_[task]->log(place % num_devices_);
    std::map<int, int64_t> counts;
    std::set<int64_t> steps;
    for (const Update& update : log) {
      ++counts[update.client];
      steps.insert(update.step_id);
    }
    for (size_t client = 0; client < clients_.size(); ++client) {
      if (counts[client] == kStepsPerClient) continue;
      Fail(absl::StrCat(network_.name(task), " has ", counts[client], " steps of client ", client));
    }
    if (steps != expected) Fail(absl::StrCat(network_.name(task), " and ", network_.name(0), " have different steps"));
  }
}

std::vector<Violation> CommitWorld::Run() {
  while (violations_.empty() && network_.now() < kLongestRun && network_.RunNext()) {
    ++events_;
    if (is_given_up_) return std::move(violations_);
    if (std::all_of(clients_.begin(), clients_.end(), [](const auto& client) { return client->is_done(); })) break;
  }
  if (violations_.empty()) CheckEnd();
  return violations_;
}

}  // namespace weir
