// Objects that one op makes and others find through a handle: queues, tables, readers. A handle is a resource, or, for
// the first versions of many ops, a reference to the strings [container, name].
#pragma once

#include <memory>
#include <string>

#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "core/tensor/resource_handle.h"

namespace weir {

// Where the object of a kernel is kept.
struct ResourceName {
  // From the attributes container and shared_name. Without a shared name it is the node's name with `use_node_name`, or
  // else one that no other kernel has.
  static absl::StatusOr<ResourceName> Read(OpKernelConstruction& ctx, bool use_node_name = false);

  std::string container, name;
  bool is_private = false;  // no other kernel can have this name
};

// Whether input i is a handle of the older kind, and the name in it.
bool IsNameInput(const OpKernelContext& ctx, int i);
absl::StatusOr<ResourceName> NameFromInput(const OpKernelContext& ctx, int i);
// The handle in input i: InvalidArgument unless it is a resource scalar.
absl::StatusOr<const ResourceHandle*> ResourceFromInput(const OpKernelContext& ctx, int i);

// The object behind handle input i, of either kind.
template <typename R>
absl::StatusOr<std::shared_ptr<R>> FindResource(const OpKernelContext& ctx, int i) {
  if (IsNameInput(ctx, i)) {
    ASSIGN_OR_RETURN(const ResourceName where, NameFromInput(ctx, i));
    return ctx.resources()->Lookup<R>(where.container, where.name);
  }
  ASSIGN_OR_RETURN(const ResourceHandle* handle, ResourceFromInput(ctx, i));
  return ctx.resources()->Lookup<R>(*handle);
}

// A handle that owns `object`. When it is sent to another device, which gets the name alone, KeepForStep finds the
// object again for handles that come back.
template <typename R>
ResourceHandle OwningHandle(const OpKernelContext& ctx, std::shared_ptr<R> object, absl::string_view name,
                            absl::string_view type_name) {
  const std::string unique = absl::StrCat(name, "_", absl::Hex(reinterpret_cast<uintptr_t>(object.get())));
  ResourceHandle handle =
      ctx.resources()->MakeHandle<R>(ctx.device()->name(), ctx.step().step_container->name(), unique, type_name);
  handle.resource = std::move(object);
  return handle;
}

// Keeps the objects of OwningHandles among `handles` until the end of the step.
absl::Status KeepForStep(const OpKernelContext& ctx, const Tensor& handles);

// The handle that a kernel gives out, in the kind that its op has.
class HandleOutput {
 public:
  void Init(const OpKernelConstruction& ctx);
  bool is_set() const { return is_set_; }
  void Set(ResourceHandle handle);
  void Give(OpKernelContext& ctx, int output);

 private:
  bool is_reference_ = false, is_set_ = false;
  Tensor handle_;
  std::mutex mutex_;  // nobody writes; references come with one
};

// Makes an object when it first runs, or finds the one of its name, and gives its handle. A private object goes with
// the kernel, and with the last handle to it.
template <typename R>
class ResourceKernel : public OpKernel {
 public:
  ~ResourceKernel() override {
    if (owner_ != nullptr) owner_->Delete<R>(where_.container, where_.name).IgnoreError();
  }

  absl::Status Init(OpKernelConstruction& ctx) final {
    handle_.Init(ctx);
    bool use_node_name = false;
    if (ctx.HasAttr("use_node_name_sharing")) {
      RETURN_IF_ERROR(ctx.GetAttr("use_node_name_sharing", &use_node_name));
    }
    ASSIGN_OR_RETURN(where_, ResourceName::Read(ctx, use_node_name));
    return Configure(ctx);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    MutexLock lock(mu_);
    if (!handle_.is_set()) {
      const auto make = [this, &ctx] { return Make(ctx, where_.name); };
      ASSIGN_OR_RETURN(std::shared_ptr<R> object,
                       ctx.resources()->LookupOrCreate<R>(where_.container, where_.name, make));
      RETURN_IF_ERROR(CheckMatches(*object));
      ResourceHandle handle =
          ctx.resources()->MakeHandle<R>(ctx.device()->name(), where_.container, where_.name, TypeName());
      if (where_.is_private) {
        owner_ = ctx.resources();
        handle.resource = std::move(object);
      }
      handle_.Set(std::move(handle));
    }
    handle_.Give(ctx, 0);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 protected:
  // Reads further attributes.
  virtual absl::Status Configure(OpKernelConstruction& ctx) { return absl::OkStatus(); }
  virtual absl::StatusOr<std::shared_ptr<R>> Make(OpKernelContext& ctx, const std::string& name) = 0;
  // Refuses an object that another kernel made under this name with other properties.
  virtual absl::Status CheckMatches(const R& object) const { return absl::OkStatus(); }
  // What handles say.
  virtual std::string TypeName() const = 0;
  const std::string& name() const { return where_.name; }

 private:
  ResourceName where_;
  Mutex mu_;
  HandleOutput handle_;
  ResourceManager* owner_ = nullptr;
};

}  // namespace weir
