// What recurrent cells share.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/status.h"
#include "core/tensor.h"

namespace weir::recurrent {

float Sigmoid(float x);
// c[m,n] = op(a) op(b), all dense in memory.
void Product(const float* a, bool transpose_a, const float* b, bool transpose_b, int64_t m, int64_t n, int64_t k,
             float* c);
// How large an input should be along one axis, and what a client knows that size as: "cell_size * 4".
struct ExpectedSize {
  int64_t size;
  const char* meaning;
};
inline constexpr const char* kBatchSize = "batch_size";
// InvalidArgument, naming the input, for another rank or size.
absl::Status Expect(const Tensor& tensor, std::initializer_list<ExpectedSize> sizes, const char* name);
absl::Status ExpectRank(const Tensor& tensor, int rank, const char* name);

}  // namespace weir::recurrent
