#include "kernels/device/named_resource.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "absl/strings/ascii.h"
#include "core/device/shared_handle.h"
#include "graph/state_key.h"

namespace weir {
namespace {

bool IsContainerName(const std::string& name) {
  return (absl::ascii_isalnum(name[0]) || name[0] == '.') && std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '/' || c == '_';
         });
}

}  // namespace

absl::StatusOr<ResourceName> ResourceName::Read(OpKernelConstruction& ctx, bool use_node_name) {
  static std::atomic<int64_t> next{0};  // names are unique among all servers of the process
  ResourceName where;
  if (ctx.HasAttr("container")) RETURN_IF_ERROR(ctx.GetAttr("container", &where.container));
  if (ctx.HasAttr("shared_name")) RETURN_IF_ERROR(ctx.GetAttr("shared_name", &where.name));
  // A master names a container of another task's tables that way.
  const std::optional<StateKey> away = KeyOfContainerAway(where.container, where.name);
  const std::string& container = away ? away->container : where.container;
  if (!container.empty() && !IsContainerName(container)) {
    return errors::InvalidArgument("container contains invalid characters: ", where.container);
  }
  if (!where.name.empty() && where.name[0] == '_') {
    return errors::InvalidArgument("shared_name cannot start with '_':", where.name);
  }
  if (where.container.empty()) where.container = ResourceManager::kDefaultContainer;
  if (!where.name.empty()) return where;
  where.is_private = !use_node_name;
  where.name = use_node_name ? ctx.name() : absl::StrCat("_", next.fetch_add(1), "_", ctx.name());
  return where;
}

bool IsNameInput(const OpKernelContext& ctx, int i) { return ctx.input(i).dtype() == DT_STRING; }

absl::StatusOr<ResourceName> NameFromInput(const OpKernelContext& ctx, int i) {
  const Tensor handle = ctx.input_is_ref(i) ? ctx.locked_input(i) : ctx.input(i);
  if (handle.NumElements() != 2) {
    return errors::InvalidArgument("Resource handle must have two elements, but had shape: ",
                                   handle.shape().ToString());
  }
  ResourceName where;
  where.container = handle.data<tstring>()[0];
  where.name = handle.data<tstring>()[1];
  return where;
}

absl::StatusOr<const ResourceHandle*> ResourceFromInput(const OpKernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (input.dtype() == DT_RESOURCE && input.NumElements() == 1) return input.data<ResourceHandle>();
  return errors::InvalidArgument("Input ", i, " must be a resource handle, got ", input.DebugString());
}

void HandleOutput::Init(const OpKernelConstruction& ctx) {
  is_reference_ = RemoveRef(ctx.output_types()[0]) == DT_STRING;
}

void HandleOutput::Set(ResourceHandle handle) {
  handle_ =
      is_reference_ ? Tensor::Vector<tstring>({handle.container, handle.name}) : Tensor::Scalar(std::move(handle));
  is_set_ = true;
}

void HandleOutput::Give(OpKernelContext& ctx, int output) {
  if (is_reference_) {
    ctx.set_output_ref(output, &mutex_, &handle_);
  } else {
    ctx.set_output(output, handle_);
  }
}

absl::Status KeepForStep(const OpKernelContext& ctx, const Tensor& handles) {
  const std::string& container = ctx.step().step_container->name();
  for (int64_t i = 0; i < handles.NumElements(); ++i) {
    const ResourceHandle& handle = handles.data<ResourceHandle>()[i];
    if (handle.resource == nullptr || handle.container != container) continue;
    const absl::Status kept = ctx.resources()->Create<Resource>(container, SharedName(handle), handle.resource);
    if (!kept.ok() && !absl::IsAlreadyExists(kept)) return kept;  // sent before
  }
  return absl::OkStatus();
}

}  // namespace weir
