#include "kernels/device/resource_users.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "core/device/device.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// Clearing a container of a client must not clear these.
constexpr char kContainer[] = "_weir";
constexpr char kName[] = "resource_users";

}  // namespace

std::shared_ptr<ResourceUsers> ResourceUsers::Find(const ResourceManager& resources) {
  auto found = resources.Lookup<ResourceUsers>(kContainer, kName);
  return found.ok() ? *std::move(found) : nullptr;
}

std::shared_ptr<ResourceUsers> ResourceUsers::Of(ResourceManager& resources) {
  if (std::shared_ptr<ResourceUsers> found = Find(resources); found != nullptr) return found;
  return resources
      .LookupOrCreate<ResourceUsers>(
          kContainer, kName,
          []() -> absl::StatusOr<std::shared_ptr<ResourceUsers>> { return std::make_shared<ResourceUsers>(); })
      .value();
}

std::string ResourceUsers::DebugString() const {
  MutexLock lock(mu_);
  return absl::StrCat("Users of ", objects_.size(), " shared objects, ", waits_.size(), " waits");
}

std::shared_ptr<ResourceUsers::Object> ResourceUsers::Find(const std::shared_ptr<const Resource>& object,
                                                           const char* kind, absl::string_view name) {
  std::shared_ptr<Object>& known = objects_[object.get()];
  if (known != nullptr && !known->alive.expired()) return known;
  known = std::make_shared<Object>();
  known->alive = object;
  known->description = absl::StrCat(kind, " '", name, "'");
  std::shared_ptr<Object> added = known;
  if (objects_.size() >= purge_at_) {
    absl::erase_if(objects_, [](const auto& entry) { return entry.second->alive.expired(); });
    purge_at_ = std::max(purge_at_, 2 * objects_.size());
  }
  return added;
}

void ResourceUsers::Use(const OpKernelContext& ctx, std::shared_ptr<const Resource> object, const char* kind,
                        absl::string_view name) {
  const absl::Time now = MonotonicNow();
  MutexLock lock(mu_);
  Find(object, kind, name)->users[ctx.step().session_handle] = now;
}

AsyncOpKernel::DoneCallback ResourceUsers::Await(const OpKernelContext& ctx, std::shared_ptr<const Resource> object,
                                                 const char* kind, absl::string_view name,
                                                 AsyncOpKernel::DoneCallback done) {
  const absl::Time now = MonotonicNow();
  Waits::iterator wait;
  {
    MutexLock lock(mu_);
    std::shared_ptr<Object> known = Find(object, kind, name);
    known->users[ctx.step().session_handle] = now;
    wait = waits_.insert(waits_.end(), {&ctx, std::move(known), now});
  }
  return [self = shared_from_this(), wait, done = std::move(done)](absl::Status status) {
    self->End(wait);
    done(std::move(status));
  };
}

void ResourceUsers::End(Waits::iterator wait) {
  const absl::Time now = MonotonicNow();
  MutexLock lock(mu_);
  // Unless the session was closed meanwhile.
  const auto user = wait->object->users.find(wait->ctx->step().session_handle);
  if (user != wait->object->users.end()) user->second = now;
  waits_.erase(wait);
}

std::vector<ResourceUsers::Wait> ResourceUsers::WaitsFrom(absl::Time before) const {
  std::vector<Wait> waits;
  MutexLock lock(mu_);
  for (const Waiting& waiting : waits_) {
    if (waiting.since >= before) continue;
    const tensorflow::NodeDef& node = waiting.ctx->node_def();
    Wait& wait = waits.emplace_back(Wait{.step_id = waiting.ctx->step().step_id,
                                         .session = waiting.ctx->step().session_handle,
                                         .node = node.name(),
                                         .op = node.op(),
                                         .device = waiting.ctx->device()->name(),
                                         .object = waiting.object->description,
                                         .since = waiting.since});
    for (const auto& [session, last_use] : waiting.object->users) wait.users.push_back({session, last_use});
  }
  return waits;
}

void ResourceUsers::Forget(absl::string_view session) {
  MutexLock lock(mu_);
  for (const auto& [address, object] : objects_) object->users.erase(session);
}

bool ResourceUsers::ForgetSucceeded(absl::string_view session, const absl::flat_hash_set<std::string>& successors) {
  bool is_known = false;
  MutexLock lock(mu_);
  for (const auto& [address, object] : objects_) {
    if (object->alive.expired() || !object->users.contains(session)) continue;
    const bool has_successor = std::any_of(object->users.begin(), object->users.end(),
                                           [&](const auto& user) { return successors.contains(user.first); });
    if (has_successor) {
      object->users.erase(session);
    } else {
      is_known = true;
    }
  }
  return is_known;
}

}  // namespace weir
