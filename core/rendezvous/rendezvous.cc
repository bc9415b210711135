#include "core/rendezvous/rendezvous.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

class LocalRendezvous : public Rendezvous, public std::enable_shared_from_this<LocalRendezvous> {
 public:
  absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) override {
    Waiter waiter;
    {
      MutexLock lock(mu_);
      if (!aborted_.ok()) return aborted_;
      auto found = slots_.find(key);
      if (found == slots_.end()) {
        Slot& slot = slots_[key];
        slot.sent = true;
        slot.value = {std::move(tensor), is_dead};
        return absl::OkStatus();
      }
      Slot& slot = found->second;
      if (slot.sent)
        return errors::Aborted("Duplicate send under the key '", key, "', whose first tensor has not been received");
      waiter = std::move(slot.waiters.front());
      slot.waiters.erase(slot.waiters.begin());
      if (slot.waiters.empty()) slots_.erase(found);
    }
    waiter.StopWatchingCancellation();
    waiter.done(Received{std::move(tensor), is_dead});
    return absl::OkStatus();
  }

  void RecvAsync(absl::string_view key, const Args& args, DoneCallback done) override {
    absl::StatusOr<Received> result = TakeOrWait(key, args, done);
    if (done != nullptr) done(std::move(result));
  }

  void StartAbort(const absl::Status& status) override {
    const absl::Status reason = status.ok() ? errors::Internal("Rendezvous aborted without an error") : status;
    absl::flat_hash_map<std::string, Slot> slots;
    {
      MutexLock lock(mu_);
      if (!aborted_.ok()) return;
      aborted_ = reason;
      slots.swap(slots_);
    }
    for (auto& [key, slot] : slots) {
      for (Waiter& waiter : slot.waiters) {
        waiter.StopWatchingCancellation();
        waiter.done(reason);
      }
    }
  }

 private:
  struct Waiter {
    DoneCallback done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    int64_t id = 0;

    // Does not wait: a callback that is already running will not find its waiter.
    void StopWatchingCancellation() {
      if (cancellation != nullptr) cancellation->TryDeregister(token);
    }
  };
  // Holds either a value that waits for its receiver, or receivers that wait for their values.
  struct Slot {
    bool sent = false;
    Received value;
    absl::InlinedVector<Waiter, 1> waiters;
  };

  // The argument for `done`; otherwise moves `done` into a waiter.
  absl::StatusOr<Received> TakeOrWait(absl::string_view key, const Args& args, DoneCallback& done) {
    MutexLock lock(mu_);
    if (!aborted_.ok()) return aborted_;
    auto found = slots_.find(key);
    if (found != slots_.end() && found->second.sent) {
      Received value = std::move(found->second.value);
      slots_.erase(found);
      return value;
    }
    Waiter waiter;
    waiter.id = next_waiter_++;
    waiter.cancellation = args.cancellation;
    if (args.cancellation != nullptr) {
      waiter.token = args.cancellation->Register(
          [weak = weak_from_this(), key = std::string(key), id = waiter.id, cancellation = args.cancellation] {
            if (auto self = weak.lock()) self->Cancel(key, id, cancellation->status());
          });
      if (waiter.token == CancellationManager::kInvalidToken) return Cancelled(args.cancellation->status());
    }
    waiter.done = std::exchange(done, nullptr);
    if (found == slots_.end()) found = slots_.try_emplace(key).first;
    found->second.waiters.push_back(std::move(waiter));
    return Received{};
  }

  void Cancel(const std::string& key, int64_t id, const absl::Status& reason) {
    DoneCallback done;
    {
      MutexLock lock(mu_);
      auto found = slots_.find(key);
      if (found == slots_.end()) return;
      auto& waiters = found->second.waiters;
      for (auto it = waiters.begin(); it != waiters.end(); ++it) {
        if (it->id != id) continue;
        done = std::move(it->done);
        waiters.erase(it);
        break;
      }
      if (waiters.empty() && !found->second.sent) slots_.erase(found);
    }
    if (done != nullptr) done(Cancelled(reason));
  }

  static absl::Status Cancelled(const absl::Status& reason) {
    return errors::Cancelled("Receive was cancelled: ", reason.message());
  }

  Mutex mu_;
  absl::Status aborted_ GUARDED_BY(mu_);
  int64_t next_waiter_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, Slot> slots_ GUARDED_BY(mu_);
};

bool ParseFrame(absl::string_view text, FrameAndIter* frame_iter) {
  std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  return absl::SimpleAtoi(parts.first, &frame_iter->frame_id) && absl::SimpleAtoi(parts.second, &frame_iter->iter_id);
}

}  // namespace

std::string RendezvousKey::Create(absl::string_view src_device, uint64_t src_incarnation, absl::string_view dst_device,
                                  absl::string_view edge_name, FrameAndIter frame_iter) {
  return absl::StrCat(Prefix(src_device, src_incarnation, dst_device, edge_name), ";", frame_iter.frame_id, ":",
                      frame_iter.iter_id);
}

std::string RendezvousKey::Prefix(absl::string_view src_device, uint64_t src_incarnation, absl::string_view dst_device,
                                  absl::string_view edge_name) {
  return absl::StrCat(src_device, ";", absl::Hex(src_incarnation, absl::kZeroPad16), ";", dst_device, ";", edge_name);
}

absl::StatusOr<RendezvousKey> RendezvousKey::Parse(absl::string_view key) {
  auto malformed = [key](absl::string_view reason) {
    return errors::InvalidArgument("Invalid rendezvous key: '", key, "': ", reason);
  };
  std::vector<absl::string_view> parts = absl::StrSplit(key, ';');
  if (parts.size() != 5) return malformed("expected 'src;incarnation;dst;edge;frame:iter'");
  RendezvousKey parsed;
  absl::StatusOr<DeviceName> src = DeviceName::ParseFull(parts[0]);
  if (!src.ok()) return malformed(src.status().message());
  if (parts[1].size() > 16 || !absl::SimpleHexAtoi(parts[1], &parsed.src_incarnation)) {
    return malformed("the incarnation must be up to 16 hexadecimal digits");
  }
  absl::StatusOr<DeviceName> dst = DeviceName::ParseFull(parts[2]);
  if (!dst.ok()) return malformed(dst.status().message());
  if (parts[3].empty()) return malformed("the edge's name is empty");
  if (!ParseFrame(parts[4], &parsed.frame_iter)) return malformed("expected 'frame:iter' at the end");
  parsed.full = std::string(key);
  parsed.src = *std::move(src);
  parsed.dst = *std::move(dst);
  parsed.edge_name = std::string(parts[3]);
  return parsed;
}

std::shared_ptr<Rendezvous> NewLocalRendezvous() { return std::make_shared<LocalRendezvous>(); }

}  // namespace weir
