#include "kernels/fusion/fused_codes.h"

#include <utility>

#include "core/logging.h"

namespace weir {

std::string FusedCodes::DebugString() const {
  MutexLock lock(mu_);
  return absl::StrCat("fused kernels by ", compiler_ == nullptr ? "nobody" : compiler_->identity(), ": ",
                      entries_.size(), " known, ", stats_.compiled.load(), " compiled, ", stats_.fused.load(),
                      " runs, ", stats_.stepwise.load(), " runs step by step");
}

std::shared_ptr<const void> FusedCodes::Find(const std::string& source, bool may_compile) {
  if (compiler_ == nullptr) return nullptr;
  {
    MutexLock lock(mu_);
    const auto known = entries_.find(source);
    if (known != entries_.end()) {
      if (!known->second.is_ready) return nullptr;
      uses_.splice(uses_.begin(), uses_, known->second.use);
      return known->second.function;
    }
    if (!may_compile) return nullptr;
    uses_.push_front(source);
    entries_[source] = {.use = uses_.begin()};
  }
  absl::StatusOr<std::shared_ptr<const void>> made = Make(source);
  if (!made.ok()) {
    WEIR_LOG(WARNING).With("compiler", compiler_->identity()).With("reason", made.status().message())
        << "a fused kernel cannot be had; its ops run one by one";
  }
  MutexLock lock(mu_);
  Entry& entry = entries_.at(source);
  entry.is_ready = true;
  if (made.ok()) entry.function = *std::move(made);
  std::shared_ptr<const void> function = entry.function;
  ForgetOldest();
  return function;
}

void FusedCodes::ForgetOldest() {
  for (auto at = uses_.end(); entries_.size() > kMostKernels && at != uses_.begin();) {
    --at;
    const auto entry = entries_.find(*at);
    if (!entry->second.is_ready) continue;
    entries_.erase(entry);
    at = uses_.erase(at);
  }
}

absl::StatusOr<std::shared_ptr<const void>> FusedCodes::Make(const std::string& source) {
  if (cache_ != nullptr) {
    if (const std::optional<std::string> kept = cache_->Find(compiler_->identity(), source); kept.has_value()) {
      absl::StatusOr<std::shared_ptr<const void>> function = compiler_->Load(*kept);
      if (function.ok()) return function;
      WEIR_LOG(WARNING)
              .With("file", cache_->PathOf(compiler_->identity(), source))
              .With("reason", function.status().message())
          << "the kept code of a fused kernel cannot be loaded; the kernel is compiled anew";
    }
  }
  ASSIGN_OR_RETURN(const std::string code, compiler_->Compile(source));
  ++stats_.compiled;
  ASSIGN_OR_RETURN(std::shared_ptr<const void> function, compiler_->Load(code));
  if (cache_ != nullptr) {
    if (const absl::Status kept = cache_->Add(compiler_->identity(), source, code); !kept.ok()) {
      WEIR_LOG_EVERY(WARNING, absl::Minutes(1)).With("reason", kept.message()) << "a fused kernel is not kept";
    }
  }
  return function;
}

absl::StatusOr<std::shared_ptr<FusedCodes>> FusedCodesOf(GpuDevice& gpu) {
  const auto make = [&gpu]() -> absl::StatusOr<std::shared_ptr<FusedCodes>> {
    // The simulated device interprets.
    if (gpu.compute().native() == nullptr) return std::make_shared<FusedCodes>(nullptr, nullptr);
    absl::StatusOr<std::shared_ptr<KernelCompiler>> compiler = CudaKernelCompiler(gpu.runtime());
    if (!compiler.ok()) {
      WEIR_LOG(WARNING).With("device", gpu.name()).With("reason", compiler.status().message())
          << "no compiler for fused kernels: their ops run one by one";
      return std::make_shared<FusedCodes>(nullptr, nullptr);
    }
    WEIR_LOG(INFO).With("device", gpu.name()).With("compiler", (*compiler)->identity()) << "element-wise ops are fused";
    const std::string& directory = gpu.math_settings().plan_cache;
    return std::make_shared<FusedCodes>(
        *std::move(compiler),
        directory.empty() ? nullptr : std::make_shared<CodeCache>(NewPosixFileSystem(), directory));
  };
  return gpu.resources()->LookupOrCreate<FusedCodes>("weir_gpu_libraries", "fused_kernels", make);
}

}  // namespace weir
