#include "distribute/coordination/etcd/etcd_environment.h"

#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weir::coordination {
namespace {

constexpr char kEndpoints[] = "ETCDCTL_ENDPOINTS", kUser[] = "ETCDCTL_USER", kPassword[] = "ETCDCTL_PASSWORD";

std::string ValueOf(const Environment& environment, const std::string& name) {
  const std::string* value = environment.Find(name);
  return value == nullptr ? "" : *value;
}

absl::Status ReadEndpoints(const std::string& text, EtcdOptions* options, bool* https) {
  int secured = 0;
  for (absl::string_view endpoint : absl::StrSplit(text, ',')) {
    secured += absl::ConsumePrefix(&endpoint, "https://") ? 1 : 0;
    absl::ConsumePrefix(&endpoint, "http://");
    options->endpoints.emplace_back(endpoint);
  }
  *https = secured > 0;
  if (secured == 0 || secured == static_cast<int>(options->endpoints.size())) return absl::OkStatus();
  return errors::InvalidArgument(QuoteVariable(kEndpoints, text), ": all endpoints are https:// or none");
}

}  // namespace

absl::StatusOr<EtcdOptions> EtcdOptionsFromEnvironment(const Environment& environment) {
  EtcdOptions options;
  bool https = false;
  const std::string endpoints = ValueOf(environment, kEndpoints);
  RETURN_IF_ERROR(ReadEndpoints(endpoints.empty() ? "127.0.0.1:2379" : endpoints, &options, &https));
  const EtcdTls tls{.ca_file = ValueOf(environment, "ETCDCTL_CACERT"),
                    .certificate_file = ValueOf(environment, "ETCDCTL_CERT"),
                    .key_file = ValueOf(environment, "ETCDCTL_KEY")};
  if (https || !tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.key_file.empty()) options.tls = tls;
  options.password = ValueOf(environment, kPassword);
  const std::string user = ValueOf(environment, kUser);
  const size_t colon = user.find(':');
  options.user = user.substr(0, colon);
  if (colon != std::string::npos) {
    if (!options.password.empty()) {
      return errors::InvalidArgument(kUser, " has a password, and so is ", kPassword, " set: give one of them");
    }
    options.password = user.substr(colon + 1);
  }
  if (options.user.empty() && !options.password.empty()) {
    return errors::InvalidArgument(kPassword, " is set, and ", kUser, " names nobody");
  }
  if (!options.user.empty() && options.password.empty()) {
    return errors::InvalidArgument(kUser, " names '", options.user, "', and there is no password: set ", kPassword);
  }
  return options;
}

}  // namespace weir::coordination
