// Training whose input and checkpoints are in an object store.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "client/data/dataset.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/training_loop.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/tf_record.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/command_line/weir_output.h"
#include "tests/object_store/counting_run.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// This program, which trains until it is killed.
class TrainingProcess {
 public:
  explicit TrainingProcess(const std::string& dir) : process_(fork()) {
    if (process_ != 0) return;
    execl("/proc/self/exe", "object_store_test", kTrainFlag, dir.c_str(), nullptr);
    _exit(127);
  }
  ~TrainingProcess() { Kill(); }
  void Kill() {
    if (std::exchange(is_killed_, true)) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

 private:
  const pid_t process_;
  bool is_killed_ = false;
};

TEST(ObjectStoreTrainingTest, AProcessThatIsKilledResumesFromItsLastCheckpoint) {
  const std::string dir = "s3://weir/killed";
  const std::unique_ptr<FileSystem> files = NewS3FileSystem();
  TrainingProcess process(dir);
  const auto saved_step = [&]() -> int64_t {
    const auto state = ReadCheckpointState(files.get(), dir);
    return state.ok() && !state->latest.empty() ? SplitCheckpointStep(state->latest)->second : 0;
  };
  const absl::Time deadline = MonotonicNow() + absl::Seconds(60);
  while (saved_step() == 0 && MonotonicNow() < deadline) absl::SleepFor(absl::Milliseconds(20));
  process.Kill();
  const int64_t saved = saved_step();
  ASSERT_GT(saved, 0);

  ASSERT_OK_AND_ASSIGN(const CountingResult result, RunCounting(dir, saved + 9));
  EXPECT_GT(result.first_step, saved);  // by more than one if a later checkpoint was complete, but not listed
  EXPECT_EQ(result.last_step, saved + 9);
  EXPECT_EQ(result.total, saved + 9);  // one for each step, none lost and none twice
  ASSERT_OK_AND_ASSIGN(const auto names, files->List(dir));
  for (const std::string& name : names) EXPECT_FALSE(absl::StrContains(name, "_temp_")) << name;

  const std::string last = absl::StrCat(dir, "/model.ckpt-", saved + 9);
  EXPECT_THAT(RunWeir("checkpoint list " + last).text, HasSubstr("total"));
  EXPECT_THAT(RunWeir("checkpoint list " + dir + "/absent").text, HasSubstr("s3://weir/killed/absent"));
}

// Beside the restored variables, the position in the input comes from the store.
TEST(ObjectStoreTrainingTest, AClusterThatLosesATaskRestoresFromTheStore) {
  const std::unique_ptr<FileSystem> files = NewS3FileSystem();
  for (int file = 0; file < 2; ++file) {
    std::string records;
    for (int i = 0; i < 10; ++i) records += TfRecord(absl::StrCat(file * 10 + i));
    ASSERT_THAT(WriteStringToFile(files.get(), absl::StrCat("s3://weir/input/", file, ".tfrecord"), records), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(
      const auto cluster,
      ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 1}, {"worker", 1}}, .restart = true}));
  const Scope scope = Scope::NewRoot();
  const Scope on_ps = scope.WithDevice("/job:ps/task:0");
  const DataIterator iterator =
      Dataset::Files(scope.WithDevice("/job:worker/task:0"), "s3://weir/input/*.tfrecord")
          .Interleave([](const Scope& s, const OutputList& file) { return Dataset::TfRecord(s, file[0]); })
          .Map([](const Scope& s, const OutputList& record) {
            return OutputList{ops::StringToNumber(s, record[0], {.out_type = DT_INT64})};
          })
          .MakeIterator("input");
  const ResourceVariable total =
      ResourceVariable::Make(on_ps.WithName("total"), TensorShape(), DT_INT64, initializers::Zeros());
  TrainingLoopOptions options;
  options.global_step = GlobalStep(on_ps);
  const Operation add = total.AssignAdd(on_ps, iterator.GetNext(scope)[0]);
  options.train = options.global_step.AssignAdd(on_ps.WithControlDependencies({add}), int64_t{1});
  options.checkpoint_dir = "s3://weir/cluster";
  options.checkpoint_steps = 4;
  options.saveables = {iterator.Position()};
  options.recovery_timeout = absl::Seconds(60);
  const auto kill = std::make_shared<AtStep>(10, [&] { cluster->Kill("ps", 0); });
  options.hooks = {kill};
  TrainingLoop loop(scope, options);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Connect(cluster->Target("worker", 0), scope));
  ASSERT_OK_AND_ASSIGN(const int64_t reached, loop.Run(*session));
  EXPECT_EQ(reached, 20);
  EXPECT_EQ(kill->recoveries, 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> value, session->Run({total.value()}));
  EXPECT_EQ(value[0].scalar<int64_t>(), 190);
}

TEST(ObjectStoreTrainingTest, TensorFlowReadsTheCheckpoint) {
  const char* const python = std::getenv("WEIR_TF_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "WEIR_TF_PYTHON does not name a Python interpreter with TensorFlow";
  ASSERT_THAT(RunCounting("s3://weir/tensorflow", 2), IsOk());
  const std::unique_ptr<FileSystem> files = NewS3FileSystem(), local = NewPosixFileSystem();
  const ScratchDirectory scratch;
  ASSERT_OK_AND_ASSIGN(const auto names, files->List("s3://weir/tensorflow"));
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(const std::string content, ReadFileToString(files.get(), "s3://weir/tensorflow/" + name));
    ASSERT_THAT(WriteStringToFile(local.get(), scratch.Path(name), content), IsOk());
  }
  const std::string script =
      absl::StrCat("import tensorflow as tf; path = tf.train.latest_checkpoint('", scratch.path(),
                   "'); assert path.endswith('model.ckpt-2'), path; assert tf.train.load_variable(path, 'total') == 2");
  EXPECT_EQ(std::system(absl::StrCat(python, " -c \"", script, "\"").c_str()), 0);
}

}  // namespace
}  // namespace weir
