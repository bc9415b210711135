// Where an S3 store is, and who asks it: from the variables and files that AWS's programs use.
#pragma once

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/status.h"

namespace weir {

struct S3Credentials {
  std::string access_key, secret_key, session_token;
  // Without credentials requests are not signed, which public buckets accept.
  bool is_anonymous() const { return access_key.empty(); }
};

struct S3Settings {
  S3Credentials credentials;
  std::string region = "us-east-1";
  std::string endpoint;  // "https://host:port" of a store other than AWS; its buckets are addressed by path
  bool verify_tls = true;
  std::string ca_file;  // empty: the system's
};

using EnvironmentLookup = absl::FunctionRef<std::optional<std::string>(const char* name)>;

// From
// - AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, otherwise the section AWS_PROFILE ("default") of
//   ~/.aws/credentials, or of the file that AWS_SHARED_CREDENTIALS_FILE names;
// - AWS_REGION or AWS_DEFAULT_REGION, otherwise that profile of ~/.aws/config (AWS_CONFIG_FILE);
// - AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, otherwise TensorFlow's S3_ENDPOINT with S3_USE_HTTPS and S3_VERIFY_SSL;
// - AWS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE.
// S3_VERIFY_SSL=0 applies to such an endpoint only. FailedPrecondition, naming the variable, file or key, if one of
// them cannot be used, such as a profile with a role and no access key.
absl::StatusOr<S3Settings> LoadS3Settings(EnvironmentLookup lookup);
absl::StatusOr<S3Settings> LoadS3Settings();  // of the process's environment

}  // namespace weir
