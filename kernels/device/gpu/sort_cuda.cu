// Sorting by CUB. One instance serves all types: they are sorted by keys of 64 bits, of which only those that count are
// looked at.
#include <cuda_runtime.h>

#include <cub/device/device_radix_sort.cuh>

#include "kernels/device/gpu/sort_args.h"

namespace weir {
namespace {

cudaError_t Sort(const SortArgs& args, void* workspace, size_t* bytes, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(workspace, *bytes, args.keys_in, args.keys_out, args.values_in,
                                         args.values_out, static_cast<int>(args.count), 0, args.bits, stream);
}

int Launch(void* stream, const void* raw) {
  const auto& args = *static_cast<const SortArgs*>(raw);
  size_t bytes = args.workspace_bytes;
  return static_cast<int>(Sort(args, args.workspace, &bytes, static_cast<cudaStream_t>(stream)));
}

// CUB asks the device that the thread has selected.
int Workspace(void* stream, int64_t count, size_t* bytes) {
  int device = 0;
  cudaError_t error = cudaStreamGetDevice(static_cast<cudaStream_t>(stream), &device);
  if (error == cudaSuccess) error = cudaSetDevice(device);
  if (error != cudaSuccess) return static_cast<int>(error);
  SortArgs args{};
  args.bits = 64;
  args.count = count;
  *bytes = 0;
  return static_cast<int>(Sort(args, nullptr, bytes, static_cast<cudaStream_t>(stream)));
}

}  // namespace

SortLibrary CudaSort() { return {&Launch, &Workspace}; }

}  // namespace weir
