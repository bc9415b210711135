// The interface between host code and device code of optimizer steps. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

inline constexpr int kMaxUpdatedVariables = 4, kMaxUpdateScalars = 6;

// `scalars` lie in the device's memory, in the order of the op's arguments, and are of the variables' type but for
// `integer_scalar`, an int64. With `indices` each row of the gradient, of
// `width` elements, is for the row of the variables that its index names; one that names none of `rows` is left out,
// and two that name the same one are a race, as in TensorFlow.
struct UpdateArgs {
  void* variables[kMaxUpdatedVariables];
  const void* gradient;
  const void* scalars[kMaxUpdateScalars];
  int integer_scalar;  // -1: none
  bool flag;           // the op's one boolean attribute
  const void* indices;
  bool wide_indices;
  int64_t rows, width;
  int64_t count;
};

// Dense steps on several variables: places are those of one after the other.
inline constexpr int kMostUpdatesAtOnce = 18;  // arguments of kernels are few bytes
struct UpdateManyArgs {
  struct Entry {
    void* variables[kMaxUpdatedVariables];
    const void* gradient;
    int64_t first;  // of its places
  };
  Entry entries[kMostUpdatesAtOnce];
  const void* scalars[kMaxUpdateScalars];
  bool flag;
  int num_entries;
  int64_t count;
};

}  // namespace weir
