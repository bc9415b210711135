#include "kernels/random/random_stream.h"

#include "core/kernel/determinism.h"
#include "core/random_bits.h"
#include "core/tensor/index_tensor.h"

namespace weir {

absl::Status ReadBounds(const Tensor& low, const Tensor& high, int64_t* low_value, int64_t* high_value) {
  if (low.dims() != 0) return errors::InvalidArgument("minval must be 0-D, got shape ", low.shape().ToString());
  if (high.dims() != 0) return errors::InvalidArgument("maxval must be 0-D, got shape ", high.shape().ToString());
  ASSIGN_OR_RETURN(*low_value, ReadInteger(low, "minval"));
  ASSIGN_OR_RETURN(*high_value, ReadInteger(high, "maxval"));
  if (*low_value >= *high_value) {
    return errors::InvalidArgument("Need minval < maxval, got ", *low_value, " >= ", *high_value);
  }
  return absl::OkStatus();
}

absl::Status GuardedPhilox::Init(OpKernelConstruction& ctx) {
  int64_t seed, seed2;
  RETURN_IF_ERROR(ctx.GetAttr("seed", &seed));
  RETURN_IF_ERROR(ctx.GetAttr("seed2", &seed2));
  RETURN_IF_ERROR(CheckSeeds(ctx.node_def(), seed, seed2));
  if (seed == 0 && seed2 == 0) {
    seed = static_cast<int64_t>(RandomBits());
    seed2 = static_cast<int64_t>(RandomBits());
  }
  stream_ = Philox(seed, seed2);
  return absl::OkStatus();
}

Philox GuardedPhilox::Reserve(uint64_t groups) {
  std::lock_guard<std::mutex> lock(mutex_);
  Philox mine = stream_;
  stream_.Skip(groups);
  return mine;
}

}  // namespace weir
