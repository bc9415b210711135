#include "tools/launch/launch.h"

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "tools/launch/guard.h"
#include "tools/launch/launch_tasks.h"
#include "tools/launch/launcher.h"

namespace weir {
namespace {

absl::Status MakeLogDirectory(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return errors::InvalidArgument("--log-dir ", path, ": ", error.message());
  return absl::OkStatus();
}

// Absolute, because programs may change their directory; file systems with a scheme have no relative paths.
absl::StatusOr<std::string> WholePath(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const std::string whole = absl::StrContains(path, "://") ? path : std::filesystem::absolute(path, error).string();
  if (error) return errors::InvalidArgument("--tensorboard-dir ", path, ": ", error.message());
  return whole;
}

}  // namespace

absl::StatusOr<int> RunLaunch(const LaunchCommand& command) {
  if (command.command.empty())
    return errors::InvalidArgument("Missing the program to launch: weir launch -n 2 -- PROGRAM");
  ASSIGN_OR_RETURN(const std::unique_ptr<LaunchTasks> tasks,
                   LaunchTasks::Create({.workers = command.workers,
                                        .parameter_servers = command.parameter_servers,
                                        .chief = command.chief,
                                        .evaluator = command.evaluator}));
  RETURN_IF_ERROR(MakeLogDirectory(command.log_directory));
  ASSIGN_OR_RETURN(const std::string board_directory, WholePath(command.board_directory));
  return RunGuarded([&](const GuardedProcess& process) {
    Launcher launcher({.command = command.command,
                       .keep_going = command.keep_going,
                       .restarts = command.restarts,
                       .grace = command.grace,
                       .log_directory = command.log_directory,
                       .board_directory = board_directory},
                      tasks->tasks(), process);
    return launcher.Run();
  });
}

}  // namespace weir
