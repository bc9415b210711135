#include "distribute/cluster/address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace weir {
namespace {

constexpr absl::string_view kUnixPrefix = "unix:";

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return errors::InvalidArgument("'", text, "' is not an address (", why,
                                 "): give host:port, [ipv6]:port or unix:path");
}

}  // namespace

absl::StatusOr<Address> Address::Parse(absl::string_view text) {
  Address address;
  if (absl::StartsWith(text, kUnixPrefix)) {
    address.unix_ = true;
    address.host_ = std::string(text.substr(kUnixPrefix.size()));
    if (address.host_.empty()) return Malformed(text, "no path");
    if (address.host_.size() >= sizeof(sockaddr_un::sun_path)) return Malformed(text, "the path is too long");
    return address;
  }
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(text, "no port");
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    in6_addr parsed;
    if (::inet_pton(AF_INET6, std::string(host).c_str(), &parsed) != 1) return Malformed(text, "no IPv6 host");
  } else if (host.find(':') != absl::string_view::npos) {
    return Malformed(text, "an IPv6 host stands in brackets");
  }
  if (host.empty()) return Malformed(text, "no host");
  for (char c : host) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '.' && c != '_' && c != ':' && c != '%') {
      return Malformed(text, "a host has letters, digits, '-' and '.'");
    }
  }
  bool digits = !port.empty() && port.size() <= 5;
  for (char c : port) digits = digits && absl::ascii_isdigit(c);
  if (!digits || !absl::SimpleAtoi(port, &address.port_) || address.port_ > 65535) {
    return Malformed(text, "a port is a number from 0 to 65535");
  }
  address.host_ = std::string(host);
  return address;
}

bool Address::IsLoopback() const {
  in_addr parsed;  // "127.example.com" may resolve to any host
  return unix_ || host_ == "localhost" || host_ == "::1" ||
         (absl::StartsWith(host_, "127.") && ::inet_pton(AF_INET, host_.c_str(), &parsed) == 1);
}

Address Address::WithPort(int port) const {
  Address copy = *this;
  if (!unix_) copy.port_ = port;
  return copy;
}

std::string Address::ToString() const {
  if (unix_) return absl::StrCat(kUnixPrefix, host_);
  if (absl::StrContains(host_, ":")) return absl::StrCat("[", host_, "]:", port_);
  return absl::StrCat(host_, ":", port_);
}

}  // namespace weir
