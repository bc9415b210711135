#include "tests/object_store/moto_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_split.h"
#include "core/clock.h"

namespace weir {
namespace {

// The first line that comes within a minute.
std::string ReadLine(int from) {
  std::string line;
  const absl::Time deadline = MonotonicNow() + absl::Seconds(60);
  while (line.find('\n') == std::string::npos && MonotonicNow() < deadline) {
    pollfd ready = {.fd = from, .events = POLLIN};
    if (poll(&ready, 1, 1000) == 0) continue;
    char piece[512];
    const ssize_t size = read(from, piece, sizeof(piece));
    if (size <= 0) break;
    line.append(piece, size);
  }
  return line.substr(0, line.find('\n'));
}

}  // namespace

absl::StatusOr<std::unique_ptr<MotoServer>> MotoServer::Start(const std::string& python) {
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) return errors::Internal("no pipes");
  const pid_t process = fork();
  if (process == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    execlp(python.c_str(), python.c_str(), WEIR_MOTO_SCRIPT, nullptr);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  std::unique_ptr<MotoServer> server(new MotoServer(process, input[1]));
  const std::vector<std::string> words = absl::StrSplit(ReadLine(output[0]), ' ');
  close(output[0]);
  if (words.size() != 3) return errors::Unavailable("moto does not start with ", python);
  setenv("no_proxy", "127.0.0.1", 1);
  setenv("AWS_ENDPOINT_URL", words[0].c_str(), 1);
  setenv("AWS_ACCESS_KEY_ID", words[1].c_str(), 1);
  setenv("AWS_SECRET_ACCESS_KEY", words[2].c_str(), 1);
  for (const char* other : {"AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"}) unsetenv(other);
  return server;
}

MotoServer::~MotoServer() {
  close(input_);
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

}  // namespace weir
