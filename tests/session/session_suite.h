// The fixture of the suites: one graph, one session, on each backend in turn.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/session_fixture_testing.h"
#include "core/testing.h"
#include "tests/session/session_backend.h"

namespace weir {

// A suite derives from this, uses TEST_P, and ends with WEIR_SESSION_SUITE(its name): it then runs on every backend.
class SessionSuite : public ::testing::TestWithParam<BackendKind>, protected SessionFixture {
 protected:
  using SessionFixture::Run;

  ~SessionSuite() override { session_.reset(); }
  void SetUp() override;
  absl::StatusOr<std::unique_ptr<Session>> Open() override { return Connect(); }

  // The scope on the first (0) or second (1) device.
  Scope On(int device) const { return scope_.WithDevice(device_name(device)); }
  std::string device_name(int device) const { return backend_->devices()[device]; }

  // As session(), with a graph that may be wrong.
  absl::StatusOr<std::unique_ptr<Session>> Connect(SessionOptions options = {}) {
    return backend_->Connect(scope_, std::move(options));
  }
  void RunOp(const Operation& target) { Run({}, {}, {target}); }
  absl::Status ErrorOf(const FeedList& feeds, const OutputList& fetches, const std::vector<Operation>& targets = {}) {
    return session().Run(feeds, fetches, targets).status();
  }
  // A session at the master itself, with the graph as it is, variables without values. Its handle.
  std::string CreateRawSession();

  std::unique_ptr<SessionBackend> backend_;
};

#define WEIR_SESSION_SUITE(suite)                                        \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(BackendKinds()), \
                           [](const auto& info) { return BackendName(info.param); })

}  // namespace weir
