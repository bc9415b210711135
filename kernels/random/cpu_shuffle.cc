// Permutations: RandomShuffle, StatelessShuffle, RandomIndexShuffle; and NonDeterministicInts.
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/random_bits.h"
#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/random/family.h"
#include "kernels/random/philox_block.h"
#include "kernels/random/random_fill.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

// Permutes n elements (Fisher and Yates). What is swapped next is fetched while words are drawn for what comes then.
template <typename T>
void ShuffleElements(Philox stream, T* x, int64_t n) {
  constexpr int64_t kBlock = 64;
  uint32_t words[kBlock];
  for (int64_t first = 0; first < n - 1; first += kBlock) {
    NextGroups(&stream, kBlock / 4, words);
    const int64_t count = std::min(kBlock, n - 1 - first);
    for (int64_t i = 0; i < count; ++i) {
      words[i] %= static_cast<uint32_t>(n - first - i);
      __builtin_prefetch(x + first + i + words[i], 1);
    }
    for (int64_t i = 0; i < count; ++i) std::swap(x[first + i], x[first + i + words[i]]);
  }
}

// Permutes dimension 0 of input 0.
absl::Status Shuffle(OpKernelContext& ctx, const Philox& stream) {
  const Tensor& input = ctx.input(0);
  const int64_t rows = input.dim_size(0), width = input.NumElements() / rows;
  if (rows > std::numeric_limits<uint32_t>::max()) return errors::Unimplemented("A permutation of ", rows, " rows");
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
  VisitElementType(input.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* src = static_cast<const T*>(input.raw_data());
    T* dst = static_cast<T*>(output->raw_data());
    if (width == 1) {
      std::copy_n(src, rows, dst);
      ShuffleElements(stream, dst, rows);
      return;
    }
    std::vector<int64_t> order(rows);
    std::iota(order.begin(), order.end(), 0);
    ShuffleElements(stream, order.data(), rows);
    for (int64_t i = 0; i < rows; ++i) std::copy_n(src + order[i] * width, width, dst + i * width);
  });
  return absl::OkStatus();
}

bool HasOneOrder(const Tensor& input) { return input.NumElements() <= 1 || input.dim_size(0) <= 1; }

class RandomShuffleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return generator_.Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (HasOneOrder(ctx.input(0))) {
      ctx.set_output(0, ctx.input(0));
      return absl::OkStatus();
    }
    return Shuffle(ctx, generator_.Reserve((ctx.input(0).dim_size(0) - 1 + 3) / 4));
  }

 private:
  GuardedPhilox generator_;
};

class StatelessShuffleKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Philox stream, PhiloxFromKeyAndCounter(ctx.input(1), ctx.input(2), ctx.input(3)));
    if (HasOneOrder(ctx.input(0))) {
      ctx.set_output(0, ctx.input(0));
      return absl::OkStatus();
    }
    return Shuffle(ctx, stream);
  }
};

// The block cipher Simon (Beaulieu and others, 2013) on blocks of an even number of bits, with few rounds: not for
// secrets. Blocks that are beyond the greatest index are enciphered again.
class IndexPermutation {
 public:
  IndexPermutation(const uint32_t (&key)[3], uint64_t greatest, int64_t rounds) : greatest_(greatest) {
    const int bits = static_cast<int>(std::ceil(std::log2(static_cast<double>(greatest))));
    word_ = std::min(std::max(bits + bits % 2, 16), 64) / 2;
    mask_ = (uint64_t{1} << word_) - 1;
    uint64_t z = 0x7369f885192c0ef5 & mask_;
    for (uint32_t part : key) keys_.push_back(part & mask_);
    for (int64_t i = 3; i < rounds; ++i) {
      keys_.push_back((0xfffffffc & mask_) ^ (z & 1) ^ keys_[i - 3] ^ Left(keys_[i - 1], word_ - 3) ^
                      Left(keys_[i - 1], word_ - 4));
      z >>= 1;
    }
  }

  uint64_t operator()(uint64_t index) const {
    if (greatest_ == 0) return 0;
    do index = Encipher(index);
    while (index > greatest_);
    return index;
  }

 private:
  uint64_t Left(uint64_t x, int by) const { return ((x << by) | (x >> (word_ - by))) & mask_; }
  uint64_t Mix(uint64_t x) const { return (Left(x, 1) & Left(x, 8 % word_)) ^ Left(x, 2); }

  uint64_t Encipher(uint64_t value) const {
    uint64_t left = (value >> word_) & mask_, right = value & mask_;
    for (size_t i = 0; i + 1 < keys_.size(); i += 2) {
      left ^= Mix(right) ^ keys_[i];
      right ^= Mix(left) ^ keys_[i + 1];
    }
    return left << word_ | right;
  }

  const uint64_t greatest_;
  int word_ = 0;  // bits
  uint64_t mask_ = 0;
  std::vector<uint64_t> keys_;
};

// The elements of a 32- or 64-bit integer tensor.
absl::StatusOr<std::vector<uint64_t>> Words(const Tensor& t) {
  std::vector<uint64_t> words(t.NumElements());
  for (size_t i = 0; i < words.size(); ++i) {
    switch (t.dtype()) {
      case DT_INT32:
        words[i] = static_cast<uint64_t>(int64_t{t.data<int32_t>()[i]});
        break;
      case DT_UINT32:
        words[i] = t.data<uint32_t>()[i];
        break;
      case DT_INT64:
      case DT_UINT64:
        words[i] = t.data<uint64_t>()[i];
        break;
      default:
        return errors::InvalidArgument("Invalid type: ", DataTypeName(t.dtype()));
    }
  }
  return words;
}

class RandomIndexShuffleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("rounds", &rounds_));
    if (rounds_ >= 4 && rounds_ % 2 == 0 && rounds_ <= 1024) return absl::OkStatus();
    return errors::InvalidArgument("rounds must be an even number of at least 4, got ", rounds_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& index = ctx.input(0);
    const Tensor& seed = ctx.input(1);
    const Tensor& greatest = ctx.input(2);
    const bool scalars = index.dims() == 0 && seed.dims() == 1 && greatest.dims() == 0;
    const int64_t n = std::max({index.NumElements(), greatest.NumElements(), seed.NumElements() / 3});
    const auto fits = [n](const Tensor& t) { return t.dims() == 0 || (t.dims() == 1 && t.dim_size(0) == n); };
    if (!fits(index)) return errors::InvalidArgument("Index must be a scalar or vector.");
    if (!(seed.dims() == 1 && seed.dim_size(0) == 3) &&
        !(seed.dims() == 2 && seed.dim_size(0) == n && seed.dim_size(1) == 3)) {
      return errors::InvalidArgument("Seed must be a vector of size [3] or a matrix of size [", n, ", 3] but got ",
                                     seed.shape().ToString(), ".");
    }
    if (!fits(greatest)) {
      return errors::InvalidArgument("Maxval must be a scalar or a vector of the same size as index but got ",
                                     greatest.shape().ToString());
    }
    ASSIGN_OR_RETURN(const std::vector<uint64_t> indices, Words(index));
    ASSIGN_OR_RETURN(const std::vector<uint64_t> seeds, Words(seed));
    ASSIGN_OR_RETURN(const std::vector<uint64_t> limits, Words(greatest));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, scalars ? TensorShape() : TensorShape({n})));
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t limit = limits[greatest.dims() == 0 ? 0 : i], from = indices[index.dims() == 0 ? 0 : i];
      if (limit > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) && greatest.dtype() != DT_UINT64) {
        return errors::InvalidArgument("max_index must be >= 0 but was ", static_cast<int64_t>(limit));
      }
      if (from > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) && index.dtype() != DT_UINT64) {
        return errors::InvalidArgument("index must be >= 0 but was ", static_cast<int64_t>(from));
      }
      // The walk from an index within the limit comes back to it; from others it might not.
      if (from > limit || limit > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return errors::InvalidArgument("max_index must be >= index, but ", limit, " < ", from);
      }
      uint32_t key[3];
      for (int j = 0; j < 3; ++j) key[j] = static_cast<uint32_t>(seeds[(seed.dims() == 1 ? 0 : 3 * i) + j]);
      const uint64_t to = IndexPermutation(key, limit, rounds_)(from);
      if (DataTypeSize(output->dtype()) == 4) {
        output->data<uint32_t>()[i] = static_cast<uint32_t>(to);
      } else {
        output->data<uint64_t>()[i] = to;
      }
    }
    return absl::OkStatus();
  }

 private:
  int64_t rounds_ = 4;
};

class NonDeterministicIntsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const uint64_t seed = RandomBits(), sequence = RandomBits();
    return FillRandom(ctx, Distribution::kFullInt, Philox(seed, sequence), 0, 0, output);
  }
};

}  // namespace

absl::Status RegisterRandomOrderKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<RandomShuffleKernel>(Kernel("RandomShuffle").Cpu()));
  RETURN_IF_ERROR(kernels.Register<StatelessShuffleKernel>(
      Kernel("StatelessShuffle").Cpu().HostMemory("key").HostMemory("counter").HostMemory("alg")));
  RETURN_IF_ERROR(kernels.Register<RandomIndexShuffleKernel>(Kernel("RandomIndexShuffle").Cpu()));
  return kernels.Register<NonDeterministicIntsKernel>(Kernel("NonDeterministicInts")
                                                          .Cpu()
                                                          .Types("dtype", {DT_INT32, DT_INT64, DT_UINT32, DT_UINT64})
                                                          .HostMemory("shape"));
}

}  // namespace weir
