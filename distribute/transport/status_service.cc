#include "distribute/transport/status_service.h"

#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/resource_manager.h"
#include "distribute/transport/message_method.h"
#include "weir/status.pb.h"

namespace weir {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

void Describe(Device& device, size_t* room, ListResourcesResponse::Device* out) {
  out->set_name(device.name());
  out->set_bytes(device.resources()->MemoryUsed());
  const std::string all = device.resources()->DebugString();
  for (const absl::string_view line : absl::StrSplit(all, '\n', absl::SkipEmpty())) {
    if (line.size() > *room) {
      out->set_left_out(out->left_out() + 1);
      continue;
    }
    *room -= line.size();
    out->add_resource(std::string(line));
  }
}

}  // namespace

ServerMethod ListResourcesMethod(std::vector<Device*> devices) {
  return {"/weir.StatusService/ListResources", [devices = std::move(devices)](ServerCall* call) {
            ServeMessage<ListResourcesRequest, ListResourcesResponse>(
                call, [&](const CallOptions&, auto messages, auto done) {
                  size_t room = kMaxBytes;
                  for (Device* device : devices) Describe(*device, &room, messages->response.add_device());
                  done(absl::OkStatus());
                });
          }};
}

}  // namespace weir
