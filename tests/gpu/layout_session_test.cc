// Tests that sessions choose the layout of images by the measurements of earlier sessions.
#include "client/gradients.h"
#include "core/files/scratch_directory_testing.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/local_session.h"
#include "tests/gpu/rewritten_session_testing.h"

namespace weir {
namespace {

class LayoutSessionTest : public RewrittenSessionTest {
 protected:
  LayoutSessionTest() {
    options_.config->mutable_graph_options()->mutable_rewrite_options()->set_layout_optimizer(
        tensorflow::RewriterConfig::ON);
    const Scope scope = Gpu();
    image_ = ops::Placeholder(scope, DT_FLOAT);
    const Output image = ops::EnsureShape(scope, image_, TensorShape({2, 6, 6, 3}));
    const Output filter = ops::Const(scope, Scrambled({3, 3, 3, 4}, 2), DT_FLOAT);
    const Output scale = ops::Const(scope, Scrambled({4}, 3), DT_FLOAT);
    const Tensor none(DT_FLOAT, TensorShape({0}));
    const Output images = ops::Conv2D(scope, image, filter, {1, 2, 1, 1}, "SAME");
    const Output y = ops::Relu(scope, ops::FusedBatchNormV3(scope, images, scale, scale, none, none).y);
    const Output loss = ops::Mul(scope, y, ops::Const(scope, Scrambled({2, 3, 6, 4}, 4), DT_FLOAT));
    fetches_ = {y};
    for (const Gradient& gradient : Gradients(scope, {loss}, {image_, filter, scale})) {
      fetches_.push_back(gradient.values);
    }
  }

  // A session as of a process of its own, in which each plan takes as long as `elapsed` says. Whether its images had
  // channels first.
  bool RunsChannelsFirst(absl::Duration elapsed) {
    gpus_.clear();
    GpuPlatform platform;
    platform.count = [] { return 1; };
    platform.open = [&](int) -> absl::StatusOr<std::shared_ptr<GpuRuntime>> {
      gpus_.push_back(std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.bytes_per_second = 1e12}));
      gpus_.back()->SetElapsedTime(elapsed);
      return gpus_.back();
    };
    platform.math = [this] { return GpuMathSettings{.plan_cache = directory_.path()}; };
    auto session = LocalSessionOn(platform, scope_, options_);
    EXPECT_THAT(session, IsOk());
    session_ = *std::move(session);
    std::string graphs;
    for (int i = 0; i < 12; ++i) {
      const std::vector<Tensor> values = RunTraced({{image_, Scrambled({2, 6, 6, 3}, 1)}}, fetches_, {}, &graphs);
      if (first_.empty()) first_ = values;
      for (size_t k = 0; k < values.size(); ++k) ExpectTensorNear(values[k], first_[k], 1e-4, 1e-4, absl::StrCat(k));
    }
    session_.reset();
    return graphs.find("NCHW\"") != std::string::npos;
  }

  const ScratchDirectory directory_;
  Output image_;
  OutputList fetches_;
  std::vector<Tensor> first_;
};

TEST_F(LayoutSessionTest, TheFirstIsConvertedTheSecondIsNotTheThirdDecides) {
  EXPECT_TRUE(RunsChannelsFirst(absl::Milliseconds(10)));
  EXPECT_FALSE(RunsChannelsFirst(absl::Milliseconds(20)));
  EXPECT_TRUE(RunsChannelsFirst(absl::Milliseconds(99)));
}

TEST_F(LayoutSessionTest, WhatIsNotFasterWithChannelsFirstStays) {
  EXPECT_TRUE(RunsChannelsFirst(absl::Milliseconds(10)));
  EXPECT_FALSE(RunsChannelsFirst(absl::Milliseconds(10)));
  EXPECT_FALSE(RunsChannelsFirst(absl::Milliseconds(1)));
}

TEST_F(LayoutSessionTest, TransposesCount) {
  EXPECT_TRUE(RunsChannelsFirst(absl::Nanoseconds(1000)));
  EXPECT_FALSE(RunsChannelsFirst(absl::Nanoseconds(1500)));
  EXPECT_FALSE(RunsChannelsFirst(absl::Nanoseconds(1500)));
}

}  // namespace
}  // namespace weir
