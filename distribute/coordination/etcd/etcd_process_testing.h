// Real etcd servers for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/cluster/server_process.h"
#include "distribute/coordination/etcd/etcd_store.h"

namespace weir::coordination {

// Members on random ports with data in a directory of their own, which goes with this object, as the processes do.
class EtcdProcesses {
 public:
  // NOT_FOUND, with what to install, where there is no etcd. Returns when the members serve.
  static absl::StatusOr<std::unique_ptr<EtcdProcesses>> Start(int members = 1);
  ~EtcdProcesses();

  void Kill(int member = 0);  // SIGKILL
  void Restart(int member = 0);
  void Stop(int member = 0);  // SIGSTOP: it stays connected, and silent
  const std::string& address(int member = 0) const { return members_[member]->client->address(); }
  std::unique_ptr<EtcdStore> NewClient() const;

 private:
  struct Member {
    std::unique_ptr<ReservedPort> client, peer;
    std::unique_ptr<ServerProcess> process;
  };

  explicit EtcdProcesses(std::string directory) : directory_(std::move(directory)) {}

  const std::string directory_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace weir::coordination
