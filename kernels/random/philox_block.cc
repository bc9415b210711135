#include "kernels/random/philox_block.h"

#include <algorithm>
#include <bit>

#include "kernels/device/target_clones.h"

namespace weir {
namespace {

constexpr int kLanes = 16;  // groups that are computed at a time

// Groups `low` to `low + kLanes - 1` of the counters whose upper words are those of `counter`.
WEIR_TARGET_CLONES void ComputeLanes(uint64_t low, const uint32_t* counter, const uint32_t* first_key,
                                     uint32_t* words) {
  uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    x0[i] = static_cast<uint32_t>(low + i);
    x1[i] = static_cast<uint32_t>((low + i) >> 32);
    x2[i] = counter[2];
    x3[i] = counter[3];
  }
  uint32_t key0 = first_key[0], key1 = first_key[1];
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t product0 = static_cast<uint64_t>(0xD2511F53) * x0[i];
      const uint64_t product1 = static_cast<uint64_t>(0xCD9E8D57) * x2[i];
      x0[i] = static_cast<uint32_t>(product1 >> 32) ^ x1[i] ^ key0;
      x2[i] = static_cast<uint32_t>(product0 >> 32) ^ x3[i] ^ key1;
      x1[i] = static_cast<uint32_t>(product1);
      x3[i] = static_cast<uint32_t>(product0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  for (int i = 0; i < kLanes; ++i) {
    words[4 * i] = x0[i];
    words[4 * i + 1] = x1[i];
    words[4 * i + 2] = x2[i];
    words[4 * i + 3] = x3[i];
  }
}

}  // namespace

void NextGroups(Philox* stream, int64_t groups, uint32_t* words) {
  while (groups > 0) {
    const uint64_t low = static_cast<uint64_t>(stream->counter()[1]) << 32 | stream->counter()[0];
    if (groups >= kLanes && low + kLanes > low) {  // no carry into the upper words
      ComputeLanes(low, stream->counter().data(), stream->key().data(), words);
      stream->Skip(kLanes);
      words += 4 * kLanes;
      groups -= kLanes;
    } else {
      const Philox::Group group = stream->Next();
      words = std::copy(group.begin(), group.end(), words);
      --groups;
    }
  }
}

WEIR_TARGET_CLONES void UniformFloats(const uint32_t* words, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>((words[i] & 0x7fffffu) | (127u << 23)) - 1.0f;
}

}  // namespace weir
