// Reserves ports for servers that start later.
#pragma once

#include <memory>
#include <string>

#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

// A port that the system assigns to no other socket while this object lives. Servers that set SO_REUSEADDR, as Weir's
// do, can listen on it, repeatedly.
class ReservedPort {
 public:
  // `host` is an address of this machine, or a name that has one.
  static absl::StatusOr<std::unique_ptr<ReservedPort>> Create(const std::string& host = "127.0.0.1");
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;

  const std::string& address() const { return address_; }  // "HOST:PORT"

 private:
  ReservedPort(int fd, std::string address) : fd_(fd), address_(std::move(address)) {}

  const int fd_;
  const std::string address_;
};

}  // namespace weir
