#include <algorithm>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "core/clock.h"
#include "tools/commands.h"
#include "tools/interruption.h"
#include "tools/task_client.h"

namespace weir {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(3);
constexpr size_t kAtOnce = 32;

// Names come from the network: they must not control the terminal.
std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }, '?');
  return text;
}

std::string ShortName(const std::string& task) {
  return Printable(absl::StrReplaceAll(task, {{"/job:", ""}, {"/replica:0/task:", ":"}}));
}

std::string Bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return absl::StrFormat("%.*f %s", unit == 0 || bytes >= 100 ? 0 : 1, bytes, kUnits[unit]);
}

// A task as it is now, and as it was at the last look.
struct WatchedRow {
  std::string address;
  std::unique_ptr<GrpcChannel> channel;
  absl::Status error = absl::OkStatus();
  TaskReport now, before;
  absl::Time time, time_before;
  bool has_report = false, has_rates = false;
};

uint64_t Sent(const TaskReport& report) {
  uint64_t sum = 0;
  for (const auto& transport : report.transport()) sum += transport.sent_bytes();
  return sum;
}

uint64_t Received(const TaskReport& report) {
  uint64_t sum = 0;
  for (const auto& transport : report.transport()) sum += transport.received_bytes();
  return sum;
}

uint64_t Ended(const TaskReport::Steps& steps) { return steps.succeeded() + steps.failed(); }

// Reports of all tasks of a cluster.
class WatchedCluster {
 public:
  explicit WatchedCluster(const std::string& address) : target_(RowAt(address)) {}

  // The first call fails if the target does not answer; later ones go on without it. The tasks are those that the
  // target knew last.
  absl::Status Look(CancellationManager* cancellation) {
    LookAt(&target_, cancellation);
    if (target_.error.ok()) {
      FollowPeers();
    } else if (!target_.has_report) {
      return target_.error;
    }
    std::vector<WatchedRow*> rows;
    for (auto& [task, row] : rows_) rows.push_back(&row);
    for (size_t begin = 0; begin < rows.size(); begin += kAtOnce) {
      std::vector<std::future<void>> looks;
      for (size_t i = begin; i < std::min(begin + kAtOnce, rows.size()); ++i) {
        looks.push_back(std::async(std::launch::async, [row = rows[i], cancellation] { LookAt(row, cancellation); }));
      }
      for (auto& look : looks) look.get();
    }
    return absl::OkStatus();
  }

  void Print(std::ostream& out) const {
    out << absl::StrFormat("%-20s %-8s %10s %10s %12s %12s %10s %10s %8s %8s\n", "TASK", "HEALTH", "STEPS/S", "RUNS/S",
                           "SENT/S", "RECEIVED/S", "RESIDENT", "TENSORS", "SESSIONS", "RUNNING");
    std::map<std::string, const WatchedRow*> rows = {{target_.now.task(), &target_}};
    for (const auto& [task, row] : rows_) rows[task] = &row;
    for (const auto& [task, row] : rows) PrintRow(task, *row, out);
    out << std::flush;
  }

 private:
  static void LookAt(WatchedRow* row, CancellationManager* cancellation) {
    const CallOptions call{.deadline = MonotonicNow() + kCallTimeout, .cancellation = cancellation};
    absl::StatusOr<TaskReport> report = GetTaskReport(row->channel.get(), call);
    row->error = report.status();
    row->has_rates = false;
    if (!report.ok()) return;
    row->has_rates = row->has_report && row->now.incarnation() == report->incarnation();
    row->before = std::move(row->now);
    row->now = *std::move(report);
    row->time_before = std::exchange(row->time, MonotonicNow());
    row->has_report = true;
  }

  static void PrintRow(const std::string& task, const WatchedRow& row, std::ostream& out) {
    if (!row.error.ok()) {
      out << absl::StrFormat("%-20s %-8s %s\n", ShortName(task), "down", Printable(std::string(row.error.message())));
      return;
    }
    const double seconds = absl::ToDoubleSeconds(row.time - row.time_before);
    const auto rate = [&](uint64_t before, uint64_t now) {
      return row.has_rates && seconds > 0 ? static_cast<double>(now - std::min(before, now)) / seconds : 0;
    };
    const TaskReport &now = row.now, &before = row.before;
    out << absl::StrFormat(
        "%-20s %-8s %10.1f %10.1f %12s %12s %10s %10s %8d %8d\n", ShortName(task),
        now.reason().empty() ? "up" : "stopping", rate(Ended(before.master_steps()), Ended(now.master_steps())),
        rate(Ended(before.worker_steps()), Ended(now.worker_steps())), Bytes(rate(Sent(before), Sent(now))),
        Bytes(rate(Received(before), Received(now))), Bytes(static_cast<double>(now.memory().resident())),
        Bytes(static_cast<double>(now.memory().tensors())), now.session_size(),
        now.master_steps().running() + now.worker_steps().running());
  }

  static WatchedRow RowAt(const std::string& address) {
    return {.address = address,
            .channel = std::make_unique<GrpcChannel>(GrpcChannelOptions{.address = address}, nullptr)};
  }

  // After the target has answered: its own row is that of its answer.
  void FollowPeers() {
    std::map<std::string, WatchedRow> rows;
    for (const auto& peer : target_.now.peer()) {
      const auto known = rows_.find(peer.task());
      const bool is_known = known != rows_.end() && known->second.address == peer.address();
      rows[peer.task()] = is_known ? std::move(known->second) : RowAt(peer.address());
    }
    rows_ = std::move(rows);
  }

  WatchedRow target_;
  std::map<std::string, WatchedRow> rows_;  // the other tasks
};

}  // namespace

absl::Status RunTop(const std::string& target, const Repetition& repeat, bool is_terminal, std::ostream& out) {
  constexpr absl::Duration kFirst = absl::Seconds(1);
  constexpr char kClear[] = "\x1b[H\x1b[J";
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(target));
  Interruption interruption;
  WatchedCluster cluster(address);
  absl::Status looked = cluster.Look(interruption.cancellation());
  // Rates need a second look.
  absl::Duration pause = std::min(repeat.interval, kFirst);
  for (int i = 0; looked.ok() && (repeat.count == 0 || i < repeat.count); ++i) {
    if (!interruption.Sleep(pause)) break;
    looked = cluster.Look(interruption.cancellation());
    if (interruption.has_come() || !out.good()) break;
    if (is_terminal) out << kClear;
    cluster.Print(out);
    if (!is_terminal) out << std::endl;
    pause = repeat.interval;
  }
  return interruption.has_come() ? absl::OkStatus() : looked;
}

}  // namespace weir
