// The sessions that use the objects at which steps wait for each other: queues, accumulators, barriers, staging areas.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "core/device/resource_manager.h"
#include "core/kernel/op_kernel.h"
#include "core/mutex.h"

namespace weir {

// Kept in a device's resource manager, so that a worker can tell whose death a wait concerns.
// - Thread-safe; never blocks.
// - Sessions are named by their handles; steps without a session are not recorded.
// - Objects are kept by address, and forgotten once they are destroyed.
class ResourceUsers : public Resource, public std::enable_shared_from_this<ResourceUsers> {
 public:
  struct User {
    std::string session;
    absl::Time last_use;
  };
  // A kernel that waits until another step changes an object.
  struct Wait {
    int64_t step_id = 0;
    std::string session, node, op, device;
    std::string object;  // "queue 'tokens'"
    absl::Time since;
    std::vector<User> users;  // of the object, the waiting session included
  };

  // Those of the device; made by the first call.
  static std::shared_ptr<ResourceUsers> Of(ResourceManager& resources);
  // Null if no kernel has made them.
  static std::shared_ptr<ResourceUsers> Find(const ResourceManager& resources);

  std::string DebugString() const override;

  // The kernel's session uses `object`, whose description starts with `kind`.
  void Use(const OpKernelContext& ctx, std::shared_ptr<const Resource> object, const char* kind,
           absl::string_view name);
  // The same; the kernel waits there until it calls the result, which calls `done`.
  AsyncOpKernel::DoneCallback Await(const OpKernelContext& ctx, std::shared_ptr<const Resource> object,
                                    const char* kind, absl::string_view name, AsyncOpKernel::DoneCallback done);

  // The waits that began before `before`.
  std::vector<Wait> WaitsFrom(absl::Time before) const;
  // The session was closed.
  void Forget(absl::string_view session);
  // Forgets `session` as a user of the objects that one of `successors` has used too. False: it uses none any more.
  bool ForgetSucceeded(absl::string_view session, const absl::flat_hash_set<std::string>& successors);

 private:
  struct Object {
    std::weak_ptr<const Resource> alive;
    std::string description;
    absl::flat_hash_map<std::string, absl::Time> users;
  };
  // Its context lives until the kernel is done.
  struct Waiting {
    const OpKernelContext* ctx = nullptr;
    std::shared_ptr<Object> object;
    absl::Time since;
  };
  using Waits = std::list<Waiting>;

  std::shared_ptr<Object> Find(const std::shared_ptr<const Resource>& object, const char* kind, absl::string_view name)
      REQUIRES(mu_);
  void End(Waits::iterator wait);

  mutable Mutex mu_;
  absl::flat_hash_map<const Resource*, std::shared_ptr<Object>> objects_ GUARDED_BY(mu_);
  size_t purge_at_ GUARDED_BY(mu_) = 64;  // this many objects
  Waits waits_ GUARDED_BY(mu_);
};

// For kernels, as ResourceUsers::Use and ResourceUsers::Await.
template <typename R>
void UseShared(const OpKernelContext& ctx, std::shared_ptr<R> object, const char* kind, absl::string_view name) {
  if (ctx.step().session_handle.empty()) return;
  ResourceUsers::Of(*ctx.resources())->Use(ctx, std::move(object), kind, name);
}
template <typename R>
AsyncOpKernel::DoneCallback AwaitShared(const OpKernelContext& ctx, std::shared_ptr<R> object, const char* kind,
                                        absl::string_view name, AsyncOpKernel::DoneCallback done) {
  if (ctx.step().session_handle.empty()) return done;
  return ResourceUsers::Of(*ctx.resources())->Await(ctx, std::move(object), kind, name, std::move(done));
}

}  // namespace weir
