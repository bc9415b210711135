// A Session over any MasterInterface.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "core/mutex.h"
#include "distribute/transport/master_interface.h"

namespace weir {

// Shares `master`; `keep_alive` (an in-process cluster, say) is released last, after closing the session. Thread-safe.
class MasterSessionClient : public Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<MasterInterface> master,
                                                         std::shared_ptr<void> keep_alive, const Scope& scope,
                                                         SessionOptions options);
  ~MasterSessionClient() override;

  using Session::Run;
  absl::StatusOr<std::vector<Tensor>> Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                          const std::vector<Operation>& targets,
                                          const tensorflow::RunOptions& run_options,
                                          tensorflow::RunMetadata* metadata) override;
  absl::StatusOr<std::vector<Tensor>> RunNamed(const NamedFeedList& feeds, const std::vector<std::string>& fetches,
                                               const std::vector<std::string>& targets,
                                               const tensorflow::RunOptions& run_options,
                                               tensorflow::RunMetadata* metadata) override;
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(const std::vector<Output>& feeds,
                                                         const std::vector<Output>& fetches,
                                                         const std::vector<Operation>& targets) override;
  absl::StatusOr<tensorflow::ListDevicesResponse> ListDevices() override;
  absl::Status Close() override;

 private:
  class CallableClient;
  MasterSessionClient(std::shared_ptr<MasterInterface> master, std::shared_ptr<void> keep_alive, const Scope& scope,
                      SessionOptions options);
  // Sends the nodes added to the scope since the last call.
  absl::Status ExtendIfNeeded();
  int64_t NextRequestId() { return next_request_id_.fetch_add(1, std::memory_order_relaxed); }

  const std::shared_ptr<void> keep_alive_;
  const std::shared_ptr<MasterInterface> master_;
  const Scope scope_;
  const SessionOptions options_;
  std::string handle_;
  std::atomic<int64_t> next_request_id_;

  Mutex mu_;
  std::atomic<int> nodes_sent_{0};
  size_t changes_sent_ GUARDED_BY(mu_) = 0;  // of Graph::changed_ops
  int64_t graph_version_ GUARDED_BY(mu_) = 0;
  bool closed_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
