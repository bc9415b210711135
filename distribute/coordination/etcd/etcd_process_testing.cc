#include "distribute/coordination/etcd/etcd_process_testing.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/testing.h"
#include "distribute/coordination/store_conformance_testing.h"

namespace weir::coordination {
namespace {

std::string FindEtcd() {
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "/usr/bin" : path, ':')) {
    std::string program = absl::StrCat(folder, "/etcd");
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdProcesses>> EtcdProcesses::Start(int members) {
  const std::string program = FindEtcd();
  if (program.empty()) return errors::NotFound("There is no etcd in PATH: install the package etcd-server");
  std::string directory = (std::filesystem::temp_directory_path() / "weir-etcd-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return errors::Internal("Cannot make ", directory);
  std::unique_ptr<EtcdProcesses> processes(new EtcdProcesses(directory));
  std::vector<std::string> cluster;
  for (int i = 0; i < members; ++i) {
    auto member = std::make_unique<Member>();
    ASSIGN_OR_RETURN(member->client, ReservedPort::Create());
    ASSIGN_OR_RETURN(member->peer, ReservedPort::Create());
    cluster.push_back(absl::StrCat("m", i, "=http://", member->peer->address()));
    processes->members_.push_back(std::move(member));
  }
  for (int i = 0; i < members; ++i) {
    Member& member = *processes->members_[i];
    const std::string client = absl::StrCat("http://", member.client->address());
    const std::string peer = absl::StrCat("http://", member.peer->address());
    // A short election lets leases be short, and restarts quick.
    member.process =
        std::make_unique<ServerProcess>(ServerProcess::Options{.name = absl::StrCat("etcd member ", i),
                                                               .arguments = {program,
                                                                             "--name",
                                                                             absl::StrCat("m", i),
                                                                             "--data-dir",
                                                                             absl::StrCat(directory, "/m", i),
                                                                             "--listen-client-urls",
                                                                             client,
                                                                             "--advertise-client-urls",
                                                                             client,
                                                                             "--listen-peer-urls",
                                                                             peer,
                                                                             "--initial-advertise-peer-urls",
                                                                             peer,
                                                                             "--initial-cluster",
                                                                             absl::StrJoin(cluster, ","),
                                                                             "--heartbeat-interval",
                                                                             "50",
                                                                             "--election-timeout",
                                                                             "500",
                                                                             "--logger",
                                                                             "zap",
                                                                             "--log-outputs",
                                                                             "stderr"},
                                                               .environment = {"GOMAXPROCS=2"},
                                                               .ready_file = absl::StrCat(directory, "/never"),
                                                               .log_file = absl::StrCat(directory, "/m", i, ".log")});
    RETURN_IF_ERROR(member.process->Launch());
  }
  const absl::Status serves = processes->NewClient()->List(Soon(), "").status();
  if (!serves.ok()) return Annotate(serves, processes->members_[0]->process->Log());
  return processes;
}

EtcdProcesses::~EtcdProcesses() {
  members_.clear();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void EtcdProcesses::Kill(int member) { EXPECT_GT(members_[member]->process->Kill(), 0); }

void EtcdProcesses::Restart(int member) { EXPECT_THAT(members_[member]->process->Launch(), IsOk()); }

void EtcdProcesses::Stop(int member) {
  ServerProcess& process = *members_[member]->process;
  process.Signal(SIGSTOP);
  while (process.pid() > 0 && !process.IsStopped()) std::this_thread::yield();
}

std::unique_ptr<EtcdStore> EtcdProcesses::NewClient() const {
  EtcdOptions options;
  for (const auto& member : members_) options.endpoints.push_back(member->client->address());
  auto store = EtcdStore::Create(std::move(options));
  EXPECT_THAT(store, IsOk());
  return *std::move(store);
}

}  // namespace weir::coordination
