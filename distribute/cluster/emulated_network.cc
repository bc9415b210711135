#include "distribute/cluster/emulated_network.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

absl::Status SystemError(absl::string_view what) {
  return errors::FailedPrecondition(what, ": ", std::string(std::strerror(errno)));
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

absl::Status Enter(pid_t pid) {
  const int file = open(absl::StrCat("/proc/", pid, "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError(absl::StrCat("cannot open the network namespace of process ", pid));
  const int result = setns(file, CLONE_NEWNET);
  close(file);
  return result == 0 ? absl::OkStatus() : SystemError("setns");
}

// A process in a new namespace, which ends with the calling thread.
absl::StatusOr<pid_t> Hold(bool forwards) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return SystemError("pipe");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || unshare(CLONE_NEWNET) != 0) _exit(1);
    if (forwards) {
      const int file = open("/proc/sys/net/ipv4/ip_forward", O_WRONLY | O_CLOEXEC);
      if (file < 0 || write(file, "1", 1) != 1) _exit(1);
    }
    if (write(ready[1], "r", 1) != 1) _exit(1);
    while (true) pause();
  }
  close(ready[1]);
  char byte = 0;
  const bool held = child > 0 && read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  if (held) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  return errors::FailedPrecondition("network namespaces cannot be created here (it takes root)");
}

absl::Status RunIn(pid_t pid, const std::string& command) {
  std::vector<std::string> arguments = absl::StrSplit(command, ' ');
  const std::vector<char*> pointers = Pointers(arguments);
  const pid_t child = fork();
  if (child == 0) {
    if (Enter(pid).ok()) execvp(pointers[0], pointers.data());
    _exit(127);
  }
  int state = 0;
  if (child < 0 || waitpid(child, &state, 0) != child) return SystemError(command);
  if (state != 0) return errors::FailedPrecondition("'", command, "' fails with status ", WEXITSTATUS(state));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmulatedNetwork>> EmulatedNetwork::Create(int count) {
  std::unique_ptr<EmulatedNetwork> network(new EmulatedNetwork);
  ASSIGN_OR_RETURN(network->router_, Hold(true));
  for (int host = 0; host < count; ++host) RETURN_IF_ERROR(network->AddHost(host));
  RETURN_IF_ERROR(Enter(network->hosts_[0]));
  return network;
}

EmulatedNetwork::~EmulatedNetwork() {
  hosts_.push_back(router_);
  for (const pid_t pid : hosts_) {
    if (pid <= 0) continue;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

absl::Status EmulatedNetwork::AddHost(int host) {
  ASSIGN_OR_RETURN(const pid_t pid, Hold(false));
  hosts_.push_back(pid);
  RETURN_IF_ERROR(InRouter(absl::StrCat("link add w", host, " type veth peer name eth0 netns ", pid)));
  RETURN_IF_ERROR(InRouter(absl::StrCat("addr add 10.77.", host, ".1/24 dev w", host)));
  RETURN_IF_ERROR(InRouter(absl::StrCat("link set w", host, " up")));
  RETURN_IF_ERROR(RunIn(pid, absl::StrCat("ip addr add ", address(host), "/24 dev eth0")));
  RETURN_IF_ERROR(RunIn(pid, "ip link set lo up"));
  RETURN_IF_ERROR(RunIn(pid, "ip link set eth0 up"));
  return RunIn(pid, absl::StrCat("ip route add default via 10.77.", host, ".1"));
}

absl::Status EmulatedNetwork::InRouter(const std::string& arguments) {
  return RunIn(router_, absl::StrCat("ip ", arguments));
}

std::string EmulatedNetwork::address(int host) const { return absl::StrCat("10.77.", host, ".2"); }

ProcessCluster::Place EmulatedNetwork::PlaceOf(int host) const {
  return {.address = absl::StrCat(address(host), ":2222"),
          .prefix = {"/proc/self/exe", "enter", std::to_string(hosts_[host]), "--"}};
}

absl::Status EmulatedNetwork::Cut(int from, int to) {
  std::string rule = "priority 10";
  if (from != kAny) absl::StrAppend(&rule, " iif w", from);
  if (to != kAny) absl::StrAppend(&rule, " to ", address(to), "/32");
  RETURN_IF_ERROR(InRouter(absl::StrCat("rule add ", rule, " blackhole")));
  cuts_.push_back(rule);
  return absl::OkStatus();
}

absl::Status EmulatedNetwork::Heal() {
  for (; !cuts_.empty(); cuts_.pop_back())
    RETURN_IF_ERROR(InRouter(absl::StrCat("rule del ", cuts_.back(), " blackhole")));
  return absl::OkStatus();
}

absl::Status EmulatedNetwork::Limit(int host, int64_t bits_per_second) {
  const std::string limit = absl::StrCat(" root tbf rate ", bits_per_second, "bit burst 64kb latency 100ms");
  RETURN_IF_ERROR(RunIn(hosts_[host], absl::StrCat("tc qdisc add dev eth0", limit)));
  return RunIn(router_, absl::StrCat("tc qdisc add dev w", host, limit));
}

absl::Status EnterNamespaceAndRun(pid_t pid, const std::vector<std::string>& arguments) {
  RETURN_IF_ERROR(Enter(pid));
  std::vector<std::string> copy = arguments;
  execvp(copy[0].c_str(), Pointers(copy).data());
  return SystemError(copy[0]);
}

}  // namespace weir
