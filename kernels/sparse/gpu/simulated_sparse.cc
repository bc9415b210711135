#include <algorithm>
#include <vector>

#include "core/tensor/numeric_types.h"
#include "kernels/sparse/gpu/sparse_library.h"

namespace weir {
namespace {

constexpr size_t kWorkspaceBytes = 64;

struct Args {
  SparseProduct product;
  void* workspace;
};

// A row's entries are added up and stored once: a library that takes rows to ascend finds others wrong too.
template <typename T>
void Multiply(const SparseProduct& p) {
  using C = AccumulatorT<T>;
  const T* const values = static_cast<const T*>(p.values);
  const T* const b = static_cast<const T*>(p.b);
  T* const c = static_cast<T*>(p.c);
  std::fill_n(c, p.rows * p.columns, static_cast<T>(0.0f));
  std::vector<C> sums(p.columns);
  for (int64_t n = 0; n < p.entries; ++n) {
    for (int64_t j = 0; j < p.columns; ++j) {
      const int64_t k = p.entry_columns[n];
      sums[j] += static_cast<C>(values[n]) * static_cast<C>(b[p.transpose_b ? j * p.inner + k : k * p.columns + j]);
    }
    if (n + 1 < p.entries && p.entry_rows[n + 1] == p.entry_rows[n]) continue;
    for (int64_t j = 0; j < p.columns; ++j) c[p.entry_rows[n] * p.columns + j] = static_cast<T>(sums[j]);
    std::fill(sums.begin(), sums.end(), C(0));
  }
}

void Simulate(const void* raw) {
  const Args& args = *static_cast<const Args*>(raw);
  std::fill_n(static_cast<uint8_t*>(args.workspace), kWorkspaceBytes, 0xa5);
  switch (args.product.dtype) {
    case DT_DOUBLE:
      return Multiply<double>(args.product);
    case DT_HALF:
      return Multiply<half>(args.product);
    case DT_BFLOAT16:
      return Multiply<bfloat16>(args.product);
    default:
      return Multiply<float>(args.product);
  }
}

class SimulatedSparse : public SparseLibrary {
 public:
  absl::StatusOr<size_t> WorkspaceBytes(const SparseProduct& product) override {
    if (product.dtype == DT_BFLOAT16 && product.transpose_b) {
      return errors::Unimplemented("no simulated sparse products of bfloat16 with b transposed");
    }
    return kWorkspaceBytes;
  }
  absl::Status Enqueue(GpuStream& stream, const SparseProduct& p, void* workspace) override {
    static const GpuKernel kKernel = {.name = "simulated sparse product", .simulate = &Simulate};
    const auto bytes = [](int64_t elements, int64_t size) { return static_cast<size_t>(elements * size); };
    const int64_t size = DataTypeSize(p.dtype);
    return stream.LaunchWith(
        kKernel, Args{p, workspace},
        {GpuAccess::Read(p.entry_rows, bytes(p.entries, sizeof(int32_t))),
         GpuAccess::Read(p.entry_columns, bytes(p.entries, sizeof(int32_t))),
         GpuAccess::Read(p.values, bytes(p.entries, size)), GpuAccess::Read(p.b, bytes(p.inner * p.columns, size)),
         GpuAccess::Write(p.c, bytes(p.rows * p.columns, size)), GpuAccess::Write(workspace, kWorkspaceBytes)});
  }
};

}  // namespace

std::unique_ptr<SparseLibrary> NewSimulatedSparse() { return std::make_unique<SimulatedSparse>(); }

}  // namespace weir
