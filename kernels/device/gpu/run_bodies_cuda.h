// Launches bodies on CUDA: for the files that compile a table of them with nvcc.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "kernels/device/gpu/bodies.h"
#include "kernels/device/gpu/element_cuda.h"

namespace weir {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 8192;  // beyond, each thread, or block, takes several places

unsigned Blocks(int64_t wanted) { return static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks); }

template <typename Body>
__global__ void Each(Body body) {
  const int64_t stride = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < body.args.count; i += stride) body(i);
}

// What the threads of a block have, folded into folded[0].
template <typename Body, typename A>
__device__ void FoldBlock(const Body& body, const A& own, A* folded) {
  folded[threadIdx.x] = own;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      folded[threadIdx.x] = body.Combine(folded[threadIdx.x], folded[threadIdx.x + half]);
    }
    __syncthreads();
  }
}

// A block for each place: its threads fold every kThreads-th element, and then fold what they have together.
template <typename Body>
__global__ void Rows(Body body) {
  using A = decltype(body.Identity());
  __shared__ A folded[kThreads];
  for (int64_t place = blockIdx.x; place < body.args.count; place += gridDim.x) {
    A own = body.Identity();
    for (int64_t j = threadIdx.x; j < body.length(); j += kThreads) own = body.Combine(own, body.Take(place, j));
    FoldBlock(body, own, folded);
    if (threadIdx.x == 0) body.Finish(place, folded[0]);
    __syncthreads();
  }
}

// A block for each place. A round may read what the one before has written: the block's threads see it behind the
// barrier.
template <typename Body>
__global__ void Rounds(Body body) {
  using A = decltype(body.Identity());
  __shared__ A folded[kThreads];
  for (int64_t place = blockIdx.x; place < body.args.count; place += gridDim.x) {
    for (int64_t round = 0; round < body.rounds(); ++round) {
      A own = body.Identity();
      for (int64_t j = threadIdx.x; j < body.length(); j += kThreads) {
        own = body.Combine(own, body.Take(place, round, j));
      }
      FoldBlock(body, own, folded);
      if (threadIdx.x == 0) body.Finish(place, round, folded[0]);
      __syncthreads();
    }
  }
}

// A block for each place: kThreads elements at a time, of which each thread adds up those up to its own in the doubling
// steps of Hillis and Steele, behind what came before them.
template <typename Body>
__global__ void Lanes(Body body) {
  using A = decltype(body.Identity());
  __shared__ A totals[kThreads];
  const int own = threadIdx.x;
  for (int64_t place = blockIdx.x; place < body.args.count; place += gridDim.x) {
    A before = body.Identity();
    for (int64_t first = 0; first < body.length(); first += kThreads) {
      const int64_t j = first + own;
      totals[own] = j < body.length() ? body.Take(place, j) : body.Identity();
      __syncthreads();
      for (int step = 1; step < kThreads; step *= 2) {
        const A left = own >= step ? totals[own - step] : body.Identity();
        __syncthreads();
        totals[own] = body.Combine(left, totals[own]);
        __syncthreads();
      }
      if (j < body.length()) {
        const A without = own > 0 ? totals[own - 1] : body.Identity();
        body.Put(place, j, body.Combine(before, body.exclusive() ? without : totals[own]));
      }
      before = body.Combine(before, totals[kThreads - 1]);
      __syncthreads();
    }
  }
}

// A block for each place.
constexpr int kTeam = kThreads;
template <typename Body>
class Team {
 public:
  template <typename F>
  __device__ void All(F f) {
    f(static_cast<int>(threadIdx.x), own_);
    __syncthreads();
  }

 private:
  typename Body::Own own_;
};
template <typename Body>
__global__ void __launch_bounds__(kThreads) Teams(Body body) {
  __shared__ typename Body::Shared shared;
  Team<Body> team;
  for (int64_t place = blockIdx.x; place < body.args.count; place += gridDim.x) body(place, team, shared);
}

template <typename Body>
int LaunchEach(void* stream, const void* raw) {
  const Body body{*static_cast<const decltype(Body::args)*>(raw)};
  Each<<<Blocks((body.args.count + kThreads - 1) / kThreads), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(body);
  return static_cast<int>(cudaGetLastError());
}
// Those that take a block for each place.
#define WEIR_LAUNCH_BLOCKS(Kernel)                                                             \
  template <typename Body>                                                                     \
  int Launch##Kernel(void* stream, const void* raw) {                                          \
    const Body body{*static_cast<const decltype(Body::args)*>(raw)};                           \
    Kernel<<<Blocks(body.args.count), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(body); \
    return static_cast<int>(cudaGetLastError());                                               \
  }
WEIR_LAUNCH_BLOCKS(Rows)
WEIR_LAUNCH_BLOCKS(Rounds)
WEIR_LAUNCH_BLOCKS(Lanes)
WEIR_LAUNCH_BLOCKS(Teams)
#undef WEIR_LAUNCH_BLOCKS
#define WEIR_BODY_CODE __device__
#define WEIR_EACH(...) &LaunchEach<__VA_ARGS__>, nullptr
#define WEIR_ROWS(...) &LaunchRows<__VA_ARGS__>, nullptr
#define WEIR_ROUNDS(...) &LaunchRounds<__VA_ARGS__>, nullptr
#define WEIR_LANES(...) &LaunchLanes<__VA_ARGS__>, nullptr
#define WEIR_TEAMS(...) &LaunchTeams<__VA_ARGS__>, nullptr

}  // namespace
}  // namespace weir

#include "kernels/device/gpu/body_common.inc"
