// A session that forwards to another.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/session.h"
#include "tensorflow/core/protobuf/master.pb.h"

namespace weir {

// For tests that intercept calls by overriding methods.
class ForwardingSession : public Session {
 public:
  explicit ForwardingSession(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  using Session::Run;
  absl::StatusOr<std::vector<Tensor>> Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                          const std::vector<Operation>& targets, const RunOptions& options,
                                          tensorflow::RunMetadata* metadata) override {
    return session_->Run(feeds, fetches, targets, options, metadata);
  }
  absl::StatusOr<std::vector<Tensor>> RunNamed(const NamedFeedList& feeds, const std::vector<std::string>& fetches,
                                               const std::vector<std::string>& targets, const RunOptions& options,
                                               tensorflow::RunMetadata* metadata) override {
    return session_->RunNamed(feeds, fetches, targets, options, metadata);
  }
  absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(const std::vector<Output>& feeds,
                                                         const std::vector<Output>& fetches,
                                                         const std::vector<Operation>& targets) override {
    return session_->MakeCallable(feeds, fetches, targets);
  }
  absl::StatusOr<std::vector<DeviceInfo>> ListDevices() override { return session_->ListDevices(); }
  absl::Status Close() override { return session_->Close(); }

 protected:
  std::unique_ptr<Session> session_;
};

}  // namespace weir
