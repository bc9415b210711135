#include "tools/program.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "core/device/cpu_info.h"
#include "tools/command_flags.h"

namespace weir {
namespace {

// If standard input, output or error is closed, the next file or connection would get its number, and any printed
// output. A file opened for reading takes the number instead, so that writing still fails.
void OccupyStandardFiles() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

CommandDocs ProgramDocs() {
  return {.description =
              "weir server runs one task of a cluster, weir launch a whole one on this machine. The other "
              "commands look at clusters, checkpoints, models, graphs and ops.",
          .examples = {{"weir launch -n 4 --ps 2 -- my_program", "A cluster of six tasks on this machine"},
                       {"weir status grpc://127.0.0.1:2222", "The devices of a cluster"},
                       {"weir top grpc://127.0.0.1:2222", "Its steps, bytes and memory, refreshed"},
                       {"weir trace grpc://127.0.0.1:2222 --steps 20 -o trace.json", "What its next 20 steps do"}},
          .exit_codes = {{"0", "Success."},
                         {"1", "The command failed; the reason is on standard error."},
                         {"2", "Wrong usage: an unknown command or flag, or a wrong value."},
                         {"other", "See the command's help."}}};
}

}  // namespace

int RunProgram(int argc, char** argv) {
  OccupyStandardFiles();
  if (absl::Status status = CheckCpuBaseline(); !status.ok()) return ExitCodeOf(status);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit becomes a write error
  CommandLine line("weir", "Run TensorFlow-style dataflow graphs on a cluster of processes", WEIR_VERSION,
                   ProgramDocs());
  AddServerCommand(line);
  AddLaunchCommand(line);
  AddStatusCommand(line);
  AddTopCommand(line);
  AddTraceCommand(line);
  AddProbeCommand(line);
  AddMembershipCommands(line);
  AddResolveCommand(line);
  AddCheckpointCommand(line);
  AddModelCommand(line);
  AddGraphCommand(line);
  AddOpsCommand(line);
  AddDocumentationCommands(line);
  const int result = line.Run(argc, argv, std::cout, std::cerr);
  errno = 0;
  std::cout.flush();
  if (std::cout.good()) return result;
  std::cerr << "weir: cannot write to standard output" << (errno != 0 ? ": " : "")
            << (errno != 0 ? strerror(errno) : "") << "\n";
  return CommandLine::kFailed;
}

}  // namespace weir
