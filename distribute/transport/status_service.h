// weir.StatusService: the state of a task.
#pragma once

#include <vector>

#include "core/device/device.h"
#include "distribute/transport/grpc_server.h"

namespace weir {

// Lists the contents of the devices' ResourceManagers, up to one MiB. The devices outlive the server.
ServerMethod ListResourcesMethod(std::vector<Device*> devices);
// Reports memory and graph statistics of those devices that are GPUs. The devices outlive the server.
ServerMethod ListGpusMethod(const std::vector<Device*>& devices);

}  // namespace weir
