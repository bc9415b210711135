// LibraryPlanner, with convolutions as its problems.
#include <map>
#include <set>

#include "core/gpu/gpu_capture.h"
#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "kernels/convolution/gpu/simulated_convolutions.h"

namespace weir {
namespace {

class FakePlan : public ConvolutionPlan {
 public:
  FakePlan(const ConvolutionProblem& problem, LibraryRecipe recipe, size_t workspace)
      : problem_(problem), recipe_(std::move(recipe)), workspace_(workspace) {}
  const ConvolutionProblem& problem() const override { return problem_; }
  const LibraryRecipe& recipe() const override { return recipe_; }
  size_t workspace_bytes() const override { return workspace_; }
  absl::Status Enqueue(GpuStream&, const GpuConvolutionBuffers&, void*) override { return absl::OkStatus(); }

 private:
  const ConvolutionProblem problem_;
  const LibraryRecipe recipe_;
  const size_t workspace_;
};

// Engine i wants i KiB of workspace.
class FakeLibrary : public ConvolutionLibrary {
 public:
  const std::string& identity() const override { return identity_; }
  std::vector<bool> Layouts(const ConvolutionProblem&) const override { return {false, true}; }
  absl::StatusOr<std::vector<LibraryRecipe>> Propose(const ConvolutionProblem& problem) override {
    ++num_proposed;
    std::vector<LibraryRecipe> recipes;
    for (const int64_t engine : problem.channels_first ? in_nchw : in_nhwc) recipes.push_back({.engine = engine});
    return recipes;
  }
  absl::StatusOr<std::shared_ptr<ConvolutionPlan>> Make(const ConvolutionProblem& problem,
                                                        const LibraryRecipe& recipe) override {
    ++num_made;
    if (broken.count(recipe.engine) != 0) return errors::Unimplemented("engine ", recipe.engine, " is broken");
    return std::make_shared<FakePlan>(problem, recipe, static_cast<size_t>(recipe.engine) << 10);
  }

  std::vector<int64_t> in_nhwc, in_nchw;
  std::set<int64_t> broken;
  int num_proposed = 0, num_made = 0;

 private:
  const std::string identity_ = "fake";
};

// What every measurement tells is said before.
class FakeTimer : public GpuTimer {
 public:
  explicit FakeTimer(std::optional<absl::Duration>* elapsed) : elapsed_(elapsed) {}
  absl::Status Start(GpuStream*) override { return absl::OkStatus(); }
  absl::Status Stop(GpuStream*) override {
    told_ = *elapsed_;
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<absl::Duration>> Elapsed() override { return told_; }

 private:
  std::optional<absl::Duration>* const elapsed_;
  std::optional<absl::Duration> told_;
};

class ConvolutionPlannerTest : public testing::Test {
 protected:
  ConvolutionPlannerTest() {
    problem_.dtype = DT_FLOAT;
    problem_.batch = 2;
    problem_.in_channels = problem_.out_channels = 4;
  }
  void Start(GpuMathSettings settings = {}) {
    std::shared_ptr<PlanCache> cache;
    if (!settings.plan_cache.empty()) {
      cache = std::make_shared<PlanCache>(files_, settings.plan_cache, library_->identity());
    }
    work_queue_ = WorkQueue::Create({.compute_threads = 1});
    planner_ = std::make_unique<ConvolutionPlanner>(
        ConvolutionPlanner::Options{.library = library_,
                                    .settings = settings,
                                    .new_timer = [this]() -> absl::StatusOr<std::unique_ptr<GpuTimer>> {
                                      return std::make_unique<FakeTimer>(&elapsed_);
                                    },
                                    .cache = cache,
                                    .work_queue = work_queue_.get()});
  }
  // Joins what writes the cache.
  void Stop() {
    planner_.reset();
    work_queue_.reset();
  }
  // The engines that `calls` calls ran, which took as long as `milliseconds` says.
  std::vector<int64_t> Run(int calls, std::map<int64_t, int> milliseconds = {}) {
    std::vector<int64_t> engines;
    for (int i = 0; i < calls; ++i) {
      const absl::StatusOr<bool> is_done = planner_->Run(problem_, *stream_, [&](ConvolutionPlan& plan) {
        if (const absl::Status status = status_of_[plan.recipe().engine]; !status.ok()) return status;
        engines.push_back(plan.recipe().engine);
        layout_ = plan.problem().channels_first;
        elapsed_ = absl::Milliseconds(milliseconds[plan.recipe().engine]);
        return absl::OkStatus();
      });
      EXPECT_THAT(is_done, IsOk());
      if (is_done.ok() && !*is_done) engines.push_back(-1);
    }
    return engines;
  }

  SimulatedGpu gpu_{SimulatedGpu::Options()};
  const std::unique_ptr<GpuStream> stream_ = *gpu_.CreateStream("compute");
  const std::shared_ptr<FileSystem> files_ = NewMemoryFileSystem();
  const std::shared_ptr<FakeLibrary> library_ = std::make_shared<FakeLibrary>();
  ConvolutionProblem problem_;
  std::map<int64_t, absl::Status> status_of_;
  std::optional<absl::Duration> elapsed_;
  std::optional<bool> layout_;
  std::unique_ptr<WorkQueue> work_queue_;
  std::unique_ptr<ConvolutionPlanner> planner_;
};

TEST_F(ConvolutionPlannerTest, MeasuresWhatIsProposedAndKeepsTheFastest) {
  library_->in_nhwc = {3, 5};
  Start();
  EXPECT_THAT(Run(10, {{3, 9}, {5, 7}}), testing::ElementsAre(3, 3, 3, 3, 5, 5, 5, 5, 5, 5));
  EXPECT_EQ(library_->num_proposed, 1);
  EXPECT_EQ(library_->num_made, 2);
}

TEST_F(ConvolutionPlannerTest, WithoutAutotuneTheFirstProposalIsTaken) {
  library_->in_nhwc = {3, 5};
  Start({.autotune = false});
  EXPECT_THAT(Run(3, {{3, 9}, {5, 7}}), testing::ElementsAre(3, 3, 3));
}

TEST_F(ConvolutionPlannerTest, WhatIsDeterministicDependsOnNoMeasurement) {
  library_->in_nhwc = {3, 5};
  Start({.deterministic = true, .plan_cache = "plans"});
  EXPECT_THAT(Run(9, {{3, 9}, {5, 7}}), testing::Each(3));
  Stop();
  EXPECT_FALSE(files_->Exists("plans"));
}

TEST_F(ConvolutionPlannerTest, TheOtherLayoutIsTriedWhereOneHasNoPlan) {
  library_->in_nhwc = {1, 2};
  library_->in_nchw = {7};
  library_->broken = {1, 2};
  Start();
  EXPECT_THAT(Run(2), testing::ElementsAre(7, 7));
  EXPECT_EQ(layout_, true);
}

TEST_F(ConvolutionPlannerTest, WhatFindsOutLateThatItCannotIsDropped) {
  library_->in_nhwc = {1, 2};
  status_of_[1] = errors::Unimplemented("not for these pointers");
  Start();
  EXPECT_THAT(Run(2), testing::ElementsAre(2, 2));
}

TEST_F(ConvolutionPlannerTest, WithoutAPlanTheCallerComputes) {
  Start();
  EXPECT_THAT(Run(2), testing::ElementsAre(-1, -1));
  library_->in_nhwc = {1};
  status_of_[1] = errors::Unimplemented("never");
  problem_.batch = 3;
  EXPECT_THAT(Run(2), testing::ElementsAre(-1, -1));
}

TEST_F(ConvolutionPlannerTest, WithoutALibraryTheCallerComputes) {
  ConvolutionPlanner planner({});
  const auto never = [](ConvolutionPlan&) { return errors::Internal("there is no plan"); };
  ASSERT_OK_AND_ASSIGN(const bool is_done, planner.Run(problem_, *stream_, never));
  EXPECT_FALSE(is_done);
}

TEST_F(ConvolutionPlannerTest, WhereMemoryIsShortAPlanThatWantsLessIsUsed) {
  library_->in_nhwc = {9, 8, 0};
  status_of_[9] = status_of_[8] = errors::ResourceExhausted("no memory");
  Start();
  EXPECT_THAT(Run(2), testing::ElementsAre(0, 0));
  status_of_.clear();
  EXPECT_THAT(Run(2), testing::ElementsAre(0, 0));  // to find that there is none takes its time
}

TEST_F(ConvolutionPlannerTest, WhereMemoryIsShortAndASmallerPlanFailsTheNextIsUsed) {
  library_->in_nhwc = {9, 8, 4};
  status_of_[9] = errors::ResourceExhausted("no memory");
  status_of_[8] = errors::Unimplemented("not for these pointers");
  Start();
  EXPECT_THAT(Run(2), testing::ElementsAre(4, 4));
  status_of_[4] = status_of_[8];
  problem_.batch = 3;
  const auto run = [this](ConvolutionPlan& plan) { return status_of_[plan.recipe().engine]; };
  EXPECT_THAT(planner_->Run(problem_, *stream_, run), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(ConvolutionPlannerTest, WantOfMemoryIsAnErrorWhereNoPlanWantsLess) {
  library_->in_nhwc = {9};
  Start();
  const auto run = [](ConvolutionPlan&) { return errors::ResourceExhausted("no memory"); };
  EXPECT_THAT(planner_->Run(problem_, *stream_, run), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(ConvolutionPlannerTest, ProblemsThatWereLongNotUsedAreForgotten) {
  library_->in_nhwc = {3};
  Start();
  const auto run_batch = [this](size_t batch) {
    problem_.batch = static_cast<int64_t>(batch);
    Run(1);
  };
  for (size_t batch = 1; batch <= ConvolutionPlanner::kMostProblems; ++batch) run_batch(batch);
  run_batch(1);
  run_batch(ConvolutionPlanner::kMostProblems + 1);  // in place of 2
  const int proposed = library_->num_proposed;
  run_batch(1);
  EXPECT_EQ(library_->num_proposed, proposed);
  run_batch(2);
  EXPECT_EQ(library_->num_proposed, proposed + 1);
}

TEST_F(ConvolutionPlannerTest, OtherErrorsAreTheCallers) {
  library_->in_nhwc = {1, 2};
  Start();
  const auto run = [](ConvolutionPlan&) { return errors::Internal("the device broke"); };
  EXPECT_THAT(planner_->Run(problem_, *stream_, run), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(ConvolutionPlannerTest, NothingIsMeasuredWhileAStreamCaptures) {
  library_->in_nhwc = {3, 5};
  Start();
  ASSERT_THAT(stream_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(Run(9, {{3, 9}, {5, 7}}), testing::Each(3));
  ASSERT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_THAT(Run(8, {{3, 9}, {5, 7}}), testing::ElementsAre(3, 3, 3, 3, 5, 5, 5, 5));
}

// Code that a library generated goes with its plan, and a graph would launch what is no more.
TEST_F(ConvolutionPlannerTest, APlanThatWasCapturedIsKeptWithTheGraph) {
  library_->in_nhwc = {3};
  Start();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<GpuDevice> gpu,
                       GpuDevice::Create(std::make_shared<SimulatedGpu>(SimulatedGpu::Options()), work_queue_.get(),
                                         {.task = *DeviceName::Parse("/job:worker/replica:0/task:0"),
                                          .config = {.memory_limit = 1 << 20, .allow_growth = true}}));
  std::weak_ptr<const void> plan;
  {
    GpuMemoryPool pool(&gpu->memory(), &gpu->compute(), "the graph");
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<GpuCapture> capture, GpuCapture::Begin(*gpu, pool));
    Run(1);
    ASSERT_THAT(capture->kept(), testing::SizeIs(1));
    plan = capture->kept()[0];
    planner_.reset();
    EXPECT_FALSE(plan.expired());
  }
  EXPECT_TRUE(plan.expired());
}

TEST_F(ConvolutionPlannerTest, AChoiceIsKeptForTheNextProcess) {
  library_->in_nhwc = {3, 5};
  Start({.plan_cache = "plans"});
  Run(9, {{3, 9}, {5, 7}});
  Stop();
  library_->num_proposed = library_->num_made = 0;
  Start({.plan_cache = "plans"});
  EXPECT_THAT(Run(3), testing::ElementsAre(5, 5, 5));
  EXPECT_EQ(library_->num_proposed, 0);
  EXPECT_EQ(library_->num_made, 1);
}

TEST_F(ConvolutionPlannerTest, AKeptChoiceThatDoesNotWorkIsMadeAgain) {
  library_->in_nhwc = {3, 5};
  Start({.plan_cache = "plans"});
  Run(9, {{3, 9}, {5, 7}});
  Stop();
  library_->broken = {5};
  Start({.plan_cache = "plans"});
  EXPECT_THAT(Run(1), testing::ElementsAre(3));
  Stop();
  library_->broken = {};
  status_of_[5] = errors::Unimplemented("not today");
  Start({.plan_cache = "plans"});
  EXPECT_THAT(Run(1), testing::ElementsAre(3));
}

TEST_F(ConvolutionPlannerTest, WhereMemoryIsShortForAKeptChoiceOthersAreProposed) {
  library_->in_nhwc = {9, 2};
  Start({.plan_cache = "plans"});
  Run(10, {{9, 1}, {2, 5}});
  Stop();
  status_of_[9] = errors::ResourceExhausted("no memory");
  Start({.plan_cache = "plans"});
  EXPECT_THAT(Run(3), testing::ElementsAre(2, 2, 2));
}

TEST(SimulatedConvolutionsTest, KeepWithinTheirSettings) {
  ConvolutionProblem problem;
  problem.dtype = DT_FLOAT;
  problem.batch = problem.in_channels = problem.out_channels = 1;
  problem.out[0] = problem.out[1] = 4;
  const auto proposed = [&problem](const GpuMathSettings& settings) {
    return NewSimulatedConvolutions(GpuProperties(), settings)->Propose(problem)->size();
  };
  EXPECT_EQ(proposed({}), 2);
  EXPECT_EQ(proposed({.deterministic = true}), 1);
  EXPECT_EQ(proposed({.workspace_limit = 63}), 1);
  EXPECT_EQ(proposed({.workspace_limit = 64}), 2);
  problem.dtype = DT_DOUBLE;
  EXPECT_EQ(proposed({}), 0);
}

}  // namespace
}  // namespace weir
