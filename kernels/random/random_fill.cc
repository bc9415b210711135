#include "kernels/random/random_fill.h"

#include <algorithm>

#include "kernels/device/parallel.h"
#include "kernels/random/philox_block.h"

namespace weir {
namespace {

// How many outputs one group of four words gives.
template <typename T>
constexpr int kPerGroup = sizeof(T) == 8 ? 2 : 4;

template <typename T>
void UniformGroup(const Philox::Group& g, T* out) {
  if constexpr (std::is_same_v<T, double>) {
    for (int i = 0; i < 2; ++i) out[i] = UniformDouble(g[2 * i], g[2 * i + 1]);
  } else {
    for (int i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, half>) out[i] = UniformHalf(g[i]);
      if constexpr (std::is_same_v<T, bfloat16>) out[i] = UniformBFloat16(g[i]);
    }
  }
}

template <typename T>
void NormalGroup(const Philox::Group& g, T* out) {
  if constexpr (std::is_same_v<T, double>) {
    NormalDoubles(g[0], g[1], g[2], g[3], &out[0], &out[1]);
  } else {
    for (int i = 0; i < 4; i += 2) {
      float x, y;
      NormalFloats(g[i], g[i + 1], &x, &y);
      out[i] = static_cast<T>(x);
      out[i + 1] = static_cast<T>(y);
    }
  }
}

template <typename T>
uint64_t Word(const Philox::Group& g, int i) {
  return sizeof(T) == 8 ? g[2 * i] | static_cast<uint64_t>(g[2 * i + 1]) << 32 : g[i];
}

// Draws `make(group, out)` for groups of outputs, in parallel.
template <typename T, typename Make>
void FillGroups(OpKernelContext& ctx, const Philox& base, int64_t picoseconds, Tensor* output, Make make) {
  constexpr int64_t kGroup = kPerGroup<T>, kBlock = 64;
  T* data = output->data<T>();
  const int64_t total = output->NumElements();
  ParallelRanges(ctx, (total + kGroup - 1) / kGroup, picoseconds, [&](int64_t begin, int64_t end) {
    Philox stream = base;
    stream.Skip(begin);
    Philox::Group groups[kBlock];
    T values[kBlock * kGroup];
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t count = std::min(kBlock, end - first);
      NextGroups(&stream, count, groups[0].data());
      for (int64_t i = 0; i < count; ++i) make(groups[i], values + i * kGroup);
      std::copy_n(values, std::min(count * kGroup, total - first * kGroup), data + first * kGroup);
    }
  });
}

void FillUniformFloats(OpKernelContext& ctx, const Philox& base, Tensor* output) {
  constexpr int64_t kBlock = 64;
  float* const data = output->data<float>();
  const int64_t total = output->NumElements();
  ParallelRanges(ctx, (total + 3) / 4, 4'000, [&](int64_t begin, int64_t end) {
    Philox stream = base;
    stream.Skip(begin);
    uint32_t words[kBlock * 4];
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t count = std::min(kBlock, end - first);
      NextGroups(&stream, count, words);
      UniformFloats(words, std::min(count * 4, total - first * 4), data + first * 4);
    }
  });
}

// Normal numbers beyond two deviations are drawn again, so that a group uses an unknown number of words: each has 256 a
// number set aside for it.
template <typename T>
void FillTruncatedNormal(OpKernelContext& ctx, const Philox& base, Tensor* output) {
  constexpr int64_t kGroup = kPerGroup<T>;
  T* data = output->data<T>();
  const int64_t total = output->NumElements();
  ParallelRanges(ctx, (total + kGroup - 1) / kGroup, 120'000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Philox stream = base;
      stream.Skip(i * (kGroup * 256 / 4));
      SingleSamples words(stream);
      const int64_t count = std::min(kGroup, total - i * kGroup);
      int64_t filled = 0;
      const auto keep = [&](auto value) {
        if (filled < count && std::abs(value) < 2.0f) data[i * kGroup + filled++] = static_cast<T>(value);
      };
      while (filled < count) {  // NOLINT(bugprone-infinite-loop): keep() counts up
        if constexpr (std::is_same_v<T, double>) {
          const uint32_t a0 = words.Next(), a1 = words.Next(), b0 = words.Next(), b1 = words.Next();
          double x, y;
          NormalDoubles(a0, a1, b0, b1, &x, &y);
          keep(x);
          keep(y);
        } else {
          const uint32_t a = words.Next(), b = words.Next();
          float x, y;
          NormalFloats(a, b, &x, &y);
          keep(x);
          keep(y);
        }
      }
    }
  });
}

template <typename T>
absl::Status FillFloats(OpKernelContext& ctx, Distribution distribution, const Philox& stream, Tensor* output) {
  switch (distribution) {
    case Distribution::kUniform:
      if constexpr (std::is_same_v<T, float>) {
        FillUniformFloats(ctx, stream, output);
      } else {
        FillGroups<T>(ctx, stream, 10'000, output, &UniformGroup<T>);
      }
      return absl::OkStatus();
    case Distribution::kNormal:
      FillGroups<T>(ctx, stream, 80'000, output, &NormalGroup<T>);
      return absl::OkStatus();
    case Distribution::kTruncatedNormal:
      FillTruncatedNormal<T>(ctx, stream, output);
      return absl::OkStatus();
    default:
      return errors::InvalidArgument("Random integers cannot be ", DataTypeName(output->dtype()));
  }
}

template <typename T>
absl::Status FillIntegers(OpKernelContext& ctx, Distribution distribution, const Philox& stream, int64_t low,
                          int64_t high, Tensor* output) {
  if (distribution == Distribution::kFullInt) {
    FillGroups<T>(ctx, stream, 5'000, output, [](const Philox::Group& g, T* out) {
      for (int i = 0; i < kPerGroup<T>; ++i) out[i] = static_cast<T>(Word<T>(g, i));
    });
    return absl::OkStatus();
  }
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  FillGroups<T>(ctx, stream, 25'000, output, [&](const Philox::Group& g, T* out) {
    for (int i = 0; i < kPerGroup<T>; ++i) {
      out[i] = static_cast<T>(static_cast<uint64_t>(low) + Word<T>(g, i) % range);
    }
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status FillRandom(OpKernelContext& ctx, Distribution distribution, const Philox& stream, int64_t low,
                        int64_t high, Tensor* output) {
  switch (output->dtype()) {
    case DT_FLOAT:
      return FillFloats<float>(ctx, distribution, stream, output);
    case DT_DOUBLE:
      return FillFloats<double>(ctx, distribution, stream, output);
    case DT_HALF:
      return FillFloats<half>(ctx, distribution, stream, output);
    case DT_BFLOAT16:
      return FillFloats<bfloat16>(ctx, distribution, stream, output);
    case DT_INT32:
    case DT_UINT32:
      return FillIntegers<uint32_t>(ctx, distribution, stream, low, high, output);
    case DT_INT64:
    case DT_UINT64:
      return FillIntegers<uint64_t>(ctx, distribution, stream, low, high, output);
    default:
      return errors::Unimplemented("Random numbers of type ", DataTypeName(output->dtype()));
  }
}

}  // namespace weir
