// The variables and tables that a worker's task holds, for itself or as a standby.
#include "absl/container/flat_hash_set.h"
#include "kernels/embedding/embedding_table.h"
#include "kernels/embedding/part_map.h"
#include "kernels/lookup/lookup_table.h"
#include "kernels/state/variable_access.h"
#include "worker/worker.h"

namespace weir {

std::string Worker::ContainerHere(const StateKey& key) const { return ContainerOn(key, options_.task); }

Device* Worker::DeviceOf(const StateKey& key) const {
  const absl::StatusOr<DeviceName> origin = DeviceName::ParseFull(key.device);
  for (Device* device : options_.devices) {
    const DeviceName& name = device->parsed_name();
    if (origin.ok() && name.type == origin->type && name.id == origin->id) return device;
  }
  return nullptr;
}

void Worker::DropMovedState(const ClusterMembership::Snapshot& cluster) {
  MutexLock lock(drop_mu_);
  for (const StateKey& key : state_.MovedAway(cluster)) {
    Device* const device = DeviceOf(key);
    if (device == nullptr) continue;
    ResourceManager* const resources = device->resources();
    const std::string container = ContainerHere(key);
    for (const absl::Status& deleted :
         {resources->Delete<Variable>(container, key.name), resources->Delete<RefVariable>(container, key.name),
          resources->Delete<LookupTable>(container, key.name), resources->Delete<EmbeddingTable>(container, key.name),
          resources->Delete<EmbeddingPartMap>(container, key.name)}) {
      deleted.IgnoreError();  // most were never here
    }
  }
}

bool Worker::HasValue(const StateKey& key) const {
  Device* const device = DeviceOf(key);
  if (device == nullptr) return false;
  const std::string container = ContainerHere(key);
  const absl::StatusOr<std::shared_ptr<Variable>> variable = device->resources()->Lookup<Variable>(container, key.name);
  const absl::StatusOr<std::shared_ptr<RefVariable>> reference =
      device->resources()->Lookup<RefVariable>(container, key.name);
  if (variable.ok() && (*variable)->is_initialized()) return true;
  if (!reference.ok()) return false;
  std::lock_guard<std::mutex> lock(*(*reference)->mutex());
  return (*reference)->tensor()->IsInitialized();
}

bool Worker::HasTable(const StateKey& key) const {
  Device* const device = DeviceOf(key);
  if (device == nullptr) return false;
  const ResourceManager& resources = *device->resources();
  const std::string container = ContainerHere(key);
  return resources.Lookup<LookupTable>(container, key.name).ok() ||
         resources.Lookup<EmbeddingTable>(container, key.name).ok() ||
         resources.Lookup<EmbeddingPartMap>(container, key.name).ok();
}

void Worker::ListHeldState(ListStateResponse* response) const {
  for (StateUse& use : state_.Known()) {
    const StateKey key = ToStateKey(use.state());
    if (state_.Holds(key) && HasValue(key)) *response->add_held() = std::move(use);
  }
  for (HeldTable& table : state_.KnownTables()) {
    const StateKey key = ToStateKey(table.state());
    if (state_.Holds(key) && HasTable(key)) *response->add_held_table() = std::move(table);
  }
}

void Worker::CleanupAllAsync(const CallOptions&, const tensorflow::CleanupAllRequest* request,
                             tensorflow::CleanupAllResponse*, DoneCallback done) {
  absl::flat_hash_set<std::string> containers(request->container().begin(), request->container().end());
  if (containers.empty()) containers.insert(ResourceManager::kDefaultContainer);
  std::vector<std::string> away;  // of variables that have moved here
  for (const StateUse& use : state_.Known()) {
    if (containers.contains(use.state().container())) away.push_back(ContainerHere(ToStateKey(use.state())));
  }
  for (const HeldTable& table : state_.KnownTables()) {
    if (containers.contains(table.state().container())) away.push_back(ContainerHere(ToStateKey(table.state())));
  }
  containers.insert(away.begin(), away.end());
  for (Device* device : options_.devices) {
    for (const std::string& container : containers) device->resources()->ClearContainer(container);
  }
  done(absl::OkStatus());
}

}  // namespace weir
