// Initial values of variables.
#pragma once

#include "client/variables.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API initializers {

Initializer Zeros();
Initializer Ones();
Initializer Constant(double value);
// The tensor itself; its shape and type must be the variable's.
Initializer Value(Tensor value);
// Uniform in [low, high); normal; normal truncated at two standard deviations. Seeds of 0 differ between runs.
Initializer RandomUniform(double low, double high, int64_t seed = 0);
Initializer RandomNormal(double mean = 0, double stddev = 0.05, int64_t seed = 0);
Initializer TruncatedNormal(double mean = 0, double stddev = 0.05, int64_t seed = 0);

// Glorot and Bengio 2010: uniform within sqrt(6 / (fan_in + fan_out)).
Initializer GlorotUniform(int64_t seed = 0);
// The same variance, truncated normal.
Initializer GlorotNormal(int64_t seed = 0);
// He et al. 2015: truncated normal with variance 2 / fan_in, and uniform.
Initializer HeNormal(int64_t seed = 0);
Initializer HeUniform(int64_t seed = 0);
// LeCun 1998: truncated normal with variance 1 / fan_in, and uniform.
Initializer LecunNormal(int64_t seed = 0);
Initializer LecunUniform(int64_t seed = 0);
// Saxe et al. 2014: a random matrix with orthonormal rows or columns, times `gain`. All dimensions but the last are
// one. Rank 2 or more.
Initializer Orthogonal(double gain = 1, int64_t seed = 0);

}  // namespace initializers
}  // namespace weir
