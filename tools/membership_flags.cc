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
  return {
      .description =
          "Marks a task so that it gets no new work: masters place nodes without a device of their own elsewhere. "
          "The variables of a parameter server (a task of job ps) are moved to the others, while training goes on; "
          "everything else on the task stays there. With --remove, the task leaves the cluster once no step runs on "
          "it; its process, which does not join again, must then be stopped.",
      .examples = {{"weir drain grpc://127.0.0.1:2222 /job:worker/task:2", "Gives worker 2 no new work"},
                   {"weir drain --remove grpc://127.0.0.1:2222 /job:worker/task:2", "And removes it"}},
      .exit_codes = {{"0", "All tasks that answer know of it."},
                     {"1", "There is no such task, the cluster's registrar does not answer, or steps did not end."},
                     {"2", "A flag is wrong."}}};
}

CommandDocs StandbyDocs() {
  return {.description =
              "Copies what parameter servers hold to others of their job, which make each update from then on before "
              "the step ends. If a server is lost, its standby takes over within a second: no update is lost, and no "
              "checkpoint is needed. Updates wait while the copies are made. weir server --standbys does the same by "
              "itself, also after a server was lost.",
          .examples = {{"weir standby grpc://127.0.0.1:2222", "Each task of job ps gets a standby"},
                       {"weir standby --task /job:ps/task:0 --on /job:ps/task:2 grpc://127.0.0.1:2222",
                        "Server 2 stands by for server 0"},
                       {"weir standby --remove grpc://127.0.0.1:2222", "No task stands by for another"}},
          .exit_codes = {{"0", "The standbys have copies."},
                         {"1", "A copy failed: the lines before say which were made."},
                         {"2", "A flag is wrong."}}};
}

CommandDocs RebalanceDocs() {
  return {.description =
              "Moves variables between the tasks of a job while sessions run, so that each has an even share: after "
              "tasks have joined, for example. Variables that one op uses together, such as a weight and its momentum, "
              "move together. Steps that use them wait for some milliseconds; none fails. Prints a line for each move. "
              "weir server --rebalance-every does the same when the measured load stays uneven.",
          .examples = {{"weir rebalance grpc://127.0.0.1:2222", "Evens the bytes of variables on job ps"},
                       {"weir rebalance --by traffic --dry-run grpc://127.0.0.1:2222",
                        "Shows what would move to even the bytes that steps use"}},
          .exit_codes = {{"0", "The variables are spread evenly."},
                         {"1", "A move failed: the variables are where the lines before say."},
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
  drain->add_flag("--keep-variables", flags->command.keep_variables, "Do not move a parameter server's variables")
      ->excludes(undo);
  drain->add_option("--timeout", flags->timeout, "Seconds for its steps to end")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  line.Runs(drain, [flags] {
    flags->command.timeout = absl::Seconds(flags->timeout);
    return UsageExitCodeOf(DrainTask(flags->command, std::cout));
  });

  auto standby_command = std::make_shared<StandbyCommand>();
  CLI::App* const standby =
      line.Add(line.root(), "standby", "Give parameter servers standbys that take over from them", StandbyDocs());
  standby->add_option("TARGET", standby_command->target, "grpc://HOST:PORT of any task")->required();
  standby->add_option("--job", standby_command->job, "The job whose tasks get standbys")->capture_default_str();
  standby->add_option("--count", standby_command->count, "Standbys of each task")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  standby->add_option("--task", standby_command->task, "Only of this task: /job:ps/task:0");
  standby->add_option("--on", standby_command->on, "With --task: the task that stands by for it");
  standby->add_flag("--remove", standby_command->remove, "Remove standbys instead");
  line.Runs(standby, [standby_command] { return UsageExitCodeOf(ChangeStandbys(*standby_command, std::cout)); });

  struct RebalanceFlags {
    RebalanceCommand command;
    double window = 2, max_pause = 5;
  };
  auto balance = std::make_shared<RebalanceFlags>();
  CLI::App* const rebalance =
      line.Add(line.root(), "rebalance", "Spread variables evenly over parameter servers", RebalanceDocs());
  rebalance->add_option("TARGET", balance->command.target, "grpc://HOST:PORT of any task")->required();
  rebalance->add_option("--job", balance->command.job, "The job whose tasks hold them")->capture_default_str();
  rebalance->add_option("--by", balance->command.by, "Quantity to balance")
      ->check(CLI::IsMember({"bytes", "steps", "traffic", "load"}))
      ->capture_default_str();
  rebalance->add_option("--window", balance->window, "With --by steps, traffic or load: seconds of steps to count")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  rebalance
      ->add_option("--max-pause", balance->max_pause,
                   "Longest pause of steps per move, in seconds; a longer move is cancelled")
      ->check(CLI::Range(0.001, 9.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  rebalance->add_flag("--dry-run", balance->command.dry_run, "Only print what would move");
  line.Runs(rebalance, [balance] {
    balance->command.window = absl::Seconds(balance->window);
    balance->command.max_pause = absl::Seconds(balance->max_pause);
    return UsageExitCodeOf(RebalanceVariables(balance->command, std::cout));
  });
}

}  // namespace weir
