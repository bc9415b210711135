#include "client/restore_marker.h"

#include "client/ops.h"
#include "core/device/device.h"
#include "core/device/device_name.h"

namespace weir {
namespace {

// The CPU of the task of `device`; `device` itself if it is no device name.
std::string HostOf(const std::string& device) {
  absl::StatusOr<DeviceName> name = DeviceName::Parse(device);
  if (!name.ok()) return device;
  name->type = kDeviceCpu;
  name->id = 0;
  return name->ToString();
}

}  // namespace

RestoreMarker::RestoreMarker(const Scope& scope, const std::set<std::string>& devices, const std::string& training) {
  // Found by the clients of other processes, whatever the names in their graphs.
  const std::string shared_name = absl::StrCat("weir_restore_in_progress/", training);
  std::set<std::string> hosts;
  for (const std::string& device : devices) hosts.insert(HostOf(device));
  const Scope inner = scope.SubScope("restore_mark");
  std::vector<Operation> begins, ends;
  for (const std::string& host : hosts) {
    const Scope on_host = inner.WithDevice(host);
    // A mark is a variable that exists.
    const Output mark =
        ops::VarHandleOp(on_host.WithName("mark"), DT_BOOL, TensorShape(), {.shared_name = shared_name});
    begins.push_back(ops::AssignVariableOp(on_host.WithName("set"), mark, Tensor::Scalar<bool>(true)));
    ends.push_back(ops::DestroyResourceOp(on_host.WithName("remove"), mark, {.ignore_lookup_error = true}));
    whole_.push_back(ops::LogicalNot(on_host, ops::VarIsInitializedOp(on_host, mark)));
  }
  begin_ = ops::NoOp(inner.WithControlDependencies(begins).WithName("begin"));
  end_ = ops::NoOp(inner.WithControlDependencies(ends).WithName("end"));
}

}  // namespace weir
