// Notifications to the service manager that started this process: sd_notify's protocol.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// Sends, for example, "READY=1" to the socket in NOTIFY_SOCKET: a path, or '@' and an abstract name. Never blocks.
absl::Status NotifyServiceManager(const std::string& socket_name, absl::string_view state);

}  // namespace weir
