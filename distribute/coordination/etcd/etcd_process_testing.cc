#include "distribute/coordination/etcd/etcd_process_testing.h"

#include <signal.h>
#include <sys/wait.h>
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

absl::Status MakeCertificates(const std::string& directory) {
  constexpr char kScript[] = R"(set -e; cd "$0"; command -v openssl || exit 77
    new="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    for ca in ca other; do openssl req -x509 $new -keyout $ca.key -out $ca.pem -days 2 -subj /CN=$ca; done
    echo subjectAltName=IP:127.0.0.1 > names
    for one in server client; do
      openssl req $new -keyout $one.key -out $one.csr -subj /CN=$one
      openssl x509 -req -in $one.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $one.pem -days 2 -extfile names
    done)";
  const std::string command =
      absl::StrCat("sh -c '", kScript, "' '", directory, "' > '", directory, "/openssl.log' 2>&1");
  const int result = std::system(command.c_str());
  if (result == 0) return absl::OkStatus();
  if (WIFEXITED(result) && WEXITSTATUS(result) == 77) {
    return errors::NotFound("There is no openssl in PATH: install the package openssl");
  }
  return errors::Internal("openssl made no certificates: see ", directory, "/openssl.log");
}

absl::StatusOr<std::unique_ptr<EtcdProcesses>> EtcdProcesses::Start(int members, bool tls) {
  const std::string program = FindEtcd();
  if (program.empty()) return errors::NotFound("There is no etcd in PATH: install the package etcd-server");
  std::string directory = (std::filesystem::temp_directory_path() / "weir-etcd-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return errors::Internal("Cannot make ", directory);
  std::unique_ptr<EtcdProcesses> processes(new EtcdProcesses(directory, tls));
  if (tls) RETURN_IF_ERROR(MakeCertificates(directory));
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
    member.process = std::make_unique<ServerProcess>(
        ServerProcess::Options{.name = absl::StrCat("etcd member ", i),
                               .arguments = processes->Arguments(program, absl::StrJoin(cluster, ","), i),
                               .environment = {"GOMAXPROCS=2"},
                               .ready_file = absl::StrCat(directory, "/never"),
                               .log_file = absl::StrCat(directory, "/m", i, ".log")});
    RETURN_IF_ERROR(member.process->Launch());
  }
  const absl::Status serves = processes->NewClient()->List(Soon(), "").status();
  if (!serves.ok()) return Annotate(serves, processes->members_[0]->process->Log());
  return processes;
}

std::vector<std::string> EtcdProcesses::Arguments(const std::string& program, const std::string& cluster,
                                                  int member) const {
  const std::string client = absl::StrCat(tls_ ? "https://" : "http://", address(member));
  const std::string peer = absl::StrCat("http://", members_[member]->peer->address());
  // A short election lets leases be short, and restarts quick.
  std::vector<std::string> arguments = {program,
                                        "--name",
                                        absl::StrCat("m", member),
                                        "--data-dir",
                                        absl::StrCat(directory_, "/m", member),
                                        "--listen-client-urls",
                                        client,
                                        "--advertise-client-urls",
                                        client,
                                        "--listen-peer-urls",
                                        peer,
                                        "--initial-advertise-peer-urls",
                                        peer,
                                        "--initial-cluster",
                                        cluster,
                                        "--heartbeat-interval",
                                        "50",
                                        "--election-timeout",
                                        "500",
                                        "--logger",
                                        "zap",
                                        "--log-outputs",
                                        "stderr"};
  if (!tls_) return arguments;
  for (const auto& [flag, file] : {std::pair("trusted-ca", "ca.pem"), {"cert", "server.pem"}, {"key", "server.key"}}) {
    arguments.push_back(absl::StrCat("--", flag, "-file=", directory_, "/", file));
  }
  arguments.push_back("--client-cert-auth");
  return arguments;
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

EtcdOptions EtcdProcesses::options() const {
  EtcdOptions options;
  for (const auto& member : members_) options.endpoints.push_back(member->client->address());
  if (!tls_) return options;
  options.tls = EtcdTls{.ca_file = directory_ + "/ca.pem",
                        .certificate_file = directory_ + "/client.pem",
                        .key_file = directory_ + "/client.key"};
  return options;
}

std::unique_ptr<EtcdStore> EtcdProcesses::NewClient() const {
  auto store = EtcdStore::Create(options());
  EXPECT_THAT(store, IsOk());
  return *std::move(store);
}

}  // namespace weir::coordination
