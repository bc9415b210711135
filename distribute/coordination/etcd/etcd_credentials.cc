#include "distribute/coordination/etcd/etcd_credentials.h"
#include "distribute/transport/grpc_deadline.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace weir::coordination {
namespace {

// The trust store of Debian and related systems.
constexpr char kTrustedByMachine[] = "/etc/ssl/certs/ca-certificates.crt";
constexpr char kPemStart[] = "-----BEGIN ";
constexpr absl::Duration kPatience = absl::Seconds(10);

absl::StatusOr<std::string> ReadPem(const std::string& file, absl::string_view what) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream content;
  if (in) content << in.rdbuf();
  if (!in) return errors::NotFound("etcd: cannot read ", what, " ", file, ": ", std::strerror(errno));
  if (content.str().find(kPemStart) == std::string::npos) {
    return errors::InvalidArgument("etcd: ", what, " ", file, " is not in the PEM format");
  }
  return content.str();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> EtcdCredentials(const EtcdOptions& options) {
  if (!options.tls.has_value()) return grpc::InsecureChannelCredentials();
  const EtcdTls& tls = *options.tls;
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    return errors::InvalidArgument("etcd: a client certificate needs its key, and a key its certificate");
  }
  grpc::SslCredentialsOptions ssl;
  ASSIGN_OR_RETURN(ssl.pem_root_certs,
                   ReadPem(tls.ca_file.empty() ? kTrustedByMachine : tls.ca_file, "the CA certificate"));
  if (!tls.key_file.empty()) {
    ASSIGN_OR_RETURN(ssl.pem_cert_chain, ReadPem(tls.certificate_file, "the client certificate"));
    ASSIGN_OR_RETURN(ssl.pem_private_key, ReadPem(tls.key_file, "the client key"));
  }
  return grpc::SslCredentials(ssl);
}

grpc::Status EtcdToken::AddTo(grpc::ClientContext* context, etcdserverpb::Auth::StubInterface& auth,
                              std::string* token) {
  if (user_.empty()) return grpc::Status::OK;
  {
    MutexLock lock(mu_);
    *token = token_;
  }
  if (token->empty()) {
    etcdserverpb::AuthenticateRequest request;
    request.set_name(user_);
    request.set_password(password_);
    etcdserverpb::AuthenticateResponse response;
    grpc::ClientContext own;
    own.set_deadline(ToGrpcDeadline(std::min(FromGrpcDeadline(context->deadline()), MonotonicNow() + kPatience)));
    const grpc::Status status = auth.Authenticate(&own, request, &response);
    if (!status.ok()) {
      return grpc::Status(status.error_code(), "as user '" + user_ + "': " + status.error_message());
    }
    *token = response.token();
    MutexLock lock(mu_);
    token_ = *token;
  }
  context->AddMetadata("token", *token);
  return grpc::Status::OK;
}

bool EtcdToken::IsRejected(const grpc::Status& status, const std::string& token) {
  if (user_.empty() || status.ok()) return false;
  const std::string& why = status.error_message();
  const bool is_rejected = why == "etcdserver: invalid auth token" ||
                           why == "etcdserver: revision of auth store is old" ||
                           why == "etcdserver: user name is empty";
  if (!is_rejected) return false;
  MutexLock lock(mu_);
  if (token_ == token) token_.clear();
  return true;
}

}  // namespace weir::coordination
