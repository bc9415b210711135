#include "kernels/device/gpu/sort.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weir {
namespace {

void Simulate(const void* raw) {
  const auto& args = *static_cast<const SortArgs*>(raw);
  std::vector<int64_t> order(args.count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return args.keys_in[a] < args.keys_in[b]; });
  for (int64_t i = 0; i < args.count; ++i) {
    args.keys_out[i] = args.keys_in[order[i]];
    args.values_out[i] = args.values_in[order[i]];
  }
}

}  // namespace

absl::Status EnqueueSort(GpuStream& stream, SortArgs args, const Tensor& workspace,
                         absl::Span<const GpuAccess> accesses) {
  const GpuKernel kernel{.name = "SortPairs", .launch = CudaSort().launch, .simulate = &Simulate};
  args.workspace = workspace.raw_data();
  args.workspace_bytes = static_cast<size_t>(workspace.TotalBytes());
  std::vector<GpuAccess> all(accesses.begin(), accesses.end());
  all.push_back(WriteOf(workspace));
  return stream.LaunchWith(kernel, args, all);
}

absl::StatusOr<Tensor> SortWorkspace(OpKernelContext& ctx, GpuStream& stream, int64_t count) {
  size_t bytes = 1;  // of the simulated device's, which needs none
  const auto ask = CudaSort().workspace;
  if (ask != nullptr && stream.native() != nullptr) {
    if (const int error = ask(stream.native(), count, &bytes); error != 0) {
      return errors::Internal("CUB does not say what it needs to sort ", count, " pairs: CUDA error ", error);
    }
  }
  return ctx.allocate_temp(DT_UINT8, TensorShape({static_cast<int64_t>(std::max<size_t>(bytes, 1))}));
}

}  // namespace weir
