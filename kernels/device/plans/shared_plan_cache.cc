#include "kernels/device/plans/shared_plan_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

struct SharedPlanCache : Resource {
  explicit SharedPlanCache(std::shared_ptr<PlanCache> cache_in) : cache(std::move(cache_in)) {}
  std::string DebugString() const override { return absl::StrCat("plans kept in ", cache->path()); }
  const std::shared_ptr<PlanCache> cache;
};

}  // namespace

absl::StatusOr<std::shared_ptr<PlanCache>> PlanCacheOf(GpuDevice& gpu, const std::string& identity) {
  const std::string& directory = gpu.math_settings().plan_cache;
  if (directory.empty()) return nullptr;
  const auto make = [&]() -> absl::StatusOr<std::shared_ptr<SharedPlanCache>> {
    return std::make_shared<SharedPlanCache>(std::make_shared<PlanCache>(NewPosixFileSystem(), directory, identity));
  };
  ASSIGN_OR_RETURN(const auto shared, gpu.resources()->LookupOrCreate<SharedPlanCache>(
                                          "weir_gpu_libraries", absl::StrCat("plans of ", identity), make));
  return shared->cache;
}

}  // namespace weir
