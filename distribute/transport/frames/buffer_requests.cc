#include "distribute/transport/frames/buffer_requests.h"

#include <utility>

#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_status.h"

namespace weir {
namespace {

std::string Encoded(const RecvBufArgs& args) {
  tensorflow::RecvBufRequest request;
  request.set_step_id(args.step_id);
  request.set_buf_rendezvous_key(args.key);
  request.set_num_bytes(args.num_bytes);
  request.set_src_device(args.src_device);
  request.set_dst_device(args.dst_device);
  request.set_src_incarnation(args.src_incarnation);
  return request.SerializeAsString();
}

}  // namespace

bool BufferRequests::Begin(const CallOptions& options, const RecvBufArgs& args, const Callback& done) {
  if (args.num_bytes < 0 || static_cast<uint64_t>(args.num_bytes) > link_->max_frame_bytes()) return false;
  std::string request = Encoded(args);
  if (request.size() > kMaxRequestBytes) return false;
  return Ask(FrameKind::kRequest, {.num_bytes = args.num_bytes, .done = done, .cancellation = options.cancellation},
             [&request] { return std::move(request); });
}

void BufferRequests::Finish(PendingBuffer pending, absl::StatusOr<ReceivedBytes> result) {
  pending.done(std::move(result));
}

void BufferRequests::OnFrame(const FrameHead& head, ReceivedBytes bytes) {
  PendingBuffer pending;
  if (head.kind != FrameKind::kBuffer && head.kind != FrameKind::kError) {
    return link_->Break(WithOrigin(errors::Unavailable("Task ", task_, " sent a frame of kind ",
                                                       static_cast<uint32_t>(head.kind), " where answers are expected"),
                                   {.task = task_}));
  }
  if (!Take(head.channel, &pending)) return;  // cancelled already
  if (head.kind == FrameKind::kError) return End(std::move(pending), DecodeFrameStatus(bytes.bytes()));
  if (bytes.bytes().size() != pending.num_bytes) {
    const absl::Status status = errors::Internal("Task ", task_, " sent ", bytes.bytes().size(), " bytes where ",
                                                 pending.num_bytes, " were expected");
    return End(std::move(pending), status);
  }
  End(std::move(pending), std::move(bytes));
}

}  // namespace weir
