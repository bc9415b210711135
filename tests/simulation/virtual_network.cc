#include "tests/simulation/virtual_network.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace weir {

uint64_t SeededRandom::Next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// A call that never ended may be held by its own callbacks.
VirtualNetwork::~VirtualNetwork() {
  for (const auto& weak : all_calls_) {
    const std::shared_ptr<Call> call = weak.lock();
    if (call == nullptr) continue;
    call->done = nullptr;
    call->cancelled = nullptr;
  }
}

void VirtualNetwork::Trace(int process, const std::string& what) {
  if (!prints_) return;
  std::printf("%10.3f ms  %-9s %s\n", now_ / 1e3, process < 0 ? "" : name(process).c_str(), what.c_str());
}

int VirtualNetwork::AddProcess(std::string name, std::function<void()> booted) {
  processes_.push_back({.name = std::move(name), .booted = std::move(booted), .clock_percent = random_.In(80, 125)});
  const int process = static_cast<int>(processes_.size()) - 1;
  Post(process, 0, [this, process] { processes_[process].booted(); });
  return process;
}

void VirtualNetwork::At(Micros time, std::function<void()> event) {
  events_.push({std::max(time, now_), next_number_++, std::move(event)});
}

void VirtualNetwork::Post(int process, Micros delay, std::function<void()> event) {
  At(now_ + delay, [this, process, incarnation = processes_[process].incarnation, event = std::move(event)]() mutable {
    Process& p = processes_[process];
    if (!p.is_up || p.incarnation != incarnation) return;
    if (p.suspended_until > now_) {
      p.held.push_back(std::move(event));
      return;
    }
    event();
  });
}

void VirtualNetwork::Timer(int process, Micros delay, std::function<void()> event) {
  Post(process, delay * processes_[process].clock_percent / 100, std::move(event));
}

void VirtualNetwork::Deliver(int from, int to, const std::shared_ptr<Call>& call, std::function<void()> event) {
  Micros delay = from == to ? 1 : random_.In(50, 1500);
  if (from != to && random_.OneIn(20)) delay = random_.In(1, 200) * kMilli;
  const Micros arrival = std::max(now_, CutUntil(from, to)) + delay;
  At(arrival, [this, to, call, event = std::move(event)] {
    if (!call->is_broken) Post(to, 0, event);
  });
}

void VirtualNetwork::Finish(const std::shared_ptr<Call>& call, const Response& response) {
  if (std::exchange(call->is_done, true)) return;
  std::exchange(call->done, nullptr)(response);
}

std::shared_ptr<Call> VirtualNetwork::NewCall(int from, int to) {
  auto call = std::make_shared<Call>();
  call->from = from;
  call->to = to;
  if (all_calls_.size() >= next_sweep_) {
    std::erase_if(all_calls_, [](const auto& weak) { return weak.expired(); });
    next_sweep_ = 2 * all_calls_.size() + 256;
  }
  all_calls_.push_back(call);
  return call;
}

std::shared_ptr<Call> VirtualNetwork::Start(int from, int to, Micros deadline, bool repeats, Handler handle,
                                            std::function<void(const Response&)> done) {
  const std::shared_ptr<Call> call = NewCall(from, to);
  call->done = std::move(done);
  if (calls_.size() > 256) {
    calls_.erase(std::remove_if(calls_.begin(), calls_.end(),
                                [](const auto& weak) {
                                  const auto known = weak.lock();
                                  return known == nullptr || known->is_broken;
                                }),
                 calls_.end());
  }
  calls_.push_back(call);
  if (deadline > 0) {
    Timer(from, deadline, [this, call] {
      if (call->is_done) return;
      Finish(call, {.code = Code::kDeadline});
      Cancel(call);
    });
  }
  const auto refuse = [this, call](Micros delay) {
    call->is_broken = true;
    Post(call->from, delay, [this, call] { Finish(call, {.code = Code::kUnavailable}); });
  };
  if (!is_up(to)) {
    refuse(random_.In(1, 50) * kMilli);
    return call;
  }
  if (CutUntil(from, to) > now_ && random_.OneIn(2)) {
    refuse(random_.In(200, 3000) * kMilli);
    return call;
  }
  Deliver(from, to, call, [call, handle] { handle(call); });
  if (repeats && random_.OneIn(8)) {
    // The first answer was lost, say; the repeat has a call of its own, whose answer counts for nothing.
    const std::shared_ptr<Call> repeat = NewCall(from, to);
    repeat->is_done = true;
    At(now_ + random_.In(1, 3000) * kMilli, [this, from, to, repeat, handle] {
      if (is_up(to)) Deliver(from, to, repeat, [repeat, handle] { handle(repeat); });
    });
  }
  return call;
}

void VirtualNetwork::Answer(const std::shared_ptr<Call>& call, Response response) {
  if (std::exchange(call->is_answered, true)) return;
  call->cancelled = nullptr;
  if (call->is_broken || call->is_done) return;
  Deliver(call->to, call->from, call, [this, call, response = std::move(response)] { Finish(call, response); });
}

void VirtualNetwork::Cancel(const std::shared_ptr<Call>& call) {
  if (call->is_broken) return;
  Deliver(call->from, call->to, call, [call] {
    if (auto cancelled = std::exchange(call->cancelled, nullptr)) cancelled();
  });
}

void VirtualNetwork::BreakCalls(int a, int b, Micros longest_notice) {
  for (const auto& weak : calls_) {
    const std::shared_ptr<Call> call = weak.lock();
    if (call == nullptr || call->is_broken) continue;
    if (!((call->from == a && call->to == b) || (call->from == b && call->to == a))) continue;
    call->is_broken = true;
    if (is_up(call->from)) {
      Post(call->from, random_.In(0, longest_notice), [this, call] { Finish(call, {.code = Code::kUnavailable}); });
    }
    if (is_up(call->to)) {
      Post(call->to, random_.In(0, longest_notice), [call] {
        if (auto cancelled = std::exchange(call->cancelled, nullptr)) cancelled();
      });
    }
  }
}

void VirtualNetwork::Break(int a, int b, Micros longest_notice) {
  if (a == b) return;
  Trace(-1, "connection " + name(a) + " - " + name(b) + " breaks");
  BreakCalls(a, b, longest_notice);
}

void VirtualNetwork::Crash(int process, Micros restart_after) {
  Process& p = processes_[process];
  if (!p.is_up) return;
  Trace(process, "crashes");
  p.is_up = false;
  p.suspended_until = 0;
  p.held.clear();
  for (int other = 0; other < static_cast<int>(processes_.size()); ++other) {
    BreakCalls(process, other, random_.OneIn(3) ? 8 * kSecond : 10 * kMilli);
  }
  At(now_ + restart_after, [this, process] {
    Process& again = processes_[process];
    ++again.incarnation;
    again.is_up = true;
    Trace(process, "restarts");
    again.booted();
  });
}

void VirtualNetwork::Suspend(int process, Micros duration, std::function<void()> resumed) {
  Process& p = processes_[process];
  if (!p.is_up || p.suspended_until > now_) return;
  Trace(process, "is suspended for " + std::to_string(duration / kMilli) + " ms");
  p.suspended_until = now_ + duration;
  if (duration > 3 * kSecond) {
    for (int other = 0; other < static_cast<int>(processes_.size()); ++other) {
      if (other == process || random_.OneIn(4)) continue;
      At(now_ + random_.In(3000, 5000) * kMilli, [this, process, other] { Break(process, other, 10 * kMilli); });
    }
  }
  At(p.suspended_until, [this, process, incarnation = p.incarnation, resumed = std::move(resumed)] {
    Process& again = processes_[process];
    if (!again.is_up || again.incarnation != incarnation) return;
    Trace(process, "continues");
    std::vector<std::function<void()>> held = std::exchange(again.held, {});
    held.push_back(resumed);
    // Its threads handle what has arrived in any order.
    for (size_t i = 0; i < held.size(); ++i) {
      Post(process, random_.In(0, random_.OneIn(4) ? 50 * kMilli : 300), std::move(held[i]));
    }
  });
}

void VirtualNetwork::Cut(int from, int to, Micros duration) {
  if (from == to) return;
  Trace(-1, "cut " + name(from) + " -> " + name(to) + " for " + std::to_string(duration / kMilli) + " ms");
  CutUntil(from, to) = std::max(CutUntil(from, to), now_ + duration);
  if (duration > 3 * kSecond && !random_.OneIn(4)) {
    At(now_ + random_.In(3000, 5000) * kMilli, [this, from, to] { Break(from, to, 8 * kSecond); });
  }
}

bool VirtualNetwork::RunNext() {
  if (events_.empty()) return false;
  Event event = std::move(const_cast<Event&>(events_.top()));
  events_.pop();
  now_ = event.time;
  event.run();
  return true;
}

}  // namespace weir
