#include "core/device/resource_manager.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/device/shared_handle.h"

namespace weir {
namespace {

std::string TypeName(std::type_index type) {
  int failed = 0;
  char* demangled = abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed);
  std::string name = failed == 0 ? demangled : type.name();
  std::free(demangled);
  return name;
}

std::string ContainerName(absl::string_view container) {
  return container.empty() ? ResourceManager::kDefaultContainer : std::string(container);
}

absl::Status NoSuchResource(absl::string_view container, absl::string_view type, absl::string_view name) {
  return errors::NotFound("Resource ", ContainerName(container), "/", name, "/", type, " does not exist.");
}

}  // namespace

std::shared_ptr<Resource> ResourceManager::Find(absl::string_view container, const Key& key) const {
  auto found_container = containers_.find(ContainerName(container));
  if (found_container == containers_.end()) return nullptr;
  auto found = found_container->second.find(key);
  return found == found_container->second.end() ? nullptr : found->second;
}

absl::Status ResourceManager::DoCreate(absl::string_view container, std::type_index type, absl::string_view name,
                                       std::shared_ptr<Resource> resource) {
  if (resource == nullptr) return errors::InvalidArgument("Resource ", name, " to create is null");
  MutexLock lock(mu_);
  const bool inserted =
      containers_[ContainerName(container)].emplace(Key{type, std::string(name)}, std::move(resource)).second;
  if (inserted) return absl::OkStatus();
  return errors::AlreadyExists("Resource ", ContainerName(container), "/", name, "/", TypeName(type),
                               " already exists.");
}

absl::StatusOr<std::shared_ptr<Resource>> ResourceManager::DoLookup(absl::string_view container, std::type_index type,
                                                                    absl::string_view name) const {
  {
    MutexLock lock(mu_);
    if (auto found = Find(container, Key{type, std::string(name)})) return found;
    const std::string within = ContainerName(container);
    if (!containers_.contains(within)) {
      return errors::NotFound("Container ", within, " does not exist. (Could not find resource: ", within, "/", name,
                              ")");
    }
  }
  return NoSuchResource(container, TypeName(type), name);
}

absl::Status ResourceManager::CheckHandle(const ResourceHandle& handle) const {
  if (device_.empty() || handle.device == device_) return absl::OkStatus();
  return errors::InvalidArgument("Trying to access resource ", handle.name, " located in device ", handle.device,
                                 " from device ", device_);
}

absl::StatusOr<std::shared_ptr<Resource>> ResourceManager::DoLookup(const ResourceHandle& handle,
                                                                    std::type_index type) const {
  RETURN_IF_ERROR(CheckHandle(handle));
  if (handle.hash_code != type.hash_code()) {
    return errors::InvalidArgument("Trying to access resource '", handle.name, "' using the wrong type. Expected ",
                                   handle.type_name, " got ", TypeName(type));
  }
  if (handle.resource != nullptr) return handle.resource;
  {
    // An object owned by its handles, one of which came back from another device without its share.
    MutexLock lock(mu_);
    const std::string shared = SharedName(handle);
    if (auto found = Find(handle.container, Key{typeid(Resource), shared})) return found;
  }
  return DoLookup(handle.container, type, handle.name);
}

absl::StatusOr<std::shared_ptr<Resource>> ResourceManager::DoLookupOrCreate(
    absl::string_view container, std::type_index type, absl::string_view name,
    const std::function<absl::StatusOr<std::shared_ptr<Resource>>()>& make) {
  const std::pair<std::string, Key> id(ContainerName(container), Key{type, std::string(name)});
  {
    MutexLock lock(mu_);
    for (;;) {
      if (auto found = Find(container, id.second)) return found;
      // If another caller's `make` fails, this one retries.
      if (making_.insert(id).second) break;
      lock.Wait(made_);
    }
  }
  absl::StatusOr<std::shared_ptr<Resource>> made = make();
  if (made.ok() && *made == nullptr) made = errors::Internal("Resource ", name, " was made as null");
  MutexLock lock(mu_);
  making_.erase(id);
  made_.notify_all();
  if (!made.ok()) return made;
  // A concurrent Create may have come first: its object wins.
  return containers_[id.first].emplace(id.second, *made).first->second;
}

absl::Status ResourceManager::DoDelete(absl::string_view container, std::type_index type, absl::string_view name) {
  std::shared_ptr<Resource> removed;  // destroyed after the lock is released
  MutexLock lock(mu_);
  auto found_container = containers_.find(ContainerName(container));
  if (found_container == containers_.end()) {
    return errors::NotFound("Container ", ContainerName(container), " does not exist.");
  }
  auto found = found_container->second.find(Key{type, std::string(name)});
  if (found == found_container->second.end()) return NoSuchResource(container, TypeName(type), name);
  removed = std::move(found->second);
  found_container->second.erase(found);
  return absl::OkStatus();
}

absl::Status ResourceManager::Delete(const ResourceHandle& handle) {
  RETURN_IF_ERROR(CheckHandle(handle));
  std::shared_ptr<Resource> removed;
  MutexLock lock(mu_);
  auto found_container = containers_.find(ContainerName(handle.container));
  if (found_container != containers_.end()) {
    for (auto it = found_container->second.begin(); it != found_container->second.end(); ++it) {
      if (it->first.type.hash_code() != handle.hash_code || it->first.name != handle.name) continue;
      removed = std::move(it->second);
      found_container->second.erase(it);
      return absl::OkStatus();
    }
  }
  return NoSuchResource(handle.container, handle.type_name, handle.name);
}

ResourceHandle ResourceManager::DoMakeHandle(absl::string_view device, absl::string_view container,
                                             absl::string_view name, std::type_index type,
                                             absl::string_view type_name) const {
  ResourceHandle handle;
  handle.device = std::string(device);
  handle.container = ContainerName(container);
  handle.name = std::string(name);
  handle.hash_code = type.hash_code();
  handle.type_name = std::string(type_name);
  return handle;
}

void ResourceManager::ClearContainer(absl::string_view container) {
  Container removed;
  MutexLock lock(mu_);
  auto found = containers_.find(ContainerName(container));
  if (found == containers_.end()) return;
  removed = std::move(found->second);
  containers_.erase(found);
}

void ResourceManager::Clear() {
  absl::flat_hash_map<std::string, Container> removed;
  MutexLock lock(mu_);
  removed.swap(containers_);
}

std::string ResourceManager::DebugString() const {
  struct Entry {
    std::string where;
    std::shared_ptr<Resource> resource;
  };
  std::vector<Entry> entries;
  {
    MutexLock lock(mu_);
    for (const auto& [container, resources] : containers_) {
      for (const auto& [key, resource] : resources) {
        entries.push_back({absl::StrCat(container, "/", key.name, " (", TypeName(key.type), ")"), resource});
      }
    }
  }
  std::vector<std::string> lines;
  for (const Entry& entry : entries) lines.push_back(absl::StrCat(entry.where, ": ", entry.resource->DebugString()));
  std::sort(lines.begin(), lines.end());
  return absl::StrJoin(lines, "\n");
}

int64_t ResourceManager::MemoryUsed() const {
  std::vector<std::shared_ptr<Resource>> resources;
  {
    MutexLock lock(mu_);
    for (const auto& [name, container] : containers_) {
      for (const auto& [key, resource] : container) resources.push_back(resource);
    }
  }
  int64_t bytes = 0;
  for (const auto& resource : resources) bytes += resource->MemoryUsed();
  return bytes;
}

}  // namespace weir
