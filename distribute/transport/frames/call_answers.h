// Serves calls that arrive over a link.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/frames/link_handlers.h"

namespace weir {

// Passes the peer's calls to their handlers.
// - Thread-safe. The link owns it until the link breaks, which cancels the peer's calls; the calls keep it alive too.
// - A protocol violation breaks the link.
class CallAnswers : public FrameLink::Receiver, public std::enable_shared_from_this<CallAnswers> {
 public:
  // `handlers` outlives the link. `task` names the peer in messages.
  CallAnswers(LinkHandlers* handlers, std::string task, std::shared_ptr<FrameLink> link);

  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override;
  void OnBroken(const absl::Status& status) override;

 private:
  class Call;

  void Serve(uint32_t channel, ReceivedBytes bytes);
  void Cancel(uint32_t channel);
  // False if no call waits for this answer.
  bool Take(uint32_t channel, const Call* call);
  void Answer(uint32_t channel, const grpc::ByteBuffer& response);
  void Violated(absl::string_view what);

  LinkHandlers* const handlers_;
  const std::string task_;
  const std::shared_ptr<FrameLink> link_;
  Mutex mu_;
  bool is_open_ GUARDED_BY(mu_) = true;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Call>> calls_ GUARDED_BY(mu_);  // by channel
};

}  // namespace weir
