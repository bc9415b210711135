// What a service manager that started this process wants to know: sd_notify's protocol.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// Sends "READY=1", say, to the socket that NOTIFY_SOCKET names: a path, or '@' and an abstract name. Never waits.
absl::Status NotifyServiceManager(const std::string& socket_name, absl::string_view state);

}  // namespace weir
