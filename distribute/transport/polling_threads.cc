#include "distribute/transport/polling_threads.h"

#include <system_error>
#include <utility>

namespace weir {

PollingThreads::PollingThreads(grpc::CompletionQueue* queue, Options options) : queue_(queue), options_(options) {
  MutexLock lock(mu_);
  if (!Start()) status_ = errors::ResourceExhausted("No thread can be created for gRPC: raise the limits (ulimit -a)");
}

PollingThreads::~PollingThreads() {
  std::list<std::thread> ended;
  {
    MutexLock lock(mu_);
    while (!threads_.empty()) lock.Wait(all_ended_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

bool PollingThreads::Start() {
  if (static_cast<int>(threads_.size()) >= options_.max) return false;
  threads_.emplace_back();
  auto self = std::prev(threads_.end());
  try {
    *self = std::thread([this, self] { Poll(self); });
  } catch (const std::system_error&) {  // the thread limit is reached
    threads_.erase(self);
    return false;
  }
  ++polling_;
  return true;
}

void PollingThreads::Poll(std::list<std::thread>::iterator self) {
  void* tag;
  bool ok;
  while (queue_->Next(&tag, &ok)) {
    auto* event = static_cast<CompletionEvent*>(tag);
    if (!event->MayBlock()) {
      event->Complete(ok);
      continue;
    }
    if (!LeavePolling()) {
      event->CompleteAlone(ok);
      continue;
    }
    event->Complete(ok);
    if (!RejoinPolling(self)) return;
  }
  MutexLock lock(mu_);
  --polling_;
  End(self);
}

bool PollingThreads::LeavePolling() {
  std::list<std::thread> ended;
  bool others_poll;
  {
    MutexLock lock(mu_);
    others_poll = polling_ > 1 || Start();
    if (others_poll) --polling_;
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
  return others_poll;
}

bool PollingThreads::RejoinPolling(std::list<std::thread>::iterator self) {
  MutexLock lock(mu_);
  if (polling_ < options_.spare) {
    ++polling_;
    return true;
  }
  End(self);
  return false;
}

void PollingThreads::End(std::list<std::thread>::iterator self) {
  ended_.splice(ended_.end(), threads_, self);
  if (threads_.empty()) all_ended_.notify_all();
}

}  // namespace weir
