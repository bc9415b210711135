// Transfers between the devices of a task that takes part in a commit.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/mutex.h"
#include "core/rendezvous/rendezvous.h"

namespace weir {

// A rendezvous that keeps transfers between devices of `task` to itself and passes all others to `others`.
// - The end of `others` does not end its own transfers: the master cleans up a failed step while a task may still wait
//   for the decision to make its updates, some of them on another device than the one that waits.
// - StartAbort aborts both.
class OwnTransfers : public Rendezvous {
 public:
  OwnTransfers(absl::string_view task, std::shared_ptr<Rendezvous> others);

  absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) override;
  void RecvAsync(absl::string_view key, const Args& args, DoneCallback done) override;
  void StartAbort(const absl::Status& status) override;

  // No tensor will come under keys that begin with `prefix` (RendezvousKey::Prefix): receives of the task's own,
  // pending and later ones, fail with `reason`.
  void WillNotSend(absl::string_view prefix, const absl::Status& reason);

 private:
  struct Pending;

  bool IsOwn(absl::string_view key) const;

  const std::string devices_;  // what their names begin with
  const std::shared_ptr<Rendezvous> own_ = NewLocalRendezvous();
  const std::shared_ptr<Rendezvous> others_;
  Mutex mu_;
  absl::flat_hash_map<std::string, absl::Status> not_sent_ GUARDED_BY(mu_);  // by prefix
  // Own receives, by prefix and number.
  absl::flat_hash_map<std::string, absl::flat_hash_map<int64_t, std::shared_ptr<Pending>>> pending_ GUARDED_BY(mu_);
  int64_t next_pending_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
