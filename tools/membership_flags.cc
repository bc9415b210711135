#include <iostream>
#include <memory>

#include "tools/command_flags.h"
#include "tools/membership_command.h"

namespace weir {
namespace {

CommandDocs MembersDocs() {
  return {.description =
              "Prints the tasks of the cluster as the task that is asked knows them: address, and whether the task is "
              "serving, joining or draining. A task that joined while the cluster ran is marked. The epoch counts the "
              "changes since the cluster was started.",
          .examples = {{"weir members grpc://127.0.0.1:2222", "The tasks of that task's cluster"}},
          .exit_codes = {{"0", "The task has answered."}, {"1", "It has not."}, {"2", "A flag is wrong."}}};
}

CommandDocs DrainDocs() {
  return {.description =
              "Marks a task so that it gets no new work: masters place nodes without a device of their own elsewhere. "
              "Steps and variables that are on the task stay there. With --remove, the task leaves the cluster once no "
              "step runs on it; its process, which does not join again, must then be stopped.",
          .examples = {{"weir drain grpc://127.0.0.1:2222 /job:worker/task:2", "Gives worker 2 no new work"},
                       {"weir drain --remove grpc://127.0.0.1:2222 /job:worker/task:2", "And removes it"}},
          .exit_codes = {{"0", "All tasks that answer know of it."},
                         {"1", "There is no such task, the cluster's registrar does not answer, or steps did not end."},
                         {"2", "A flag is wrong."}}};
}

}  // namespace

void AddMembershipCommands(CommandLine& line) {
  auto target = std::make_shared<std::string>();
  CLI::App* const members = line.Add(line.root(), "members", "Show which tasks a cluster has", MembersDocs());
  members->add_option("TARGET", *target, "grpc://HOST:PORT of any task")->required();
  line.Runs(members, [target] { return UsageExitCodeOf(PrintMembers(*target, std::cout)); });

  struct Flags {
    DrainCommand command;
    double timeout = 60;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* const drain = line.Add(line.root(), "drain", "Give a task no new work, or remove it", DrainDocs());
  drain->add_option("TARGET", flags->command.target, "grpc://HOST:PORT of any task")->required();
  drain->add_option("TASK", flags->command.task, "The task: /job:worker/task:2")->required();
  CLI::Option* const undo = drain->add_flag("--undo", flags->command.undo, "Give it work again");
  drain->add_flag("--remove", flags->command.remove, "Remove it from the cluster when its steps have ended")
      ->excludes(undo);
  drain->add_option("--timeout", flags->timeout, "Seconds for its steps to end")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  line.Runs(drain, [flags] {
    flags->command.timeout = absl::Seconds(flags->timeout);
    return UsageExitCodeOf(DrainTask(flags->command, std::cout));
  });
}

}  // namespace weir
