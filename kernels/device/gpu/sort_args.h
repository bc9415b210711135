// The interface between host code and device code of sorting. For host compilers and for nvcc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir {

// values_out = values_in in the order of their keys, smallest first; equal ones stay in order. Keys have `bits` bits.
struct SortArgs {
  const uint64_t* keys_in;
  uint64_t* keys_out;
  const int32_t* values_in;
  int32_t* values_out;
  void* workspace;
  size_t workspace_bytes;
  int bits;
  int64_t count;  // below 2^31
};

struct SortLibrary {
  // Enqueues it on a cudaStream_t and returns a cudaError_t.
  int (*launch)(void* stream, const void* args);
  // What it wants for `count` pairs on the device of a cudaStream_t; returns a cudaError_t.
  int (*workspace)(void* stream, int64_t count, size_t* bytes);
};
// CUB's radix sort; null pointers in a build without the toolkit.
SortLibrary CudaSort();

}  // namespace weir
