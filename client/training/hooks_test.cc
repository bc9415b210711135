// Hooks that write summaries and profiles and run evaluations; the tests read the files back.
#include "client/training/hooks.h"

#include <filesystem>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/training/chrome_trace.h"
#include "client/training/step_profile.h"
#include "client/training_loop.h"
#include "core/checkpoint/tf_record.h"
#include "core/files/fault_injecting_file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tensorboard/hparams.pb.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/util/event.pb.h"
#include "xla/tsl/profiler/protobuf/xplane.pb.h"

namespace weir {
namespace {

using tensorflow::profiler::XSpace;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

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
  // The events of the files in the directory, but their versions. A file that ends within a record is read up to there.
  std::vector<tensorflow::Event> Events() {
    std::vector<tensorflow::Event> events;
    const std::vector<std::string> paths = files_->Glob(directory_.Path("events.*")).value();
    for (const std::string& path : paths) {
      const std::string content = ReadFileToString(files_, path).value();
      uint64_t length = 0;
      for (size_t at = 0; at + kTfRecordHeader < content.size(); at += kTfRecordHeader + length + kTfRecordFooter) {
        EXPECT_TRUE(ReadTfRecordHeader(content.substr(at, kTfRecordHeader), &length));
        if (at + kTfRecordHeader + length + kTfRecordFooter > content.size()) break;
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
  EXPECT_THAT(names, ElementsAre("plugins", "timeline-4.json"));
  ASSERT_OK_AND_ASSIGN(const std::string trace, ReadFileToString(files_, directory_.Path("timeline-4.json")));
  EXPECT_THAT(trace, HasSubstr("AssignAddVariableOp"));
  EXPECT_THAT(trace, HasSubstr("CPU:0"));
}

// Names of the events of a plane.
std::vector<std::string> EventNames(const tensorflow::profiler::XPlane& plane) {
  std::vector<std::string> names;
  for (const auto& line : plane.lines()) {
    for (const auto& event : line.events()) names.push_back(plane.event_metadata().at(event.metadata_id()).name());
  }
  return names;
}

TEST_F(HooksTest, ProfilesAreForTensorBoardToo) {
  ASSERT_THAT(Train(ProfileHook({.directory = directory_.path(), .every = 4})), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       ReadFileToString(files_, directory_.Path("plugins/profile/step-4/localhost-0.xplane.pb")));
  XSpace space;
  ASSERT_TRUE(space.ParseFromString(bytes));
  ASSERT_EQ(space.planes_size(), 1);
  EXPECT_EQ(space.planes(0).name(), "/host:CPU");
  const std::vector<std::string> names = EventNames(space.planes(0));
  EXPECT_THAT(names, ::testing::Contains("step 4"));
  EXPECT_THAT(names, ::testing::Contains(HasSubstr(":AssignAddVariableOp")));
}

TEST_F(HooksTest, AProfileHasAFileForEachTaskAndAPlaneForEachGpu) {
  tensorflow::StepStats stats;
  for (const char* name :
       {"/job:worker/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:1/device:GPU:0/stream:all",
        "/job:ps/replica:0/task:0/device:CPU:0"}) {
    tensorflow::DeviceStepStats* const device = stats.add_dev_stats();
    device->set_device(name);
    for (int64_t start : {2000, 1000}) {
      tensorflow::NodeExecStats* const node = device->add_node_stats();
      node->set_node_name("a/b");
      node->set_timeline_label("a/b = MatMul(x, y)");
      node->set_all_start_nanos(start);
      node->set_all_end_rel_nanos(500);
    }
  }
  const Profile profile = ProfileOfStep(stats, 7);
  ASSERT_THAT(profile, ElementsAre(::testing::Key("ps-0"), ::testing::Key("worker-1")));
  XSpace space;
  ASSERT_TRUE(space.ParseFromString(profile.at("worker-1").Serialize()));
  ASSERT_EQ(space.planes_size(), 2);
  EXPECT_EQ(space.planes(0).name(), "/device:GPU:0");
  EXPECT_THAT(EventNames(space.planes(0)), ElementsAre("a/b:MatMul", "a/b:MatMul"));
  const auto& line = space.planes(0).lines(0);
  EXPECT_EQ(line.timestamp_ns(), 1000);
  EXPECT_EQ(line.events(1).offset_ps(), 1'000'000);
  EXPECT_EQ(line.events(1).duration_ps(), 500'000);
  EXPECT_THAT(EventNames(space.planes(1)), ElementsAre("step 7", "a/b:MatMul", "a/b:MatMul"));
}

TEST_F(HooksTest, AProfileHasValidTimesForAnyStatistics) {
  tensorflow::StepStats stats;
  tensorflow::DeviceStepStats* const device = stats.add_dev_stats();
  device->set_device("nonsense");
  for (int64_t time : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    tensorflow::NodeExecStats* const node = device->add_node_stats();
    node->set_all_start_nanos(time);
    node->set_all_end_rel_nanos(time);
  }
  XSpace space;
  EXPECT_TRUE(space.ParseFromString(ProfileOfStep(stats, 1).at("localhost").Serialize()));
}

TEST_F(HooksTest, TheGraphAndTheStatisticsOfItsStepsAreEvents) {
  Tensor large(DT_FLOAT, TensorShape({10000}));
  for (int i = 0; i < 10000; ++i) large.data<float>()[i] = static_cast<float>(i);
  scope_.WithName("large").Constant(large);
  options_.hooks = {ProfileHook({.directory = directory_.path(), .every = 4}),
                    SummaryHook({.directory = directory_.path(), .every = 6, .graph = scope_})};
  TrainingLoop loop(scope_, options_);
  ASSERT_THAT(loop.Run(*Session::Local(scope_).value()), IsOk());
  const std::vector<tensorflow::Event> events = Events();
  ASSERT_EQ(events.size(), 3);
  tensorflow::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(events[0].graph_def()));
  EXPECT_EQ(graph.node_size(), scope_.ToGraphDef().node_size());
  EXPECT_LT(graph.ByteSizeLong(), 40000);
  EXPECT_EQ(events[1].tagged_run_metadata().tag(), "step 4");
  tensorflow::RunMetadata metadata;
  ASSERT_TRUE(metadata.ParseFromString(events[1].tagged_run_metadata().run_metadata()));
  EXPECT_GT(metadata.step_stats().dev_stats_size(), 0);
  EXPECT_EQ(events[2].step(), 6);
}

// 2 images of 2x2, 3 channels, in each step.
Output Images(const Scope& scope, const Output& step) {
  return ops::Mul(scope, ops::Fill(scope, Tensor::Vector<int32_t>({2, 2, 2, 3}), 0.1F), step);
}

TEST_F(HooksTest, ImagesAndSerializedSummariesAreOfTheirStep) {
  const Output step = options_.fetches[0];
  ASSERT_THAT(Train(SummaryHook({.directory = directory_.path(),
                                 .every = 2,
                                 .images = {{.tag = "pictures", .value = Images(scope_, step), .max_images = 2}},
                                 .summaries = {ops::ScalarSummary(scope_, "of_step", step)},
                                 .steps_per_second = false})),
              IsOk());
  const std::vector<tensorflow::Event> events = Events();
  ASSERT_EQ(events.size(), 3);
  const tensorflow::Summary& summary = events[1].summary();
  ASSERT_EQ(summary.value_size(), 3);
  EXPECT_EQ(summary.value(0).tag(), "pictures/image/0");
  EXPECT_EQ(summary.value(1).image().width(), 2);
  EXPECT_EQ(summary.value(2).tag(), "of_step");
  EXPECT_EQ(summary.value(2).simple_value(), 3);  // read before the step
}

TEST_F(HooksTest, TensorsHaveTheMetadataOfTheirPlugin) {
  const Output step = options_.fetches[0];
  ASSERT_THAT(Train(SummaryHook({.directory = directory_.path(),
                                 .every = 6,
                                 .scalars = {{"steps", 0}},
                                 .histograms = {{"total", total_.value()}},
                                 .images = {{.tag = "pictures", .value = Images(scope_, step), .max_images = 2}},
                                 .steps_per_second = false,
                                 .format = SummaryFormat::kTensors})),
              IsOk());
  ASSERT_THAT(Events(), SizeIs(1));
  const tensorflow::Summary summary = Events()[0].summary();
  ASSERT_EQ(summary.value_size(), 3);
  const auto plugin = [&](int i) { return summary.value(i).metadata().plugin_data().plugin_name(); };
  EXPECT_EQ(plugin(0), "scalars");
  EXPECT_THAT(summary.value(0).tensor().float_val(), ElementsAre(5));
  EXPECT_EQ(plugin(1), "images");
  EXPECT_EQ(summary.value(1).tag(), "pictures");
  EXPECT_EQ(summary.value(1).tensor().tensor_shape().dim(0).size(), 4);
  EXPECT_EQ(summary.value(1).tensor().string_val(0), "2");
  EXPECT_EQ(plugin(2), "histograms");
  // Two buckets: the values 6 and 12.
  const tensorflow::TensorProto& buckets = summary.value(2).tensor();
  EXPECT_EQ(buckets.tensor_shape().dim(0).size(), 2);
  ASSERT_EQ(buckets.double_val_size(), 6);
  EXPECT_EQ(buckets.double_val(0), 6);   // the least value
  EXPECT_EQ(buckets.double_val(2), 1);   // one value
  EXPECT_EQ(buckets.double_val(4), 12);  // the largest value
}

TEST_F(HooksTest, HyperParametersFrameATraining) {
  options_.hooks = {SummaryHook({.directory = directory_.path(), .hyper_parameters = {{"rate", 0.5}}})};
  TrainingLoop loop(scope_, options_);
  const auto session = Session::Local(scope_).value();
  // Its end is written once, though a loop that repeats steps ends again.
  for (int run = 0; run < 2; ++run) ASSERT_THAT(loop.Run(*session), IsOk());
  const std::vector<tensorflow::Event> events = Events();
  ASSERT_EQ(events.size(), 2);
  tensorboard::hparams::HParamsPluginData data;
  const auto& start = events[0].summary().value(0);
  EXPECT_EQ(start.tag(), "_hparams_/session_start_info");
  ASSERT_TRUE(data.ParseFromString(start.metadata().plugin_data().content()));
  EXPECT_EQ(data.session_start_info().hparams().at("rate").number_value(), 0.5);
  ASSERT_TRUE(data.ParseFromString(events[1].summary().value(0).metadata().plugin_data().content()));
  EXPECT_EQ(data.session_end_info().status(), tensorboard::hparams::STATUS_SUCCESS);
}

TEST_F(HooksTest, OnlyTheChiefWritesByDefault) {
  for (const TrainingRole role : {TrainingRole::kWorker, TrainingRole::kReplica}) {
    EXPECT_FALSE(SummaryHook({.directory = directory_.path()})->RunsAs(role));
    EXPECT_FALSE(ProfileHook({.directory = directory_.path()})->RunsAs(role));
    EXPECT_TRUE(SummaryHook({.directory = directory_.path(), .every_task = true})->RunsAs(role));
  }
  EXPECT_TRUE(SummaryHook({.directory = directory_.path()})->RunsAs(TrainingRole::kChief));
  options_.role = TrainingRole::kReplica;
  ASSERT_THAT(Train(SummaryHook({.directory = directory_.path(), .every = 1, .scalars = {{"steps", 0}}})), IsOk());
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(HooksTest, AFullDiskDoesNotEndTraining) {
  const auto faulty = std::make_shared<FaultInjectingFileSystem>(files_);
  const auto registry = std::make_shared<FileSystemRegistry>();
  ASSERT_THAT(registry->Register("", faulty), IsOk());
  // The second event is written by half.
  faulty->Inject({.at = 2,
                  .kinds = {FaultInjectingFileSystem::kAppend},
                  .crash = false,
                  .error = errors::ResourceExhausted("the disk is full")});
  ASSERT_THAT(
      Train(SummaryHook({.directory = directory_.path(), .every = 2, .scalars = {{"steps", 0}}, .files = registry})),
      IsOk());
  EXPECT_TRUE(faulty->fault_happened());
  std::vector<int64_t> steps;
  for (const tensorflow::Event& event : Events()) steps.push_back(event.step());
  EXPECT_THAT(steps, UnorderedElementsAre(2, 6));
}

TEST_F(HooksTest, ADirectoryThatCannotBeMadeDoesNotEndTraining) {
  ASSERT_THAT(WriteStringToFile(files_, directory_.Path("file"), "no directory"), IsOk());
  const std::string below = directory_.Path("file/logs");
  options_.hooks = {SummaryHook({.directory = below, .every = 1, .scalars = {{"steps", 0}}, .graph = scope_}),
                    ProfileHook({.directory = below, .every = 2})};
  TrainingLoop loop(scope_, options_);
  EXPECT_THAT(loop.Run(*Session::Local(scope_).value()), IsOk());
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
