#include "core/gpu/variant_copies.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "core/tensor/variant_tensors.h"

namespace weir {
namespace {

// Tensors still being copied to the host.
struct Arrivals {
  Arrivals(VariantTensors variants_in, std::function<void(absl::StatusOr<Tensor>)> done_in)
      : variants(std::move(variants_in)),
        done(std::move(done_in)),
        missing(variants.tensors().size()),
        copies(variants.tensors().size()) {}

  void Arrive(size_t i, absl::StatusOr<Tensor> copy) {
    {
      MutexLock lock(mu);
      if (copy.ok()) {
        copies[i] = *std::move(copy);
      } else if (error.ok()) {
        error = copy.status();
      }
      if (--missing > 0) return;
    }
    // The last callback runs without concurrency.
    if (!error.ok()) return done(std::move(error));
    done(variants.With(copies));
  }

  const VariantTensors variants;
  const std::function<void(absl::StatusOr<Tensor>)> done;
  Mutex mu;
  size_t missing;
  std::vector<Tensor> copies;
  absl::Status error;
};

}  // namespace

absl::StatusOr<Tensor> VariantsToDevice(GpuDevice& gpu, const Tensor& variants) {
  ASSIGN_OR_RETURN(const VariantTensors found, VariantTensors::Of(variants));
  std::vector<Tensor> copies;
  for (const Tensor& tensor : found.tensors()) {
    ASSIGN_OR_RETURN(copies.emplace_back(), gpu.ToDevice(tensor));
  }
  return found.With(copies);
}

void VariantsToHost(GpuDevice& gpu, const Tensor& variants, std::function<void(absl::StatusOr<Tensor>)> done) {
  absl::StatusOr<VariantTensors> found = VariantTensors::Of(variants);
  if (!found.ok()) return done(found.status());
  if (found->tensors().empty()) return done(variants);
  const auto arrivals = std::make_shared<Arrivals>(*std::move(found), std::move(done));
  const std::vector<Tensor>& tensors = arrivals->variants.tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    gpu.ToHost(tensors[i], [arrivals, i](absl::StatusOr<Tensor> copy) { arrivals->Arrive(i, std::move(copy)); });
  }
}

}  // namespace weir
