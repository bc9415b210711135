#include "tests/gpu/gpu_session_testing.h"

#include "tests/gpu/local_session.h"

namespace weir {

GpuSessionTest::~GpuSessionTest() {
  session_.reset();
  if (expects_races_) return;
  for (const auto& gpu : gpus_) EXPECT_THAT(gpu->Races(), testing::IsEmpty());
}

absl::StatusOr<std::unique_ptr<Session>> GpuSessionTest::Open() {
  if (platform_.has_value()) return LocalSessionOn(*platform_, scope_, options_);
  GpuPlatform platform;
  platform.count = [this] { return num_gpus_; };
  platform.open = [this](int id) -> absl::StatusOr<std::shared_ptr<GpuRuntime>> {
    gpus_.push_back(std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.seed = gpus_.size() + 1}));
    if (wrap_ != nullptr) return wrap_(gpus_.back());
    return gpus_.back();
  };
  return LocalSessionOn(platform, scope_, options_);
}

}  // namespace weir
