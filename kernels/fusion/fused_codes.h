// The compiled kernels of a device.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/device/resource_manager.h"
#include "core/gpu/gpu_device.h"
#include "core/mutex.h"
#include "kernels/fusion/code_cache.h"
#include "kernels/fusion/kernel_compiler.h"

namespace weir {

// How fused nodes ran.
struct FusionStats {
  std::atomic<int64_t> fused{0};     // as one kernel, or with a reduction behind it
  std::atomic<int64_t> stepwise{0};  // by the kernels of single ops
  std::atomic<int64_t> compiled{0};  // kernels that no file had
};

// Thread-safe. Each source is compiled once, on the first thread that asks; the log says why one was not, once.
class FusedCodes : public Resource {
 public:
  // The most kernels that are remembered: those used last. Those that a node holds stay loaded all the same.
  static constexpr size_t kMostKernels = 4096;

  // `compiler` may be null: then there is no code. So may `cache`.
  FusedCodes(std::shared_ptr<KernelCompiler> compiler, std::shared_ptr<CodeCache> cache)
      : compiler_(std::move(compiler)), cache_(std::move(cache)) {}
  std::string DebugString() const override;

  // What FusedArgs.function takes; nullptr where there is none, now or ever: nobody compiles, the source failed,
  // another thread is at it, or `may_compile` is false and it is not there yet.
  std::shared_ptr<const void> Find(const std::string& source, bool may_compile);
  FusionStats& stats() { return stats_; }

 private:
  struct Entry {
    bool is_ready = false;  // not, while a thread compiles
    std::shared_ptr<const void> function;
    std::list<std::string>::iterator use;
  };

  absl::StatusOr<std::shared_ptr<const void>> Make(const std::string& source);
  void ForgetOldest() EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<KernelCompiler> compiler_;
  const std::shared_ptr<CodeCache> cache_;
  FusionStats stats_;
  mutable Mutex mu_;
  absl::flat_hash_map<std::string, Entry> entries_ GUARDED_BY(mu_);  // by source
  std::list<std::string> uses_ GUARDED_BY(mu_);                      // sources, last used first
};

// The device's, made when first asked for. With WEIR_GPU_PLAN_CACHE it keeps code in that directory.
absl::StatusOr<std::shared_ptr<FusedCodes>> FusedCodesOf(GpuDevice& gpu);

}  // namespace weir
