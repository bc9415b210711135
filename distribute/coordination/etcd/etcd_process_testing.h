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

// Certificates that openssl has made, in files of `directory`: ca.pem; server.pem and .key, for 127.0.0.1; client.pem
// and .key; and other.pem, of somebody else. NOT_FOUND where there is no openssl.
absl::Status MakeCertificates(const std::string& directory);

// Members on random ports with data in a directory of their own, which goes with this object, as the processes do.
class EtcdProcesses {
 public:
  // NOT_FOUND, with what to install, where there is no etcd. Returns when the members serve.
  // With `tls` they speak it, and ask clients for a certificate.
  static absl::StatusOr<std::unique_ptr<EtcdProcesses>> Start(int members = 1, bool tls = false);
  ~EtcdProcesses();

  void Kill(int member = 0);  // SIGKILL
  void Restart(int member = 0);
  void Stop(int member = 0);  // SIGSTOP: it stays connected, and silent
  const std::string& address(int member = 0) const { return members_[member]->client->address(); }
  // Of a client that they trust, but for user and password.
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
