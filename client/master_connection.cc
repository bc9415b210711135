#include "client/master_connection.h"

#include <optional>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/random_bits.h"
#include "graph/graph.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/master.pb.h"

namespace weir {
namespace {

constexpr absl::Duration kCloseTimeout = absl::Seconds(30);

// Request ids are positive and unique per client with overwhelming probability; 0 would disable duplicate detection.
int64_t FirstRequestId() { return static_cast<int64_t>((RandomBits() >> 2) | (uint64_t{1} << 61)); }

}  // namespace

MasterConnection::MasterConnection(std::shared_ptr<MasterInterface> master, std::shared_ptr<void> keep_alive,
                                   const Scope& scope, SessionOptions options)
    : keep_alive_(std::move(keep_alive)),
      master_(std::move(master)),
      scope_(scope),
      options_(std::move(options)),
      next_request_id_(FirstRequestId()) {}

MasterConnection::Opened MasterConnection::Current() const {
  MutexLock lock(opened_mu_);
  return opened_;
}

absl::Status MasterConnection::Open() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(Create());
  closed_ = false;
  return absl::OkStatus();
}

absl::Status MasterConnection::Create() {
  tensorflow::CreateSessionRequest request;
  tensorflow::CreateSessionResponse response;
  const Graph& graph = *scope_.graph();
  const int node_ids = graph.num_node_ids();
  const size_t changes = graph.changed_ops().size();
  *request.mutable_graph_def() = scope_.ToGraphDef();
  *request.mutable_config() = *options_.config;
  RETURN_IF_ERROR(master_->CreateSession({.deadline = MonotonicNow() + options_.connect_timeout}, request, &response));
  graph_version_ = response.graph_version();
  changes_sent_ = changes;
  nodes_sent_.store(node_ids, std::memory_order_release);
  MutexLock lock(opened_mu_);
  opened_.handle = response.session_handle();
  ++opened_.generation;
  return absl::OkStatus();
}

absl::Status MasterConnection::ExtendIfNeeded() {
  if (scope_.graph()->num_node_ids() == nodes_sent_.load(std::memory_order_acquire)) return absl::OkStatus();
  RETURN_IF_ERROR(scope_.status());
  MutexLock lock(mu_);
  const Opened opened = Current();
  const absl::Status extended = Extend();
  return IsSessionLost(extended, opened.handle) ? ReplaceLocked(opened) : extended;
}

absl::Status MasterConnection::Extend() {
  const int node_ids = scope_.graph()->num_node_ids();
  if (node_ids == nodes_sent_) return absl::OkStatus();
  tensorflow::ExtendSessionRequest request;
  tensorflow::ExtendSessionResponse response;
  request.set_session_handle(Current().handle);
  request.set_current_graph_version(graph_version_);
  *request.mutable_graph_def() = scope_.ToGraphDef();
  const Graph& graph = *scope_.graph();
  for (size_t i = changes_sent_; i < graph.changed_ops().size(); ++i) {
    const int id = graph.changed_ops()[i];
    if (id >= nodes_sent_) continue;
    return errors::FailedPrecondition("Operation '", graph.node(id)->name(),
                                      "' was changed, by a gradient through it, after the session got it. Build ",
                                      "gradients before the session, or create a new session.");
  }
  // Nodes are exported in order of creation, so those already sent come first.
  int known = 0;
  for (int id = 0; id < nodes_sent_; ++id) known += graph.node(id) != nullptr;
  request.mutable_graph_def()->mutable_node()->DeleteSubrange(0, known);
  RETURN_IF_ERROR(master_->ExtendSession({.deadline = MonotonicNow() + options_.call_timeout}, request, &response));
  graph_version_ = response.new_graph_version();
  changes_sent_ = graph.changed_ops().size();
  nodes_sent_.store(node_ids, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status MasterConnection::WithLine(const absl::Status& status) const {
  const std::optional<ErrorOrigin> origin = OriginOf(status);
  if (status.ok() || !origin.has_value()) return status;
  const SourceLine line = scope_.LineOf(origin->node);
  if (!line.known()) return status;
  absl::Status located(status.code(), absl::StrCat(status.message(), " [node built at ", line.ToString(), "]"));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { located.SetPayload(type, payload); });
  return located;
}

absl::Status MasterConnection::Replace(const Opened& lost) {
  MutexLock lock(mu_);
  return ReplaceLocked(lost);
}

absl::Status MasterConnection::ReplaceLocked(const Opened& lost) {
  if (closed_) return errors::Aborted("Session ", lost.handle, " was closed by its client");
  if (Current().generation != lost.generation) return absl::OkStatus();
  RETURN_IF_ERROR(
      Annotate(Create(), absl::StrCat("The master no longer knows session ", lost.handle, ". Opening a new one")));
  WEIR_LOG(WARNING).With("lost", lost.handle).With("session", Current().handle)
      << "the master no longer knew the session and got its graph again";
  return absl::OkStatus();
}

absl::Status MasterConnection::Close() {
  {
    MutexLock lock(mu_);
    if (closed_) return absl::OkStatus();
    closed_ = true;
  }
  tensorflow::CloseSessionRequest request;
  tensorflow::CloseSessionResponse response;
  request.set_session_handle(Current().handle);
  const absl::Status closed = master_->CloseSession({.deadline = MonotonicNow() + kCloseTimeout}, request, &response);
  return IsSessionLost(closed, request.session_handle()) ? absl::OkStatus() : closed;
}

}  // namespace weir
