#include "core/gpu/cancellable_copy.h"

#include <atomic>
#include <memory>
#include <utility>

#include "core/gpu/variant_copies.h"

namespace weir {

void CopyToHost(GpuDevice& gpu, CancellationManager* cancellation, Tensor device,
                std::function<void(absl::StatusOr<Tensor>)> done) {
  struct Copy {
    std::atomic<bool> is_over{false};
    std::function<void(absl::StatusOr<Tensor>)> done;
  };
  auto copy = std::make_shared<Copy>();
  copy->done = std::move(done);
  CancellationManager::Token token = CancellationManager::kInvalidToken;
  if (cancellation != nullptr) {
    token = cancellation->Register([copy, cancellation] {
      if (!copy->is_over.exchange(true)) copy->done(cancellation->status());
    });
    if (token == CancellationManager::kInvalidToken) return copy->done(cancellation->status());
  }
  auto arrived = [&gpu, copy, cancellation, token](absl::StatusOr<Tensor> host) {
    if (copy->is_over.exchange(true)) return;  // after this the step may no longer exist
    if (cancellation != nullptr) cancellation->TryDeregister(token);
    if (!host.ok()) return copy->done(gpu.Explain(host.status()));
    copy->done(std::move(host));
  };
  if (device.dtype() == DT_VARIANT) return VariantsToHost(gpu, device, std::move(arrived));
  gpu.ToHost(device, std::move(arrived));
}

}  // namespace weir
