// `weir graph place`.
#include <sstream>

#include "bench/graphs/placement_graphs.h"
#include "core/files/file_system.h"
#include "core/testing.h"
#include "kernels/library.h"
#include "tools/commands.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PlaceCommandTest : public ::testing::Test {
 protected:
  PlaceCommandTest() {
    EXPECT_THAT(RegisterAllOps(ops_), IsOk());
    EXPECT_THAT(RegisterAllKernels(kernels_), IsOk());
    auto models = bench::MakePlacementGraphs(bench::ModelSize::kSmall);
    EXPECT_THAT(models, IsOk());
    Write("mlp.pb", models->front().graph.SerializeAsString());
    command_.files = {Path("mlp.pb")};
    command_.effort = 1;
  }

  static std::string Path(const std::string& name) { return absl::StrCat(::testing::TempDir(), "/place_", name); }
  static void Write(const std::string& name, const std::string& content) {
    EXPECT_THAT(WriteStringToFile(NewPosixFileSystem().get(), Path(name), content), IsOk());
  }
  absl::StatusOr<std::string> Run() {
    std::ostringstream out;
    RETURN_IF_ERROR(PlaceGraphFiles({.ops = ops_, .kernels = kernels_}, command_, out));
    return out.str();
  }

  static constexpr char kDevices[] =
      "/job:worker/task:0/device:CPU:0=gflops:0.4,gbs:0.2;/job:worker/task:1/"
      "device:CPU:0=gflops:0.2,gbs:0.15,memory:3m";
  OpRegistry ops_;
  KernelRegistry kernels_;
  PlaceCommand command_;
};

TEST_F(PlaceCommandTest, TheStepIsPredictedBesideOtherPlacements) {
  command_.devices = kDevices;
  ASSERT_OK_AND_ASSIGN(const std::string summary, Run());
  EXPECT_THAT(summary, AllOf(HasSubstr("predicted for a step"), HasSubstr("round-robin:"), HasSubstr("greedy:"),
                             HasSubstr("first fit:"), HasSubstr(" of 3 MiB"), Not(HasSubstr("->"))));
  command_.explain = true;
  ASSERT_OK_AND_ASSIGN(const std::string explained, Run());
  EXPECT_THAT(explained, AllOf(HasSubstr("dense/kernel/handle ("), HasSubstr("-> /job:worker/replica:0/task:"),
                               HasSubstr("no other device: "), HasSubstr("keeps ")));
}

TEST_F(PlaceCommandTest, DevicesMayBeInAFile) {
  Write("devices.txt", absl::StrCat(kDevices, "  # two hosts\n"));
  command_.devices = "@" + Path("devices.txt");
  EXPECT_THAT(Run(), IsOk());
}

TEST_F(PlaceCommandTest, ErrorsNameTheirCause) {
  command_.devices = kDevices;
  command_.times = Path("mlp.pb");
  EXPECT_THAT(Run(), testing::Not(IsOk()));
  command_.times.clear();
  command_.files = {Path("nothing.pb")};
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("nothing.pb")));
  command_.devices = "/job:worker/task:0/device:CPU:0=gflops:1,gbs:1,memory:1k";
  command_.files = {Path("mlp.pb")};
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("kernel/handle (")));
}

}  // namespace
}  // namespace weir
