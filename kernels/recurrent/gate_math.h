// Matrix products and gate functions of the recurrent cells on CPUs.
#pragma once

#include <cstdint>

namespace weir::recurrent {

float Sigmoid(float x);
// c[m,n] = op(a) op(b), all dense in memory.
void Product(const float* a, bool transpose_a, const float* b, bool transpose_b, int64_t m, int64_t n, int64_t k,
             float* c);

}  // namespace weir::recurrent
