#include "worker/master_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {
namespace {

// After a pause of this process, one failure says nothing about the time before it.
constexpr int kLeastFailures = 2;

}  // namespace

struct MasterWatch::Question {
  Master master;
  std::shared_ptr<WorkerInterface> worker;
  tensorflow::GetStatusRequest request;
  tensorflow::GetStatusResponse response;
};

MasterWatch::MasterWatch(Options options) : options_(std::move(options)), thread_([this] { Loop(); }) {}

MasterWatch::~MasterWatch() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  cancellation_.StartCancel(absl::CancelledError("The task is shutting down"));
  MutexLock lock(mu_);
  while (!asked_.empty()) lock.Wait(changed_);
}

void MasterWatch::Loop() {
  const absl::Duration interval = std::min(options_.lease / 4, absl::Seconds(5));
  while (true) {
    {
      MutexLock lock(mu_);
      const absl::Time next = MonotonicNow() + interval;
      while (!stopping_ && MonotonicNow() < next) lock.WaitUntil(changed_, ToSteady(next));
      if (stopping_) return;
    }
    AskAll();
  }
}

void MasterWatch::AskAll() {
  const std::vector<Master> known = options_.masters();
  const absl::flat_hash_set<Master> masters(known.begin(), known.end());
  {
    MutexLock lock(mu_);
    absl::erase_if(contacts_, [&](const auto& entry) { return !masters.contains(entry.first); });
    for (const Master& master : masters) contacts_.try_emplace(master, Contact{MonotonicNow()});
  }
  for (const Master& master : masters) Ask(master);
}

void MasterWatch::Ask(const Master& master) {
  constexpr absl::Duration kTimeout = absl::Seconds(5);
  absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.find(master.task);
  if (!worker.ok()) return;
  {
    MutexLock lock(mu_);
    if (!asked_.insert(master).second) return;
  }
  auto question = std::make_shared<Question>();
  question->master = master;
  question->worker = *std::move(worker);
  const CallOptions call{.deadline = MonotonicNow() + kTimeout, .cancellation = &cancellation_};
  question->worker->GetStatusAsync(call, &question->request, &question->response,
                                   [this, question](const absl::Status& status) {
                                     const std::string reason = Judge(*question, status);
                                     if (!reason.empty()) options_.gone(question->master, reason);
                                     MutexLock lock(mu_);
                                     asked_.erase(question->master);
                                     changed_.notify_all();
                                   });
}

std::string MasterWatch::Judge(const Question& question, const absl::Status& status) {
  const Master& master = question.master;
  const absl::Time now = MonotonicNow();
  MutexLock lock(mu_);
  if (cancellation_.IsCancelled()) return "";
  Contact& contact = contacts_.try_emplace(master, Contact{now}).first->second;
  if (!status.ok()) {
    if (++contact.failures < kLeastFailures || now - contact.last_answer < options_.lease) return "";
    return absl::StrCat("it has not answered for ", absl::FormatDuration(options_.lease), ": ", status.message());
  }
  const auto& devices = question.response.device_attributes();
  const bool is_same = master.incarnation == 0 ||
                       std::any_of(devices.begin(), devices.end(), [&](const tensorflow::DeviceAttributes& device) {
                         return device.incarnation() == master.incarnation;
                       });
  if (!is_same) return "it has restarted";
  contact = {now};
  return "";
}

}  // namespace weir
