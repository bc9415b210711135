// Tests of `weir launch` as users see it: tasks with their configuration, marked lines, exit codes, no leftovers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/address.h"
#include "distribute/cluster/tf_config.h"
#include "distribute/transport/grpc_master_client.h"
#include "tests/launch/launched.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// `flags`, and the script for sh.
std::vector<std::string> Script(std::vector<std::string> flags, const std::string& script) {
  flags.insert(flags.end(), {"--", "sh", "-c", script});
  return flags;
}

// Does one thing in the worker of that index, and another in the others.
std::string InWorker(int index, const std::string& script, const std::string& otherwise) {
  return absl::StrCat("case $TF_CONFIG in *'\"task\":{\"index\":", index, ",'*) ", script, ";; *) ", otherwise,
                      ";; esac");
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

TEST(LaunchTest, EveryTaskLearnsItsPlace) {
  // None ends before all have spoken: parameter servers are ended when the workers have.
  const ScratchDirectory spoken;
  Launched launched(Script({"-n", "2", "--ps", "1", "--chief", "--evaluator"},
                           absl::StrCat("echo \"$TF_CONFIG\"; touch ", spoken.Path("$$"), "; while [ $(ls ",
                                        spoken.Path(""), " | wc -l) -lt 5 ]; do sleep 0.01; done")));
  EXPECT_EQ(launched.AwaitEnd(), 0) << launched.text();
  std::set<std::string> tasks;
  std::optional<ClusterSpec> cluster;
  for (const std::string& line : launched.Lines()) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(']', 1));
    ASSERT_EQ(parts.size(), 2) << line;
    ASSERT_OK_AND_ASSIGN(TfConfig config, ParseTfConfig(parts[1]));
    EXPECT_EQ(parts[0], absl::StrCat("[", config.task_type, " ", config.task_index));
    tasks.insert(TaskName(config.task_type, config.task_index));
    if (!cluster.has_value()) cluster = config.cluster;
    EXPECT_EQ(config.cluster, *cluster);
  }
  EXPECT_THAT(tasks, UnorderedElementsAre("/job:chief/replica:0/task:0", "/job:worker/replica:0/task:0",
                                          "/job:worker/replica:0/task:1", "/job:ps/replica:0/task:0",
                                          "/job:evaluator/replica:0/task:0"));
  EXPECT_EQ(cluster->jobs().count("evaluator"), 0);
}

TEST(LaunchTest, LinesOfTasksDoNotMix) {
  // In pieces, to both outputs, and more than a pipe holds.
  Launched launched(Script({"-n", "3"},
                           "for i in $(seq 3000); do printf aaaa; printf 'bbbb\\n'; echo cccc >&2; done; "
                           "printf end"));
  EXPECT_EQ(launched.AwaitEnd(), 0);
  std::map<std::string, int> counts;
  for (const std::string& line : launched.Lines()) ++counts[line];
  EXPECT_EQ(counts.size(), 9) << launched.text().substr(0, 2000);
  for (int i = 0; i < 3; ++i) {
    const std::string label = absl::StrCat("[worker ", i, "] ");
    EXPECT_EQ(counts[label + "aaaabbbb"], 3000);
    EXPECT_EQ(counts[label + "cccc"], 3000);
    EXPECT_EQ(counts[label + "end"], 1);
  }
}

TEST(LaunchTest, ColoursAreForTerminals) {
  Launched plain(Script({}, "echo hello"));
  EXPECT_EQ(plain.AwaitEnd(), 0);
  EXPECT_EQ(plain.text(), "[worker 0] hello\n");
  Launched colored(Script({}, "echo hello"), {.terminal = true, .variables = {{"TERM", "xterm"}, {"NO_COLOR", ""}}});
  EXPECT_EQ(colored.AwaitEnd(), 0);
  EXPECT_EQ(colored.text(), "\x1b[32m[worker 0]\x1b[0m hello\r\n");
  Launched refused(Script({}, "echo hello"), {.terminal = true, .variables = {{"TERM", "xterm"}, {"NO_COLOR", "1"}}});
  EXPECT_EQ(refused.AwaitEnd(), 0);
  EXPECT_EQ(refused.text(), "[worker 0] hello\r\n");
}

TEST(LaunchTest, TheFirstFailureEndsTheOthers) {
  Launched launched(Script({"-n", "3", "--ps", "1"}, InWorker(1, "exit 7", "exec sleep 1000")));
  EXPECT_EQ(launched.AwaitEnd(), 7);
  EXPECT_THAT(launched.text(), HasSubstr("weir launch: worker 1 ended with exit code 7; stopping the other tasks"));
  EXPECT_TRUE(Launched::NothingIsLeft(absl::ZeroDuration()));
}

TEST(LaunchTest, ASignalIsAFailureToo) {
  Launched launched(Script({"-n", "2"}, InWorker(0, "kill -SEGV $$", "exec sleep 1000")));
  EXPECT_EQ(launched.AwaitEnd(), 128 + SIGSEGV);
  EXPECT_THAT(launched.text(), HasSubstr("worker 0 was ended by signal 11"));
}

TEST(LaunchTest, KeepGoingLetsTheOthersEnd) {
  ScratchDirectory scratch;
  ASSERT_EQ(mkfifo(scratch.Path("go").c_str(), 0600), 0);
  const std::string wait = absl::StrCat("read line < ", scratch.Path("go"), "; echo $line");
  Launched launched(Script({"-n", "2", "--keep-going"}, InWorker(1, "exit 7", wait)));
  ASSERT_TRUE(launched.Await("worker 1 ended with exit code 7")) << launched.text();
  std::ofstream(scratch.Path("go")) << "went on\n";
  EXPECT_EQ(launched.AwaitEnd(), 7);
  EXPECT_THAT(launched.text(), HasSubstr("[worker 0] went on"));
}

TEST(LaunchTest, ATaskIsStartedAgainSoManyTimes) {
  ScratchDirectory scratch;
  Launched failing(Script({"--restarts", "2"}, absl::StrCat("echo run >> ", scratch.Path("runs"), "; exit 3")));
  EXPECT_EQ(failing.AwaitEnd(), 3);
  EXPECT_EQ(ReadFile(scratch.Path("runs")), "run\nrun\nrun\n");
  Launched lucky(Script({"--restarts", "5"}, absl::StrCat("test -e ", scratch.Path("mark"), " || { touch ",
                                                          scratch.Path("mark"), "; exit 3; }")));
  EXPECT_EQ(lucky.AwaitEnd(), 0);
}

TEST(LaunchTest, ParameterServersGoWhenTheWorkIsDone) {
  Launched launched(Script({"-n", "1", "--ps", "2"},
                           "case $TF_CONFIG in *'\"type\":\"ps\"'*) trap 'echo bye; exit 9' "
                           "TERM; while :; do sleep 0.01; done;; esac"));
  EXPECT_EQ(launched.AwaitEnd(), 0) << launched.text();
}

// Says so when it gets that signal.
std::string Trapping(const std::string& signal, const std::string& then) {
  return absl::StrCat("trap 'echo got; ", then, "' ", signal, "; echo ready; while :; do sleep 0.01; done");
}

TEST(LaunchTest, CtrlCReachesEachTaskOnce) {
  Launched launched(Script({"-n", "2"}, Trapping("INT", "exit 0")));
  ASSERT_TRUE(launched.Await("ready", 2)) << launched.text();
  launched.SignalGroup(SIGINT);
  EXPECT_EQ(launched.AwaitEnd(), 130);
  EXPECT_THAT(launched.Lines(),
              UnorderedElementsAre("[worker 0] ready", "[worker 1] ready", "[worker 0] got", "[worker 1] got"));
  EXPECT_TRUE(Launched::NothingIsLeft(absl::ZeroDuration()));
}

TEST(LaunchTest, SigtermIsPassedOn) {
  Launched launched(Script({"-n", "2"}, Trapping("TERM", "exit 0")));
  ASSERT_TRUE(launched.Await("ready", 2)) << launched.text();
  launched.Signal(SIGTERM);
  EXPECT_EQ(launched.AwaitEnd(), 143);
  EXPECT_TRUE(launched.Await("got", 2));
}

TEST(LaunchTest, WhoDoesNotEndIsKilled) {
  Launched launched(Script({"-n", "2", "--grace", "0.2"}, Trapping("TERM", ":")));
  ASSERT_TRUE(launched.Await("ready", 2)) << launched.text();
  launched.Signal(SIGTERM);
  EXPECT_EQ(launched.AwaitEnd(), 143);
  EXPECT_THAT(launched.text(), HasSubstr("tasks are still running after 200ms; killing them"));
  EXPECT_TRUE(Launched::NothingIsLeft(absl::ZeroDuration()));
}

TEST(LaunchTest, ASecondCtrlCKillsAtOnce) {
  Launched launched(Script({"-n", "2", "--grace", "3600"}, Trapping("INT", ":")));
  ASSERT_TRUE(launched.Await("ready", 2)) << launched.text();
  launched.Signal(SIGINT);
  ASSERT_TRUE(launched.Await("got", 2));
  launched.Signal(SIGINT);
  EXPECT_EQ(launched.AwaitEnd(), 130);
}

TEST(LaunchTest, NohupIsHonoured) {
  Launched launched(Script({}, Trapping("TERM", "exit 0")), {.ignored = {SIGHUP}});
  ASSERT_TRUE(launched.Await("ready")) << launched.text();
  launched.Signal(SIGHUP);
  launched.Signal(SIGTERM);
  EXPECT_EQ(launched.AwaitEnd(), 143);
}

// A process out of its task's reach: in a session of its own.
constexpr char kStray[] = "setsid sleep 1000 & echo ready; ";

TEST(LaunchTest, StraysGoWithTheLaunch) {
  Launched launched(Script({"-n", "2"}, absl::StrCat(kStray, "exit 0")));
  EXPECT_EQ(launched.AwaitEnd(), 0);
  EXPECT_TRUE(Launched::NothingIsLeft(absl::ZeroDuration()));
}

TEST(LaunchTest, NothingOutlivesALauncherThatIsKilled) {
  Launched launched(Script({"-n", "2"}, absl::StrCat(kStray, "wait")));
  ASSERT_TRUE(launched.Await("ready", 2)) << launched.text();
  launched.SignalGroup(SIGKILL);
  EXPECT_EQ(launched.AwaitEndUnread(), 137);
  EXPECT_TRUE(Launched::NothingIsLeft());
}

TEST(LaunchTest, NorItsInnerProcess) {
  Launched launched(Script({"-n", "2"}, absl::StrCat(kStray, "wait")));
  ASSERT_TRUE(launched.Await("ready", 2)) << launched.text();
  ASSERT_GT(launched.Inner(), 0);
  kill(launched.Inner(), SIGKILL);
  EXPECT_EQ(launched.AwaitEnd(), 137);
  EXPECT_TRUE(Launched::NothingIsLeft(absl::ZeroDuration()));
}

TEST(LaunchTest, LogsGoToFilesToo) {
  ScratchDirectory scratch;
  Launched launched(Script({"-n", "2", "--log-dir", scratch.Path("a/b")}, "echo out; echo err >&2"));
  EXPECT_EQ(launched.AwaitEnd(), 0) << launched.text();
  for (const char* name : {"a/b/worker-0.log", "a/b/worker-1.log"}) {
    EXPECT_THAT(absl::StrSplit(ReadFile(scratch.Path(name)), '\n'), UnorderedElementsAre("out", "err", "")) << name;
  }
}

TEST(LaunchTest, TasksKnowWhereToWriteForTensorBoard) {
  ScratchDirectory scratch;
  Launched launched(Script({"--tensorboard-dir", scratch.Path("logs")}, "cd /; echo at $WEIR_LOGDIR"));
  EXPECT_EQ(launched.AwaitEnd(), 0);
  EXPECT_EQ(launched.text(), absl::StrCat("[worker 0] at ", scratch.Path("logs"), "\n"));
  Launched relative(Script({"--tensorboard-dir", "logs"}, "echo at $WEIR_LOGDIR"));
  EXPECT_EQ(relative.AwaitEnd(), 0);
  EXPECT_THAT(relative.text(), AllOf(StartsWith("[worker 0] at /"), EndsWith("/logs\n")));
}

TEST(LaunchTest, NobodyReads) {
  Launched closed(Script({"-n", "2"}, "exec yes"));
  ASSERT_TRUE(closed.Await("y\n"));
  closed.CloseOutput();
  EXPECT_EQ(closed.AwaitEndUnread(), 128 + SIGPIPE);
  // One who stays, and reads no more, cannot keep it from ending.
  Launched stalled(Script({"-n", "2", "--grace", "0.2"}, "exec yes"));
  ASSERT_TRUE(stalled.Await("y\n"));
  stalled.Signal(SIGTERM);
  EXPECT_EQ(stalled.AwaitEndUnread(), 143);
}

TEST(LaunchTest, OutputThatIsLostIsAFailure) {
  Launched launched({"--", "sh", "-c", "exec \"$0\" launch -- echo hello > /dev/full", WEIR_PROGRAM});
  EXPECT_EQ(launched.AwaitEnd(), 1);
  EXPECT_THAT(launched.text(), HasSubstr("cannot write to file 1: No space left on device"));
}

TEST(LaunchTest, TooFewFilesAreAnError) {
  Launched launched({"--", "sh", "-c", "ulimit -n 40; exec \"$0\" launch -n 30 -- sleep 1000", WEIR_PROGRAM});
  EXPECT_EQ(launched.AwaitEnd(), 1);
  EXPECT_THAT(launched.text(), HasSubstr("cannot start: pipe: Too many open files"));
}

TEST(LaunchTest, WhatCannotRunSaysSo) {
  Launched missing({"-n", "2", "--", "/no/such/program"});
  EXPECT_EQ(missing.AwaitEnd(), 127);
  EXPECT_THAT(missing.text(), HasSubstr("cannot run '/no/such/program': No such file or directory"));
  Launched directory({"--", "/"});
  EXPECT_EQ(directory.AwaitEnd(), 126);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"-n", "2"},
                                                    {"-n", "0", "--", "true"},
                                                    {"-n", "-1", "--", "true"},
                                                    {"-n", "1000000", "--", "true"},
                                                    {"--ps", "-1", "--", "true"},
                                                    {"--log-dir", "/dev/null/x", "--", "true"}}) {
    Launched refused(arguments);
    EXPECT_EQ(refused.AwaitEnd(), 2) << refused.text();
  }
}

TEST(LaunchTest, OptionsOfTheProgramAreItsOwn) {
  Launched launched({"-n", "1", "--", "echo", "-n", "--ps", "x", "--", "y"});
  EXPECT_EQ(launched.AwaitEnd(), 0);
  EXPECT_EQ(launched.text(), "[worker 0] --ps x -- y\n");
}

// Whether a socket of ours can have that port of the loopback.
bool CanBind(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(port);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0;
  close(fd);
  return bound;
}

TEST(LaunchTest, NobodyElseGetsAPort) {
  Launched launched(Script({}, "echo \"$TF_CONFIG\"; exec sleep 1000"));
  ASSERT_TRUE(launched.Await("}}")) << launched.text();
  ASSERT_OK_AND_ASSIGN(TfConfig config, ParseTfConfig(launched.text().substr(launched.text().find('{'))));
  EXPECT_FALSE(CanBind(Address::Parse(*config.cluster.AddressOf("worker", 0))->port()));
  launched.Signal(SIGTERM);
  EXPECT_EQ(launched.AwaitEnd(), 143);
}

TEST(LaunchTest, ServersMakeACluster) {
  Launched launched({"-n", "2", "--ps", "1", "--", WEIR_PROGRAM, "server"});
  ASSERT_TRUE(launched.Await("serving", 3)) << launched.text();
  const std::string address = launched.text().substr(launched.text().find("127.0.0.1:"));
  GrpcMasterClient master({.address = address.substr(0, address.find_first_of(" \n"))});
  tensorflow::ListDevicesRequest request;
  tensorflow::ListDevicesResponse response;
  ASSERT_THAT(master.ListDevices({.deadline = MonotonicNow() + absl::Seconds(30)}, request, &response), IsOk());
  EXPECT_EQ(response.local_device_size() + response.remote_device_size(), 3);
  launched.Signal(SIGTERM);
  EXPECT_EQ(launched.AwaitEnd(), 143);
  EXPECT_TRUE(Launched::NothingIsLeft(absl::ZeroDuration()));
}

}  // namespace
}  // namespace weir
