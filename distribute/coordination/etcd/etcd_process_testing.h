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

// Certificates made by openssl in `directory`: ca.pem; server.pem and .key, for 127.0.0.1; client.pem and .key; and
// other.pem, from another CA. NOT_FOUND if there is no openssl.
absl::Status MakeCertificates(const std::string& directory);

// Members on random ports, with data in a temporary directory. Processes and data end with this object.
class EtcdProcesses {
 public:
  // Returns when the members are serving. NOT_FOUND, with the package to install, if there is no etcd. With `tls` they
  // use it and require client certificates.
  static absl::StatusOr<std::unique_ptr<EtcdProcesses>> Start(int members = 1, bool tls = false);
  ~EtcdProcesses();

  void Kill(int member = 0);  // SIGKILL
  void Restart(int member = 0);
  void Stop(int member = 0);  // SIGSTOP: it stays connected, but does not answer
  const std::string& address(int member = 0) const { return members_[member]->client->address(); }
  // The options of a client that they trust, without user and password.
  EtcdOptions options() const;
  std::unique_ptr<EtcdStore> NewClient() const;
  const std::string& directory() const { return directory_; }

 private:
  struct Member {
    std::unique_ptr<ReservedPort> client, peer;
    std::unique_ptr<ServerProcess> process;
  };

  EtcdProcesses(std::string directory, bool tls) : directory_(std::move(directory)), tls_(tls) {}

  std::vector<std::string> Arguments(const std::string& program, const std::string& cluster, int member) const;

  const std::string directory_;
  const bool tls_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace weir::coordination
