// The commands of `weir model`, and a model on a cluster.

#include "client/models/npy_file.h"
#include "client/models/saved_model_loader.h"
#include "client/models/written_model_testing.h"
#include "core/clock.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/command_line/weir_output.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ModelCommandTest : public ::testing::Test {
 protected:
  static WeirOutput Weir(const std::string& arguments) { return RunWeir("model " + arguments); }

  const WrittenModel model_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(ModelCommandTest, ShowsAModel) {
  const WeirOutput shown = Weir("show " + model_.path());
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.text, AllOf(HasSubstr("tags {serve}"),
                                HasSubstr("signature serving_default, method tensorflow/serving/predict"),
                                HasSubstr("input x: float[?,2] (x:0)"), HasSubstr("w: float[2,2]"),
                                HasSubstr("assets: 0"), HasSubstr("lacks: none")));
  const WeirOutput base = Weir("show " + model_.base());
  EXPECT_EQ(base.code, 1);
  EXPECT_THAT(base.text, HasSubstr(std::string(BaseName(model_.path()))));
}

TEST_F(ModelCommandTest, RunsJsonAndArrays) {
  const WeirOutput json = Weir("run " + model_.path() + " --input 'x=[[1, 1], [0, 1]]'");
  EXPECT_EQ(json.code, 0) << json.text;
  EXPECT_EQ(json.text, "{\"y\": [[4.0, 6.0], [3.0, 4.0]]}\n");
  const std::string x = model_.Path("x.npy"), y = model_.Path("y.npy");
  ASSERT_THAT(WriteNpyFile(files_.get(), x, AsTensor<float>({1, 0}, {1, 2})), IsOk());
  const WeirOutput arrays = Weir(absl::StrCat("run ", model_.path(), " --input x=", x, " --output y=", y));
  EXPECT_EQ(arrays.code, 0) << arrays.text;
  EXPECT_EQ(arrays.text, "");
  ASSERT_OK_AND_ASSIGN(const Tensor result, ReadNpyFile(files_.get(), y));
  ExpectTensorEqual(result, AsTensor<float>({1, 2}, {1, 2}));
}

TEST_F(ModelCommandTest, ExplainsMistakes) {
  const auto run = [&](const std::string& arguments) { return Weir("run " + model_.path() + " " + arguments); };
  EXPECT_THAT(run("").text, HasSubstr("lacks inputs: x"));
  EXPECT_THAT(run("--input z=1").text, HasSubstr("no input 'z'; the signature is serving_default(x: float[?,2])"));
  EXPECT_THAT(run("--input x=[1").text, HasSubstr("Input 'x'"));
  EXPECT_THAT(run("--signature other --input x=1").text, HasSubstr("it has 'serving_default'"));
  EXPECT_EQ(run("--input x=[1").code, 2);
  EXPECT_EQ(run("--signature other").code, 1);
}

TEST_F(ModelCommandTest, FreezesAndRunsWhatItFroze) {
  const std::string frozen = model_.Path("frozen.pb");
  const WeirOutput written = Weir(absl::StrCat("freeze ", model_.path(), " -o ", frozen));
  EXPECT_EQ(written.code, 0);
  EXPECT_THAT(written.text, AllOf(HasSubstr("1 variables became constants"), HasSubstr("input x: float[?,2] (x:0)")));
  EXPECT_EQ(Weir(absl::StrCat("run ", frozen, " --input 'x=[[1, 1]]'")).text, "{\"y\": [[4.0, 6.0]]}\n");
  EXPECT_THAT(Weir("show " + frozen).text, AllOf(HasSubstr("frozen graph"), HasSubstr("output y: float[?,2]")));
}

TEST_F(ModelCommandTest, AModelRunsOnACluster) {
  ASSERT_OK_AND_ASSIGN(const auto cluster, ProcessCluster::Start({.program = WEIR_PROGRAM}));
  const std::string target = cluster->Target("worker", 0);
  const WeirOutput json = Weir(absl::StrCat("run ", model_.path(), " --target ", target, " --input 'x=[[1, 1]]'"));
  EXPECT_EQ(json.text, "{\"y\": [[4.0, 6.0]]}\n");
  // Two models with variables of one name do not meet.
  const WrittenModel other;
  ASSERT_OK_AND_ASSIGN(const auto first, LoadSavedModel(model_.path(), {.target = target}));
  ASSERT_OK_AND_ASSIGN(const auto second, LoadSavedModel(other.path(), {.target = target}));
  const TensorMap input = {{"x", AsTensor<float>({1, 1}, {1, 2})}};
  ASSERT_OK_AND_ASSIGN(const TensorMap result, first->Run("serving_default", input));
  ExpectTensorEqual(result.at("y"), AsTensor<float>({4, 6}, {1, 2}));

  // A task that was restarted has lost the variables.
  cluster->Kill("worker", 0);
  ASSERT_THAT(cluster->Restart("worker", 0), IsOk());
  EXPECT_FALSE(first->Run("serving_default", input).ok());
  // Its calls fail until the channel is connected again.
  const absl::Time end = MonotonicNow() + absl::Minutes(1);
  absl::Status restored = first->Restore();
  while (!restored.ok() && MonotonicNow() < end) restored = first->Restore();
  ASSERT_THAT(restored, IsOk());
  EXPECT_THAT(first->Run("serving_default", input), IsOk());
}

}  // namespace
}  // namespace weir
