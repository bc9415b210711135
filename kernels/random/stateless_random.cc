#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

// Algorithms by number; the last leaves the choice to the device.
constexpr int kPhilox = 1, kThreeFry = 2, kAutoSelect = 3;

}  // namespace

absl::StatusOr<Philox> PhiloxFromSeed(const Tensor& seed) {
  if (seed.dims() != 1 || seed.dim_size(0) != 2) {
    return errors::InvalidArgument("seed must have shape [2], not ", seed.shape().ToString());
  }
  uint64_t seeds[2];
  for (int i = 0; i < 2; ++i) {
    switch (seed.dtype()) {
      case DT_INT32:
        seeds[i] = static_cast<uint64_t>(int64_t{seed.data<int32_t>()[i]});
        break;
      case DT_UINT32:
        seeds[i] = seed.data<uint32_t>()[i];
        break;
      default:
        seeds[i] = seed.data<uint64_t>()[i];
        break;
    }
  }
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  Philox scrambler({low(seeds[0]), high(seeds[0]), low(seeds[1]), high(seeds[1])}, {0x3ec8f720, 0x02461e29});
  const Philox::Group mix = scrambler.Next();
  return Philox({0, 0, mix[2], mix[3]}, {mix[0], mix[1]});
}

absl::StatusOr<Philox> PhiloxFromKeyAndCounter(const Tensor& key, const Tensor& counter, const Tensor& algorithm) {
  if (algorithm.dims() != 0) {
    return errors::InvalidArgument("alg must be of shape [], not ", algorithm.shape().ToString());
  }
  const int32_t id = algorithm.scalar<int32_t>();
  if (id != kThreeFry && id != kPhilox && id != kAutoSelect)
    return errors::InvalidArgument("Unsupported algorithm id: ", id);
  if (key.dims() != 1 || key.dim_size(0) != 1) {
    return errors::InvalidArgument("key must have shape [1], not ", key.shape().ToString(),
                                   ". (Note that batched keys are not supported yet.)");
  }
  if (counter.dims() != 1 || counter.dim_size(0) < 2) {
    return errors::InvalidArgument("counter must be a vector with length at least 2; got shape: ",
                                   counter.shape().ToString(), ". (Note that batched counters are not supported yet.)");
  }
  if (id == kThreeFry) return errors::InvalidArgument("The ThreeFry algorithm is not implemented on CPU");
  const uint64_t k = key.data<uint64_t>()[0];
  const uint64_t* c = counter.data<uint64_t>();
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  return Philox({low(c[0]), high(c[0]), low(c[1]), high(c[1])}, {low(k), high(k)});
}

}  // namespace weir
