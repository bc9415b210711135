// A clock that tests advance.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "core/mutex.h"
#include "distribute/coordination/alarm_clock.h"

namespace weir::coordination {

// Callbacks run within Advance, on its thread.
class FakeAlarmClock : public AlarmClock {
 public:
  absl::Time Now() override {
    MutexLock lock(mu_);
    return now_;
  }
  Token Schedule(absl::Time when, std::function<void()> callback) override {
    MutexLock lock(mu_);
    const Token token(when, next_id_++);
    alarms_.emplace(token, std::move(callback));
    return token;
  }
  void Cancel(const Token& token) override {
    MutexLock lock(mu_);
    alarms_.erase(token);
  }

  bool HasAlarms() {
    MutexLock lock(mu_);
    return !alarms_.empty();
  }
  void Advance(absl::Duration duration) {
    std::multimap<Token, std::function<void()>> due;
    {
      MutexLock lock(mu_);
      now_ += duration;
      while (!alarms_.empty() && alarms_.begin()->first.first <= now_) due.insert(alarms_.extract(alarms_.begin()));
    }
    for (auto& [token, callback] : due) callback();
  }

 private:
  Mutex mu_;
  absl::Time now_ GUARDED_BY(mu_) = absl::UnixEpoch();
  int64_t next_id_ GUARDED_BY(mu_) = 0;
  std::multimap<Token, std::function<void()>> alarms_ GUARDED_BY(mu_);
};

}  // namespace weir::coordination
