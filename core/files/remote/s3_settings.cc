#include "core/files/remote/s3_settings.h"

#include <cstdlib>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/files/file_system.h"
#include "core/files/remote/remote_file_systems.h"
#include "core/files/remote/url_text.h"
#include "core/logging.h"

namespace weir {
namespace {

constexpr uint64_t kMaxSettingsFile = 1 << 20;

using Section = std::map<std::string, std::string>;
using Sections = std::map<std::string, Section>;

std::optional<std::string> ProcessVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// The first of these variables that is set and not empty.
std::string FirstOf(EnvironmentLookup lookup, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto value = lookup(name); value.has_value() && !value->empty()) return *value;
  }
  return "";
}

// "[name]", "key = value", comments behind '#' or ';' at the beginning of a line. Indented lines continue a value and
// are skipped.
Sections ParseSections(absl::string_view text) {
  Sections sections;
  Section* section = nullptr;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || absl::ascii_isspace(line[0]) || line[0] == '#' || line[0] == ';') continue;
    line = absl::StripAsciiWhitespace(line);
    if (line.size() > 1 && line[0] == '[' && line.back() == ']') {
      absl::string_view name = absl::StripAsciiWhitespace(line.substr(1, line.size() - 2));
      if (absl::ConsumePrefix(&name, "profile ")) name = absl::StripLeadingAsciiWhitespace(name);
      section = &sections[std::string(name)];
    } else if (const size_t equals = line.find('='); section != nullptr && equals != absl::string_view::npos) {
      (*section)[std::string(absl::StripTrailingAsciiWhitespace(line.substr(0, equals)))] =
          std::string(absl::StripLeadingAsciiWhitespace(line.substr(equals + 1)));
    }
  }
  return sections;
}

// The sections of the file `variable` names, or of `fallback` below the home directory; none if there is no such file.
absl::StatusOr<Sections> ReadSections(EnvironmentLookup lookup, const char* variable, const char* fallback) {
  std::string path = FirstOf(lookup, {variable});
  if (path.empty()) {
    const std::string home = FirstOf(lookup, {"HOME"});
    if (home.empty()) return Sections();
    path = JoinPath(home, fallback);
  }
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const absl::StatusOr<std::string> text = ReadFileToString(files.get(), path, kMaxSettingsFile);
  if (text.ok()) return ParseSections(*text);
  if (absl::IsNotFound(text.status())) return Sections();
  return errors::FailedPrecondition(text.status().message(), "; the file of AWS settings cannot be read");
}

std::string ValueIn(const Section& section, const std::string& key) {
  const auto found = section.find(key);
  return found == section.end() ? "" : found->second;
}

// Keys by which other programs get credentials that this one cannot.
absl::Status CheckSupported(const std::string& name, const Section& profile) {
  for (const auto& [key, value] : profile) {
    if (key != "role_arn" && key != "credential_process" && key != "source_profile" && key != "credential_source" &&
        key != "web_identity_token_file" && !absl::StartsWith(key, "sso_")) {
      continue;
    }
    return errors::FailedPrecondition("The AWS profile \"", name, "\" has ", absl::CEscape(key),
                                      ", which is not supported, and no access key: let a program that can use it "
                                      "write aws_access_key_id and aws_secret_access_key");
  }
  return absl::OkStatus();
}

absl::Status LoadCredentials(EnvironmentLookup lookup, const Section& profile, S3Credentials* credentials) {
  credentials->access_key = FirstOf(lookup, {"AWS_ACCESS_KEY_ID"});
  credentials->secret_key = FirstOf(lookup, {"AWS_SECRET_ACCESS_KEY"});
  credentials->session_token = FirstOf(lookup, {"AWS_SESSION_TOKEN"});
  if (credentials->access_key.empty() != credentials->secret_key.empty()) {
    return errors::FailedPrecondition("Only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set: set both");
  }
  if (!credentials->access_key.empty()) return absl::OkStatus();
  credentials->access_key = ValueIn(profile, "aws_access_key_id");
  credentials->secret_key = ValueIn(profile, "aws_secret_access_key");
  credentials->session_token = ValueIn(profile, "aws_session_token");
  if (credentials->access_key.empty() == credentials->secret_key.empty()) return absl::OkStatus();
  return errors::FailedPrecondition(
      "The AWS profile has only one of aws_access_key_id and aws_secret_access_key: give both");
}

bool IsOff(const std::string& value) { return value == "0" || absl::EqualsIgnoreCase(value, "false"); }

absl::StatusOr<std::string> LoadEndpoint(EnvironmentLookup lookup, const Section& profile) {
  std::string endpoint = FirstOf(lookup, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.empty()) endpoint = FirstOf(lookup, {"S3_ENDPOINT"});
  if (endpoint.empty()) endpoint = ValueIn(profile, "endpoint_url");
  if (endpoint.empty()) return endpoint;
  if (!absl::StrContains(endpoint, "://")) {
    endpoint = absl::StrCat(IsOff(FirstOf(lookup, {"S3_USE_HTTPS"})) ? "http://" : "https://", endpoint);
  }
  while (absl::EndsWith(endpoint, "/")) endpoint.pop_back();
  const absl::string_view host = absl::string_view(endpoint).substr(endpoint.find("://") + 3);
  const bool is_web = absl::StartsWith(endpoint, "http://") || absl::StartsWith(endpoint, "https://");
  const bool is_plain = !host.empty() && host.find_first_of("?#@ \t\r\n") == absl::string_view::npos;
  if (is_web && is_plain) return endpoint;
  return errors::FailedPrecondition("The S3 endpoint \"", absl::CEscape(RedactedUrl(endpoint)),
                                    "\" is not of the form https://HOST[:PORT]");
}

bool IsRegion(absl::string_view region) {
  return region.size() < 64 && std::all_of(region.begin(), region.end(),
                                           [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

}  // namespace

absl::StatusOr<S3Settings> LoadS3Settings(EnvironmentLookup lookup) {
  S3Settings settings;
  ASSIGN_OR_RETURN(const Sections credentials, ReadSections(lookup, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"));
  ASSIGN_OR_RETURN(const Sections config, ReadSections(lookup, "AWS_CONFIG_FILE", ".aws/config"));
  const std::string asked = FirstOf(lookup, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const std::string name = asked.empty() ? "default" : asked;
  if (!asked.empty() && credentials.count(name) == 0 && config.count(name) == 0) {
    return errors::FailedPrecondition("AWS_PROFILE is \"", name,
                                      "\", but neither ~/.aws/credentials nor ~/.aws/config has that profile");
  }
  Section profile;
  if (const auto found = credentials.find(name); found != credentials.end()) profile = found->second;
  if (const auto found = config.find(name); found != config.end()) {
    profile.insert(found->second.begin(), found->second.end());
  }
  RETURN_IF_ERROR(LoadCredentials(lookup, profile, &settings.credentials));
  if (settings.credentials.is_anonymous()) RETURN_IF_ERROR(CheckSupported(name, profile));
  std::string region = FirstOf(lookup, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region.empty()) region = ValueIn(profile, "region");
  if (!region.empty()) settings.region = region;
  if (!IsRegion(settings.region)) {
    return errors::FailedPrecondition("\"", settings.region,
                                      "\" is no AWS region: set AWS_REGION to one like us-east-1");
  }
  ASSIGN_OR_RETURN(settings.endpoint, LoadEndpoint(lookup, profile));
  settings.verify_tls = settings.endpoint.empty() || !IsOff(FirstOf(lookup, {"S3_VERIFY_SSL"}));
  if (!settings.verify_tls) {
    WEIR_LOG(WARNING) << "S3_VERIFY_SSL=0: the certificate of " << settings.endpoint << " is not checked";
  }
  settings.ca_file = FirstOf(lookup, {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  return settings;
}

absl::StatusOr<S3Settings> LoadS3Settings() { return LoadS3Settings(&ProcessVariable); }

std::string CaFile() { return FirstOf(&ProcessVariable, {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}); }

}  // namespace weir
