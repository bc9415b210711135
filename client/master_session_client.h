// A Session over any MasterInterface.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/master_connection.h"
#include "client/session.h"

namespace weir {

// Shares `master`; `keep_alive` (an in-process cluster, say) is released last, after closing the session. Thread-safe.
// Outlives a restart of the master: see MasterConnection.
class MasterSessionClient : public Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<MasterInterface> master,
                                                         std::shared_ptr<void> keep_alive, const Scope& scope,
                                                         SessionOptions options);
  ~MasterSessionClient() override;

  using Session::Run;
  absl::StatusOr<std::vector<Tensor>> Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                          const std::vector<Operation>& targets, const RunOptions& run_options,
                                          tensorflow::RunMetadata* metadata) override;
  absl::StatusOr<std::vector<Tensor>> RunNamed(const NamedFeedList& feeds, const std::vector<std::string>& fetches,
                                               const std::vector<std::string>& targets, const RunOptions& run_options,
                                               tensorflow::RunMetadata* metadata) override;
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(const std::vector<Output>& feeds,
                                                         const std::vector<Output>& fetches,
                                                         const std::vector<Operation>& targets) override;
  absl::StatusOr<std::vector<DeviceInfo>> ListDevices() override;
  absl::Status Close() override;

 private:
  class CallableClient;
  explicit MasterSessionClient(std::shared_ptr<MasterConnection> connection) : connection_(std::move(connection)) {}

  const std::shared_ptr<MasterConnection> connection_;
};

}  // namespace weir
