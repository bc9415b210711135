// Hooks that write summaries and profiles and run evaluations; the tests read the files back.
#include "client/training/hooks.h"

#include <filesystem>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/training/chrome_trace.h"
#include "client/training_loop.h"
#include "core/checkpoint/tf_record.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// total += 2 with each step.
class HooksTest : public ::testing::Test {
 protected:
  HooksTest() {
    step_ = GlobalStep(scope_);
    total_ = ResourceVariable::Make(scope_.WithName("total"), TensorShape({2}), DT_FLOAT, initializers::Zeros());
    const Operation add = total_.AssignAdd(scope_, scope_.Constant(AsTensor<float>({1, 2})));
    options_.train = step_.AssignAdd(scope_.WithControlDependencies({add}), int64_t{1});
    options_.global_step = step_;
    options_.fetches = {ops::Cast(scope_, step_.value(), DT_FLOAT)};
    options_.max_steps = 6;
  }
  absl::Status Train(std::unique_ptr<TrainingHook> hook) {
    options_.hooks = {std::move(hook)};
    TrainingLoop loop(scope_, options_);
    return loop.Run(*Session::Local(scope_).value()).status();
  }
  // The events of the only file in the directory, but its version.
  std::vector<tensorflow::Event> Events() {
    std::vector<tensorflow::Event> events;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      const std::string content = ReadFileToString(files_, entry.path().string()).value();
      uint64_t length = 0;
      for (size_t at = 0; at + kTfRecordHeader < content.size(); at += kTfRecordHeader + length + kTfRecordFooter) {
        EXPECT_TRUE(ReadTfRecordHeader(content.substr(at, kTfRecordHeader), &length));
        tensorflow::Event event;
        EXPECT_TRUE(event.ParseFromString(content.substr(at + kTfRecordHeader, length)));
        if (event.file_version().empty()) events.push_back(event);
      }
    }
    return events;
  }

  Scope scope_ = Scope::NewRoot();
  ResourceVariable step_, total_;
  TrainingLoopOptions options_;
  ScratchDirectory directory_;
  const std::shared_ptr<FileSystemRegistry> registry_ = FileSystemRegistry::Default();
  FileSystem* const files_ = registry_->Find("/").value();
};

TEST_F(HooksTest, SummariesAreEvents) {
  ASSERT_THAT(Train(SummaryHook({.directory = directory_.path(),
                                 .every = 3,
                                 .scalars = {{"steps", 0}},
                                 .histograms = {{"total", total_.value()}}})),
              IsOk());
  const std::vector<tensorflow::Event> events = Events();
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[1].step(), 6);
  const tensorflow::Summary& summary = events[1].summary();
  ASSERT_EQ(summary.value_size(), 3);
  EXPECT_EQ(summary.value(0).tag(), "steps");
  EXPECT_EQ(summary.value(0).simple_value(), 5);  // read before the step
  EXPECT_EQ(summary.value(1).tag(), "global_step/sec");
  EXPECT_EQ(summary.value(2).tag(), "total");
  EXPECT_EQ(summary.value(2).histo().num(), 2);
  EXPECT_EQ(summary.value(2).histo().min(), 6);
  EXPECT_EQ(summary.value(2).histo().max(), 12);
}

TEST_F(HooksTest, ASummaryWithoutItsFetchIsAnError) {
  EXPECT_THAT(Train(SummaryHook({.directory = directory_.path(), .every = 1, .scalars = {{"loss", 3}}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'loss'")));
}

TEST_F(HooksTest, AnIntervalOfZeroIsAnError) {
  EXPECT_THAT(Train(ProfileHook({.directory = directory_.path(), .every = 0})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 or more")));
}

TEST_F(HooksTest, ProfilesAreTraces) {
  ASSERT_THAT(Train(ProfileHook({.directory = directory_.path(), .every = 4})), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files_->List(directory_.path()));
  EXPECT_THAT(names, ElementsAre("timeline-4.json"));
  ASSERT_OK_AND_ASSIGN(const std::string trace, ReadFileToString(files_, directory_.Path("timeline-4.json")));
  EXPECT_THAT(trace, HasSubstr("AssignAddVariableOp"));
  EXPECT_THAT(trace, HasSubstr("CPU:0"));
}

TEST_F(HooksTest, TracesAreJson) {
  tensorflow::StepStats stats;
  tensorflow::DeviceStepStats* const device = stats.add_dev_stats();
  device->set_device("/device:CPU:0");
  tensorflow::NodeExecStats* const node = device->add_node_stats();
  node->set_node_name("a\"b");
  node->set_timeline_label("a\"b = MatMul(x, y)");
  node->set_all_start_micros(10);
  node->set_all_end_rel_micros(5);
  const std::string trace = ChromeTrace(stats);
  EXPECT_THAT(trace, ::testing::StartsWith("{\"traceEvents\":[\n"));
  EXPECT_THAT(trace, HasSubstr(R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"/device:CPU:0"}})"));
  EXPECT_THAT(trace, HasSubstr(R"({"ph":"X","pid":0,"tid":0,"ts":10,"dur":5,"name":"MatMul","args":{"node":"a\"b")"));
  EXPECT_THAT(trace, ::testing::EndsWith("\n]}\n"));
}

TEST_F(HooksTest, EvaluationsRunAtIntervalsAndAtTheEnd) {
  std::vector<int64_t> steps;
  const auto evaluate = [&](Session& session, int64_t step) -> absl::StatusOr<EvaluationResult> {
    ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.Run({total_.value()}));
    steps.push_back(step);
    return EvaluationResult{{"total", values[0].flat<float>()[0]}};
  };
  ASSERT_THAT(Train(EvaluationHook({.every = 4, .evaluate = evaluate, .directory = directory_.path()})), IsOk());
  EXPECT_THAT(steps, ElementsAre(4, 6));
  ASSERT_EQ(Events().size(), 2);
  EXPECT_EQ(Events()[0].summary().value(0).tag(), "total");
  EXPECT_EQ(Events()[0].summary().value(0).simple_value(), 4);
}

TEST_F(HooksTest, AnEvaluationMayStopTheLoop) {
  int evaluations = 0;
  const auto evaluate = [&](Session&, int64_t) -> absl::StatusOr<EvaluationResult> {
    ++evaluations;
    return EvaluationResult{};
  };
  const auto report = [](int64_t, const EvaluationResult&) -> absl::StatusOr<bool> { return true; };
  ASSERT_THAT(Train(EvaluationHook({.every = 2, .evaluate = evaluate, .report = report})), IsOk());
  EXPECT_EQ(evaluations, 1);
}

TEST_F(HooksTest, ALostTaskInAnEvaluationIsAWarning) {
  const auto evaluate = [](Session&, int64_t) -> absl::StatusOr<EvaluationResult> {
    return errors::Unavailable("task /job:ps/task:1 is gone");
  };
  EXPECT_THAT(Train(EvaluationHook({.every = 2, .evaluate = evaluate})), IsOk());
}

}  // namespace
}  // namespace weir
