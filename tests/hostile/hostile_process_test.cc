// Programs that are started in ways that nobody means well by.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/server_process.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class HostileProcess : public testing::Test {
 protected:
  struct Ended {
    int code = -1;  // 128 + the signal's number for one ended by a signal
    std::string errors;
  };
  // `weir` with what a shell makes of `arguments`, after `before`.
  Ended Run(const std::string& arguments, const std::string& before = "true") const {
    const int state =
        system(absl::StrCat(before, "; exec ", WEIR_PROGRAM, " ", arguments, " 2>", Path("errors")).c_str());
    std::ostringstream text;
    text << std::ifstream(Path("errors")).rdbuf();
    return {WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state), text.str()};
  }
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(Path(name)) << text; }

  ScratchDirectory directory_;
};

TEST_F(HostileProcess, ATextThatIsNestedWithoutEndIsRefused) {
  std::string text, ends;
  for (int i = 0; i < 100'000; ++i) {
    text += "func { attr { key: 'f' value { ";
    ends += "} } } ";
  }
  Write("graph", absl::StrCat("node { attr { key: 'f' value { ", text, ends, "} } }"));
  const Ended print = Run("graph print " + Path("graph"));
  EXPECT_EQ(print.code, 1);
  EXPECT_THAT(print.errors, HasSubstr("neither binary nor text"));
  EXPECT_EQ(Run("ops --against " + Path("graph")).code, 1);
}

TEST_F(HostileProcess, OutputThatIsLostIsTold) {
  for (const char* command : {"ops > /dev/full", "ops >&-"}) {
    const Ended ops = Run(command);
    EXPECT_EQ(ops.code, 1) << command;
    EXPECT_THAT(ops.errors, HasSubstr("cannot write to standard output")) << command;
  }
}

// Else what is printed would go to a client, or into a checkpoint.
TEST_F(HostileProcess, NoFileTakesThePlaceOfAStandardOneThatIsClosed) {
  ServerProcess server({.name = "server",
                        .arguments = {"/bin/sh", "-c",
                                      absl::StrCat("exec ", WEIR_PROGRAM, " server --job worker --port 0 ",
                                                   "--cluster '{\"worker\": [\"127.0.0.1:1\"]}' --ready-file ",
                                                   Path("ready"), " >&- 2>&-")},
                        .ready_file = Path("ready"),
                        .log_file = Path("log")});
  ASSERT_THAT(server.Launch(), IsOk());
  ASSERT_THAT(server.AwaitReady(absl::Seconds(60)), IsOk());
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    char name[100] = {};
    EXPECT_GT(readlink(absl::StrCat("/proc/", server.pid(), "/fd/", fd).c_str(), name, sizeof(name) - 1), 0);
    EXPECT_STREQ(name, "/dev/null");
  }
  EXPECT_EQ(*server.Terminate(absl::Seconds(30)), 0);
}

TEST_F(HostileProcess, LimitsOfTheSystemAreTold) {
  const std::string server = absl::StrCat("server --job worker --port 0 --cluster '{\"worker\": [\"127.0.0.1:1\"]}' ",
                                          "--ready-file ", Path("ready"));
  const Ended files = Run(server, "ulimit -n 14");
  EXPECT_EQ(files.code, 1);
  EXPECT_THAT(files.errors, HasSubstr("needs at least 16 open files"));
  const Ended threads = Run(server, "ulimit -d 50000");
  EXPECT_EQ(threads.code, 1);
  EXPECT_THAT(threads.errors, HasSubstr("threads"));
  const Ended size = Run(server, "ulimit -f 0; exec 2>/dev/null");
  EXPECT_EQ(size.code, 1);
}

TEST_F(HostileProcess, ATerminalThatGoesEndsAServerInOrder) {
  ServerProcess server({.name = "server",
                        .arguments = {WEIR_PROGRAM, "server", "--job", "worker", "--port", "0", "--cluster",
                                      R"({"worker": ["127.0.0.1:1"]})", "--ready-file", Path("ready")},
                        .ready_file = Path("ready"),
                        .log_file = Path("log")});
  ASSERT_THAT(server.Launch(), IsOk());
  ASSERT_THAT(server.AwaitReady(absl::Seconds(60)), IsOk());
  server.Signal(SIGHUP);
  const absl::Time deadline = MonotonicNow() + absl::Seconds(30);
  while (server.pid() >= 0 && MonotonicNow() < deadline) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(server.pid(), -1);
  EXPECT_THAT(server.Log(), HasSubstr("stopping task=/job:worker/replica:0/task:0 signal=1"));
}

}  // namespace
}  // namespace weir
