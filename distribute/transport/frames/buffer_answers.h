// Serves RecvBuf over a link.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Passes the peer's buffer requests to the worker and pushes each buffer as soon as it is ready.
// - Thread-safe. The link owns it until the link breaks, which cancels all pending requests.
// - A protocol violation breaks the link.
class BufferAnswers : public FrameLink::Receiver, public std::enable_shared_from_this<BufferAnswers> {
 public:
  // `worker` outlives the link. `task` names the peer in messages.
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
