// weir.StatusService: what a task has.
#pragma once

#include <vector>

#include "core/device.h"
#include "distribute/transport/grpc_server.h"

namespace weir {

// Lists what the devices, which outlive the server, have in their ResourceManagers: a MiB of it.
ServerMethod ListResourcesMethod(std::vector<Device*> devices);
// Tells of those of the devices that are GPUs, which outlive the server.
ServerMethod ListGpusMethod(const std::vector<Device*>& devices);

}  // namespace weir
