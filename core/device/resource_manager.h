// Stateful objects (variables, queues, tables) by container, type and name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/api.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/tensor/resource_handle.h"

namespace WEIR_API weir {

// Base of every stateful object. Implementations are thread-safe.
class Resource {
 public:
  virtual ~Resource() = default;
  virtual std::string DebugString() const = 0;
  virtual int64_t MemoryUsed() const { return 0; }
};

// One per device; outlives sessions, so that variables do. Thread-safe. Objects are shared: a removed object lives
// until its last user releases it.
class ResourceManager {
 public:
  static constexpr char kDefaultContainer[] = "localhost";

  // `device` is the full name that handles must have; empty: any.
  explicit ResourceManager(std::string device = "") : device_(std::move(device)) {}

  // AlreadyExists if the container has an object of that type and name.
  template <typename T>
  absl::Status Create(absl::string_view container, absl::string_view name, std::shared_ptr<T> resource) {
    return DoCreate(container, typeid(T), name, std::move(resource));
  }
  // NotFound, naming container and name, if absent.
  template <typename T>
  absl::StatusOr<std::shared_ptr<T>> Lookup(absl::string_view container, absl::string_view name) const {
    ASSIGN_OR_RETURN(std::shared_ptr<Resource> found, DoLookup(container, typeid(T), name));
    return std::static_pointer_cast<T>(std::move(found));
  }
  // `make` runs at most once per object, and holds no lock that lookups of other names need.
  template <typename T>
  absl::StatusOr<std::shared_ptr<T>> LookupOrCreate(absl::string_view container, absl::string_view name,
                                                    const std::function<absl::StatusOr<std::shared_ptr<T>>()>& make) {
    auto erased = [&make]() -> absl::StatusOr<std::shared_ptr<Resource>> { return make(); };
    ASSIGN_OR_RETURN(std::shared_ptr<Resource> found, DoLookupOrCreate(container, typeid(T), name, erased));
    return std::static_pointer_cast<T>(std::move(found));
  }
  // Looks up a handle: InvalidArgument if the handle's type differs from T or it names another device.
  template <typename T>
  absl::StatusOr<std::shared_ptr<T>> Lookup(const ResourceHandle& handle) const {
    ASSIGN_OR_RETURN(std::shared_ptr<Resource> found, DoLookup(handle, typeid(T)));
    return std::static_pointer_cast<T>(std::move(found));
  }
  template <typename T>
  absl::Status Delete(absl::string_view container, absl::string_view name) {
    return DoDelete(container, typeid(T), name);
  }
  absl::Status Delete(const ResourceHandle& handle);
  // A handle that Lookup<T> accepts.
  template <typename T>
  ResourceHandle MakeHandle(absl::string_view device, absl::string_view container, absl::string_view name,
                            absl::string_view type_name) const {
    return DoMakeHandle(device, container, name, typeid(T), type_name);
  }

  void ClearContainer(absl::string_view container);
  void Clear();
  // One line per object, for status pages.
  std::string DebugString() const;
  int64_t MemoryUsed() const;

 private:
  struct Key {
    std::type_index type;
    std::string name;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.type.hash_code(), k.name);
    }
  };
  using Container = absl::flat_hash_map<Key, std::shared_ptr<Resource>>;

  std::shared_ptr<Resource> Find(absl::string_view container, const Key& key) const REQUIRES(mu_);
  absl::Status CheckHandle(const ResourceHandle& handle) const;
  absl::Status DoCreate(absl::string_view container, std::type_index type, absl::string_view name,
                        std::shared_ptr<Resource> resource);
  absl::StatusOr<std::shared_ptr<Resource>> DoLookup(absl::string_view container, std::type_index type,
                                                     absl::string_view name) const;
  absl::StatusOr<std::shared_ptr<Resource>> DoLookup(const ResourceHandle& handle, std::type_index type) const;
  absl::StatusOr<std::shared_ptr<Resource>> DoLookupOrCreate(
      absl::string_view container, std::type_index type, absl::string_view name,
      const std::function<absl::StatusOr<std::shared_ptr<Resource>>()>& make);
  absl::Status DoDelete(absl::string_view container, std::type_index type, absl::string_view name);
  ResourceHandle DoMakeHandle(absl::string_view device, absl::string_view container, absl::string_view name,
                              std::type_index type, absl::string_view type_name) const;

  const std::string device_;
  mutable Mutex mu_;
  std::condition_variable made_;
  absl::flat_hash_map<std::string, Container> containers_ GUARDED_BY(mu_);
  // Objects that a LookupOrCreate is creating.
  absl::flat_hash_set<std::pair<std::string, Key>> making_ GUARDED_BY(mu_);
};

}  // namespace weir
