#include "client/strategy/device_checks.h"

#include "core/device/device_name.h"

namespace weir {

absl::Status CheckDevices(absl::string_view strategy, const std::vector<std::string>& devices) {
  if (devices.empty()) {
    return errors::InvalidArgument(strategy, " needs at least one device, such as \"/device:CPU:0\"");
  }
  std::vector<std::string> seen;
  for (const std::string& device : devices) {
    auto name = DeviceName::Parse(device);
    RETURN_IF_ERROR(Annotate(name.status(), absl::StrCat("The devices of ", strategy)));
    for (const std::string& other : seen) {
      if (other == name->ToString()) {
        return errors::InvalidArgument(strategy, " was given the device '", device, "' twice: each has one replica");
      }
    }
    seen.push_back(name->ToString());
  }
  return absl::OkStatus();
}

absl::Status CheckOneTask(absl::string_view strategy, const std::vector<std::string>& devices) {
  RETURN_IF_ERROR(CheckDevices(strategy, devices));
  ASSIGN_OR_RETURN(const DeviceName first, DeviceName::Parse(devices[0]));
  for (const std::string& device : devices) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(device));
    if (!name.SameTask(first)) {
      return errors::InvalidArgument(strategy, " works within one task, and was given '", devices[0], "' and '", device,
                                     "': MultiWorkerMirroredStrategy works on several");
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
