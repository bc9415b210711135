// The address of a task.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// "host:port", "[ipv6]:port" or "unix:path". A value.
class Address {
 public:
  // InvalidArgument, which quotes the text, for anything else: the port must be 0 to 65535, and an IPv6 host in
  // brackets. Port 0 (the system chooses) is only valid for listening.
  static absl::StatusOr<Address> Parse(absl::string_view text);

  const std::string& host() const { return host_; }  // without brackets; for unix: the path
  int port() const { return port_; }
  bool is_unix() const { return unix_; }
  // True if only this machine can reach it.
  bool IsLoopback() const;
  Address WithPort(int port) const;
  std::string ToString() const;

  friend bool operator==(const Address& a, const Address& b) = default;

 private:
  std::string host_;
  int port_ = 0;
  bool unix_ = false;
};

}  // namespace weir
