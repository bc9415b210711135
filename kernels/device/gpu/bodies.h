// The interface between host code and device code of GPU kernels that are not element-wise. For host compilers and
// for nvcc.
#pragma once

#include <cstdint>

#include "kernels/elementwise/device.h"

namespace weir {

inline constexpr int kMaxBodyRank = 8;

// Where an element lies: its place is taken apart by `sizes`, innermost last.
struct StridedLayout {
  int rank = 0;
  int64_t sizes[kMaxBodyRank] = {};
  int64_t steps[kMaxBodyRank] = {};
};

// An element of any type, by its bytes.
struct PlainValue {
  uint64_t low = 0, high = 0;
};
// What elements of 16 bytes are moved as.
struct alignas(16) WideWord {
  uint64_t low, high;
};

// Each kernel computes `count` places, at the same time, from its arguments.

struct CastArgs {
  const void* in;
  void* out;
  ElementType from, to;  // for the kernel of rarer pairs, which looks there
  int64_t count;
};
// out = *value; where there is no value, `constant`.
struct FillArgs {
  const void* value;
  PlainValue constant;
  void* out;
  int64_t count;
};
// out[i] = in[offset + where `layout` finds i]; elements of the size that the kernel is for.
struct StridedArgs {
  const void* in;
  void* out;
  int64_t offset;
  StridedLayout layout;
  int64_t count;
};
// Rows of in_width elements go to `at` in rows of out_width.
struct ConcatArgs {
  const void* in;
  void* out;
  int64_t in_width, out_width, at;
  int64_t count;
};
// out[batch, outer, index, inner] = in[batch, outer, indices[batch, index], inner]; zero where an index is out of
// range, as TensorFlow's kernel for GPUs has it.
struct GatherArgs {
  const void* in;
  const void* indices;
  bool wide_indices;
  void* out;
  int64_t outer, inner, num_indices, size;
  int64_t count;
};
struct BiasArgs {
  const void* in;
  const void* bias;
  void* out;
  int64_t channels, inner;
  int64_t count;
};
// Folds `length` elements for each of `count` outputs: the output is found by `kept`, the elements by `folded`.
struct FoldArgs {
  const void* in;
  void* out;
  StridedLayout kept, folded;
  int64_t length;
  int64_t count;
};

struct BodyEntry {
  const char* name;  // of the op, or of a part of it
  ElementType type;
  ElementType other;  // a cast's result; `type` elsewhere
  int (*launch)(void* stream, const void* args);
  void (*simulate)(const void* args);
};
struct BodyTable {
  const BodyEntry* entries = nullptr;
  int size = 0;
};
// A table for each device; those for CUDA are empty in a build without the toolkit.
struct BodyFamily {
  BodyTable (*cuda)();
  BodyTable (*simulated)();
};
#define WEIR_BODY_FAMILY(Name) \
  BodyTable Cuda##Name();      \
  BodyTable Simulated##Name();
WEIR_BODY_FAMILY(ActivationBodies)
WEIR_BODY_FAMILY(ArrayBodies)
WEIR_BODY_FAMILY(AttentionBodies)
WEIR_BODY_FAMILY(CastBodies)
WEIR_BODY_FAMILY(ConvolutionBodies)
WEIR_BODY_FAMILY(FoldBodies)
WEIR_BODY_FAMILY(ImageBodies)
WEIR_BODY_FAMILY(LrnBodies)
WEIR_BODY_FAMILY(MoveBodies)
WEIR_BODY_FAMILY(NormBodies)
WEIR_BODY_FAMILY(OrderBodies)
WEIR_BODY_FAMILY(PoolingBodies)
WEIR_BODY_FAMILY(RandomBodies)
WEIR_BODY_FAMILY(RankingBodies)
WEIR_BODY_FAMILY(RecurrentBodies)
WEIR_BODY_FAMILY(ScatterBodies)
WEIR_BODY_FAMILY(SoftmaxBodies)
WEIR_BODY_FAMILY(UpdateBodies)
WEIR_BODY_FAMILY(VolumeConvolutionBodies)
WEIR_BODY_FAMILY(VolumePoolingBodies)
#undef WEIR_BODY_FAMILY
inline constexpr BodyFamily kBodyFamilies[] = {
    {&CudaFoldBodies, &SimulatedFoldBodies},
    {&CudaCastBodies, &SimulatedCastBodies},
    {&CudaActivationBodies, &SimulatedActivationBodies},
    {&CudaSoftmaxBodies, &SimulatedSoftmaxBodies},
    {&CudaMoveBodies, &SimulatedMoveBodies},
    {&CudaOrderBodies, &SimulatedOrderBodies},
    {&CudaRandomBodies, &SimulatedRandomBodies},
    {&CudaScatterBodies, &SimulatedScatterBodies},
    {&CudaUpdateBodies, &SimulatedUpdateBodies},
    {&CudaConvolutionBodies, &SimulatedConvolutionBodies},
    {&CudaPoolingBodies, &SimulatedPoolingBodies},
    {&CudaVolumeConvolutionBodies, &SimulatedVolumeConvolutionBodies},
    {&CudaVolumePoolingBodies, &SimulatedVolumePoolingBodies},
    {&CudaRankingBodies, &SimulatedRankingBodies},
    {&CudaNormBodies, &SimulatedNormBodies},
    {&CudaArrayBodies, &SimulatedArrayBodies},
    {&CudaImageBodies, &SimulatedImageBodies},
    {&CudaAttentionBodies, &SimulatedAttentionBodies},
    {&CudaRecurrentBodies, &SimulatedRecurrentBodies},
    {&CudaLrnBodies, &SimulatedLrnBodies},
};

}  // namespace weir
