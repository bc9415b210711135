// Processes and a network in virtual time, driven by a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

namespace weir {

using Micros = int64_t;
inline constexpr Micros kMilli = 1000, kSecond = 1000 * kMilli;

// The same seed gives the same numbers on every platform.
class SeededRandom {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // Uniform, both ends included.
  int64_t In(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(Next() % static_cast<uint64_t>(to - from + 1));
  }
  bool OneIn(int n) { return Next() % static_cast<uint64_t>(n) == 0; }

 private:
  uint64_t state_;
};

enum class Code { kOk, kUnavailable, kDeadline, kCancelled, kAborted, kNoSession, kForgotten };

struct Response {
  Code code = Code::kOk;
  int64_t incarnation = 0;
  bool committed = false;
  std::vector<int64_t> values;
};

// One call between processes. `done` runs once at the caller, unless the caller dies.
struct Call {
  int from = 0, to = 0;
  bool is_broken = false, is_done = false, is_answered = false;
  std::function<void(const Response&)> done;
  std::function<void()> cancelled;  // the callee sets it: the caller cancelled, or the connection broke
};

// Single-threaded. Faults of the network:
// - A message takes a random time, so that messages overtake each other.
// - A cut holds messages in one or both directions; one of several seconds may break the connection.
// - A broken connection loses its messages on the way; each side notices on its own, perhaps much later.
// - A crash loses everything of a process. A suspended process handles nothing, and everything when it continues.
// - Clocks run at different speeds.
class VirtualNetwork {
 public:
  VirtualNetwork(uint64_t seed, bool prints) : random_(seed), prints_(prints) {}
  ~VirtualNetwork();
  VirtualNetwork(const VirtualNetwork&) = delete;

  SeededRandom& random() { return random_; }
  Micros now() const { return now_; }
  void Trace(int process, const std::string& what);

  // `booted` runs at each start, the first one included.
  int AddProcess(std::string name, std::function<void()> booted);
  int64_t incarnation(int process) const { return processes_[process].incarnation; }
  bool is_up(int process) const { return processes_[process].is_up; }
  const std::string& name(int process) const { return processes_[process].name; }
  // Runs later in a process, unless it dies before.
  void Post(int process, Micros delay, std::function<void()> event);
  // By the clock of the process.
  void Timer(int process, Micros delay, std::function<void()> event);
  // Outside of all processes.
  void At(Micros time, std::function<void()> event);

  using Handler = std::function<void(std::shared_ptr<Call>)>;
  // `handle` runs at `to`. Repeats: a retry may deliver the request twice.
  std::shared_ptr<Call> Start(int from, int to, Micros deadline, bool repeats, Handler handle,
                              std::function<void(const Response&)> done);
  void Answer(const std::shared_ptr<Call>& call, Response response);
  void Cancel(const std::shared_ptr<Call>& call);

  void Crash(int process, Micros restart_after);
  void Suspend(int process, Micros duration, std::function<void()> resumed);
  void Cut(int from, int to, Micros duration);
  void Break(int a, int b, Micros longest_notice);

  // False once nothing is left to do.
  bool RunNext();

 private:
  struct Process {
    std::string name;
    std::function<void()> booted;
    int64_t incarnation = 1;
    bool is_up = true;
    Micros suspended_until = 0;
    int64_t clock_percent = 100;
    std::vector<std::function<void()>> held;  // while suspended
  };
  struct Event {
    Micros time;
    int64_t number;
    std::function<void()> run;
    bool operator>(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };
  void Deliver(int from, int to, const std::shared_ptr<Call>& call, std::function<void()> event);
  void Finish(const std::shared_ptr<Call>& call, const Response& response);
  std::shared_ptr<Call> NewCall(int from, int to);
  void BreakCalls(int a, int b, Micros longest_notice);
  Micros& CutUntil(int from, int to) { return cuts_[from * 64 + to]; }

  SeededRandom random_;
  const bool prints_;
  Micros now_ = 0;
  int64_t next_number_ = 0;
  std::vector<Process> processes_;
  std::vector<Micros> cuts_ = std::vector<Micros>(64 * 64, 0);
  std::vector<std::weak_ptr<Call>> calls_;      // that a broken connection may still end
  std::vector<std::weak_ptr<Call>> all_calls_;  // for the destructor
  size_t next_sweep_ = 256;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
};

}  // namespace weir
