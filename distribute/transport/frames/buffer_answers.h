// RecvBuf without calls: the sender's end.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/cancellation.h"
#include "core/mutex.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Asks the worker for what the peer asks for, and pushes it. A peer that breaks the rules loses its link. Thread-safe;
// kept alive by the link until that is broken, which cancels what the peer has asked for.
class BufferAnswers : public FrameLink::Receiver, public std::enable_shared_from_this<BufferAnswers> {
 public:
  // `worker` outlives the link. `task`: who asks, for messages.
  BufferAnswers(WorkerInterface* worker, std::string task, std::shared_ptr<FrameLink> link);

  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override;
  void OnBroken(const absl::Status& status) override;

 private:
  struct Request {
    CancellationManager cancellation;
  };

  void Serve(uint32_t channel, const std::string& bytes);
  void Answer(uint32_t channel, absl::StatusOr<ReceivedBytes> bytes);
  void Cancel(uint32_t channel);
  void Violated(absl::string_view what);

  WorkerInterface* const worker_;
  const std::string task_;
  const std::shared_ptr<FrameLink> link_;
  Mutex mu_;
  bool is_open_ GUARDED_BY(mu_) = true;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Request>> requests_ GUARDED_BY(mu_);  // by channel
};

}  // namespace weir
