// What recurrent cells share.
#pragma once

#include <cstdint>

#include "core/status.h"
#include "core/tensor.h"

namespace weir::recurrent {

float Sigmoid(float x);
// c[m,n] = op(a) op(b), all dense in memory.
void Product(const float* a, bool transpose_a, const float* b, bool transpose_b, int64_t m, int64_t n, int64_t k,
             float* c);
// InvalidArgument, naming the input, for another shape.
absl::Status Expect(const Tensor& tensor, const TensorShape& shape, const char* name);

}  // namespace weir::recurrent
