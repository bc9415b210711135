// Base class of fixtures with one graph and one session.
#pragma once

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "client/ops.h"
#include "client/session.h"
#include "client/variables.h"
#include "core/testing.h"

namespace weir {

// Derived fixtures implement Open. Anything that the session runs on must outlive it: a fixture that owns it resets
// session_ first.
class SessionFixture {
 public:
  virtual ~SessionFixture() = default;

 protected:
  // Opens a session with the graph as it is, which may be invalid.
  virtual absl::StatusOr<std::unique_ptr<Session>> Open() = 0;

  // The session; the first call opens it and initialises the graph's variables. Aborts the test program on failure.
  Session& session() {
    if (session_ != nullptr) return *session_;
    const bool has_variables = !scope_.variables().empty();
    const Operation initialize = has_variables ? InitializeAll(scope_) : Operation();
    auto session = Open();
    if (!session.ok()) {
      ADD_FAILURE() << session.status();
      std::abort();  // no test can go on without a session
    }
    session_ = *std::move(session);
    if (has_variables) {
      EXPECT_THAT(session_->RunTargets({initialize}), IsOk());
    }
    return *session_;
  }
  // On an error, fails the test and returns uninitialised tensors.
  std::vector<Tensor> Run(const FeedList& feeds, const OutputList& fetches,
                          const std::vector<Operation>& targets = {}) {
    auto result = session().Run(feeds, fetches, targets);
    EXPECT_THAT(result, IsOk());
    return result.ok() ? *std::move(result) : std::vector<Tensor>(fetches.size());
  }
  Tensor Fetch(const Output& fetch) { return Run({}, {fetch})[0]; }

  Scope scope_ = Scope::NewRoot();
  std::unique_ptr<Session> session_;
};

}  // namespace weir
