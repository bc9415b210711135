// The status page of a live cluster in a real browser, without a window. Skipped without Chromium.
#include <cstdlib>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/cluster/test_session.h"
#include "tests/watch/metrics_testing.h"
#include "tests/watch/program.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// "wait" waits at a queue whose name is HTML.
constexpr char kGraph[] = R"(
  versions { producer: 1882 }
  node { name: "none" op: "NoOp" device: "/job:ps/task:0" }
  node { name: "queue" op: "FIFOQueueV2" device: "/job:worker/task:0"
         attr { key: "component_types" value { list { type: DT_INT64 } } }
         attr { key: "shared_name" value { s: "<img src=x onerror=document.title=1>" } } }
  node { name: "wait" op: "QueueDequeueV2" input: "queue" device: "/job:worker/task:0"
         attr { key: "component_types" value { list { type: DT_INT64 } } } })";

class WatchBrowserTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium > /dev/null") != 0) GTEST_SKIP() << "there is no chromium on the PATH";
    ASSERT_OK_AND_ASSIGN(
        cluster_, ProcessCluster::Start(
                      {.program = WEIR_PROGRAM, .jobs = {{"worker", 1}, {"ps", 1}}, .flags = {"--http-port", "0"}}));
    http_ = ReportOf(WorkerAddress()).http_address();
  }
  std::string WorkerAddress() const { return *cluster_->spec().AddressOf("worker", 0); }

  // The page once its script has run. WEIR_SCREENSHOTS, a directory, gets a picture too.
  std::string Page(const std::string& name) const {
    const std::string url = absl::StrCat("http://", http_, "/");
    if (const char* const pictures = std::getenv("WEIR_SCREENSHOTS"); pictures != nullptr) {
      Browse({absl::StrCat("--screenshot=", pictures, "/", name, ".png"), "--window-size=1000,1250", url});
    }
    return Browse({"--dump-dom", url});
  }
  std::string Browse(const std::vector<std::string>& arguments) const {
    const ScratchDirectory profile;
    std::vector<std::string> command = {"chromium",
                                        "--headless",
                                        "--no-sandbox",
                                        "--disable-gpu",
                                        "--disable-dev-shm-usage",
                                        "--no-first-run",
                                        absl::StrCat("--user-data-dir=", profile.Path("profile")),
                                        "--virtual-time-budget=5000"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunProgram(command).output;
  }

  std::unique_ptr<ProcessCluster> cluster_;
  std::string http_;
};

TEST_F(WatchBrowserTest, ShowsTasksAndSessionsAndThenAKilledTask) {
  const TestSession session = TestSession::Open(WorkerAddress(), kGraph);
  for (int i = 0; i < 50; ++i) ASSERT_THAT(session.Run({"none"}), IsOk());
  auto step = session.Start({"wait"});
  ASSERT_TRUE(Eventually([&] {
    const TaskReport report = ReportOf(WorkerAddress());
    return report.long_step_size() == 1 && report.long_step(0).wait_size() == 1;
  }));
  // The worker's first probe may precede the parameter server's listen.
  ASSERT_TRUE(Eventually([&] { return ReportOf(WorkerAddress()).peer(0).health() == "up"; }));
  const std::string page = Page("status");
  EXPECT_THAT(page,
              AllOf(HasSubstr("<title>worker 0"), HasSubstr(">ps 0</span>"), HasSubstr(">worker 0 (this one)</span>"),
                    HasSubstr("class=\"good\">up</span>"), HasSubstr("href=\"/sessions/1/graph\"")));
  // Names are text.
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;img src=x onerror=document.title=1&gt;"), Not(HasSubstr("<img"))));
  EXPECT_THAT(page, Not(HasSubstr("class=\"bad\">down</span>")));
  cluster_->Kill("ps", 0);
  ASSERT_TRUE(Eventually([&] {
    const TaskReport report = ReportOf(WorkerAddress());
    return report.peer_size() == 1 && report.peer(0).health() == "down";
  }));
  EXPECT_THAT(Page("killed"), AllOf(HasSubstr("class=\"bad\">down</span>"), HasSubstr("class=\"good\">up</span>")));
  ASSERT_THAT(session.Close(), IsOk());
  EXPECT_FALSE(step.get().ok());
}

}  // namespace
}  // namespace weir
