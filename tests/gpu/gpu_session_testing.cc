#include "tests/gpu/gpu_session_testing.h"

#include <cstdlib>

#include "client/variables.h"
#include "tests/gpu/local_session.h"

namespace weir {

GpuSessionTest::~GpuSessionTest() {
  session_.reset();
  if (expects_races_) return;
  for (const auto& gpu : gpus_) EXPECT_THAT(gpu->Races(), testing::IsEmpty());
}

absl::StatusOr<std::unique_ptr<Session>> GpuSessionTest::Connect() {
  GpuPlatform platform;
  platform.count = [this] { return num_gpus_; };
  platform.open = [this](int id) -> absl::StatusOr<std::shared_ptr<GpuRuntime>> {
    gpus_.push_back(std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.seed = gpus_.size() + 1}));
    if (wrap_ != nullptr) return wrap_(gpus_.back());
    return gpus_.back();
  };
  return LocalSessionOn(platform, scope_, options_);
}

Session& GpuSessionTest::session() {
  if (session_ != nullptr) return *session_;
  const bool has_variables = !scope_.variables().empty();
  const Operation initialize = has_variables ? InitializeAll(scope_) : Operation();
  auto session = Connect();
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

std::vector<Tensor> GpuSessionTest::Run(const FeedList& feeds, const OutputList& fetches,
                                        const std::vector<Operation>& targets) {
  auto result = session().Run(feeds, fetches, targets);
  EXPECT_THAT(result, IsOk());
  return result.ok() ? *std::move(result) : std::vector<Tensor>(fetches.size());
}

}  // namespace weir
