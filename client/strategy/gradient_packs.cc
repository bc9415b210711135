#include "client/strategy/gradient_packs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/btree_map.h"

namespace weir {
namespace {

// The first pack is small, so that it is reduced while most of back-propagation is still running.
constexpr int64_t kFirstPackBytes = 1 << 20;
constexpr int64_t kPackBytes = 25 << 20;

struct OpenPack {
  std::vector<int> members;
  int64_t bytes = 0;
};

}  // namespace

std::vector<std::vector<int>> PackGradients(absl::Span<const PackedGradient> gradients, int64_t bytes_per_pack) {
  std::vector<int> order(gradients.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return gradients[a].order < gradients[b].order; });
  std::vector<std::vector<int>> packs;
  absl::btree_map<DataType, OpenPack> open;
  const auto limit = [&] {
    if (bytes_per_pack != 0) return bytes_per_pack;
    return packs.empty() ? kFirstPackBytes : kPackBytes;
  };
  for (const int i : order) {
    if (gradients[i].bytes >= limit()) {
      packs.push_back({i});
      continue;
    }
    OpenPack& pack = open[gradients[i].dtype];
    if (!pack.members.empty() && pack.bytes + gradients[i].bytes > limit()) {
      packs.push_back(std::exchange(pack.members, {}));
      pack.bytes = 0;
    }
    pack.members.push_back(i);
    pack.bytes += gradients[i].bytes;
  }
  std::vector<std::vector<int>> last;
  for (auto& [dtype, pack] : open) {
    if (!pack.members.empty()) last.push_back(std::move(pack.members));
  }
  std::sort(last.begin(), last.end(), [&](const std::vector<int>& a, const std::vector<int>& b) {
    return std::pair(gradients[a.back()].order, a.back()) < std::pair(gradients[b.back()].order, b.back());
  });
  packs.insert(packs.end(), std::make_move_iterator(last.begin()), std::make_move_iterator(last.end()));
  return packs;
}

}  // namespace weir
