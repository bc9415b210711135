#include "tests/session/session_suite.h"

#include "absl/time/clock.h"
#include "core/clock.h"

namespace weir {

void SessionSuite::SetUp() {
  auto backend = SessionBackend::Create(GetParam());
  ASSERT_THAT(backend, IsOk());
  backend_ = *std::move(backend);
}

std::string SessionSuite::CreateRawSession() {
  EXPECT_THAT(scope_.status(), IsOk());
  tensorflow::CreateSessionRequest request;
  tensorflow::CreateSessionResponse response;
  *request.mutable_graph_def() = scope_.ToGraphDef();
  *request.mutable_config() = backend_->config();
  EXPECT_THAT(backend_->master()->CreateSession({.deadline = MonotonicNow() + absl::Seconds(30)}, request, &response),
              IsOk());
  return response.session_handle();
}

}  // namespace weir
