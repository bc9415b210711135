// Tests of a GPU's lane in the timeline of a traced step.
#include <unistd.h>

#include <chrono>

#include "absl/strings/match.h"
#include "core/gpu/gpu_activities.h"
#include "core/mutex.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/gpu_session_testing.h"
#include "tests/gpu/plain_runtime.h"

namespace weir {
namespace {

int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What was launched, as if each kernel ran 1000 ns after the call, for 500 ns.
class Launches {
 public:
  void Add(const char* kernel) {
    MutexLock lock(mu_);
    GpuActivity activity;
    activity.name = kernel;
    activity.enqueued_nanos = SteadyNanos();
    activity.thread = static_cast<uint32_t>(::gettid());
    activity.start_nanos = activity.enqueued_nanos + 1000;
    activity.end_nanos = activity.start_nanos + 500;
    activity.stream = 3;
    activities_.push_back(std::move(activity));
  }
  std::vector<GpuActivity> Take() {
    MutexLock lock(mu_);
    return std::exchange(activities_, {});
  }

 private:
  Mutex mu_;
  std::vector<GpuActivity> activities_ GUARDED_BY(mu_);
};

class TellingStream : public PlainStream {
 public:
  TellingStream(std::unique_ptr<GpuStream> stream, GpuRuntime* runtime, Launches* launches)
      : PlainStream(std::move(stream), runtime), launches_(launches) {}
  absl::Status Launch(const GpuKernel& kernel, absl::Span<const char> args,
                      absl::Span<const GpuAccess> accesses) override {
    launches_->Add(kernel.name);
    return PlainStream::Launch(kernel, args, accesses);
  }

 private:
  Launches* const launches_;
};

class TellingRuntime : public PlainRuntime, public GpuActivitySource {
 public:
  using PlainRuntime::PlainRuntime;
  absl::StatusOr<std::unique_ptr<GpuActivityRecording>> RecordActivities() override {
    if (refuses_) return errors::Unavailable("Somebody else traces");
    launches_.Take();
    return std::make_unique<Recording>(&launches_);
  }
  bool refuses_ = false;

 private:
  class Recording : public GpuActivityRecording {
   public:
    explicit Recording(Launches* launches) : launches_(launches) {}
    absl::StatusOr<std::vector<GpuActivity>> Stop() override { return launches_->Take(); }

   private:
    Launches* const launches_;
  };
  std::unique_ptr<GpuStream> Wrap(std::unique_ptr<GpuStream> stream) override {
    return std::make_unique<TellingStream>(std::move(stream), this, &launches_);
  }
  Launches launches_;
};

class ActivityTraceTest : public GpuSessionTest {
 protected:
  ActivityTraceTest() {
    wrap_ = [this](std::shared_ptr<SimulatedGpu> gpu) {
      auto telling = std::make_shared<TellingRuntime>(std::move(gpu));
      telling->refuses_ = refuses_;
      return telling;
    };
  }
  // Of a step with one kernel that moves elements.
  std::vector<tensorflow::NodeExecStats> Lane() {
    const Output x = ops::Placeholder(Gpu(), DT_FLOAT);
    const Output y = ops::Reshape(Gpu().WithName("shaped"),
                                  ops::Transpose(Gpu().WithName("turned"), x, Tensor::Vector<int32_t>({1, 0})),
                                  Tensor::Vector<int32_t>({-1}));
    tensorflow::RunOptions options;
    options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
    tensorflow::RunMetadata metadata;
    EXPECT_THAT(session().Run({{x, AsTensor<float>({1, 2, 3, 4}, {2, 2})}}, {y}, {}, options, &metadata), IsOk());
    std::vector<tensorflow::NodeExecStats> lane;
    for (const auto& device : metadata.step_stats().dev_stats()) {
      if (!absl::EndsWith(device.device(), "/device:GPU:0/stream:all")) continue;
      lane.insert(lane.end(), device.node_stats().begin(), device.node_stats().end());
    }
    return lane;
  }
  bool refuses_ = false;
};

TEST_F(ActivityTraceTest, EntriesAreNamedAfterTheNodesThatAskedForThem) {
  const std::vector<tensorflow::NodeExecStats> lane = Lane();
  ASSERT_EQ(lane.size(), 1);
  EXPECT_EQ(lane[0].node_name(), "turned:Transpose");
  EXPECT_THAT(lane[0].timeline_label(), testing::HasSubstr("Strided"));
  EXPECT_EQ(lane[0].thread_id(), 3);
  EXPECT_EQ(lane[0].op_end_rel_nanos(), 500);
}

// The device under this one has no timers for its streams either.
TEST_F(ActivityTraceTest, ARefusalLeavesTheLaneToTimers) {
  refuses_ = true;
  EXPECT_THAT(Lane(), testing::IsEmpty());
}

}  // namespace
}  // namespace weir
