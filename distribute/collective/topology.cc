#include "distribute/collective/topology.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace weir {

Topology::Topology(absl::Span<const int> host_of, LinkCosts costs) : costs_(costs) {
  absl::flat_hash_map<int, int> numbers;
  for (const int host : host_of) {
    const auto [it, is_new] = numbers.try_emplace(host, static_cast<int>(ranks_of_.size()));
    if (is_new) ranks_of_.emplace_back();
    const int rank = static_cast<int>(host_of_.size());
    if (rank > 0 && !is_new && host_of_.back() != it->second) is_contiguous_ = false;
    host_of_.push_back(it->second);
    local_rank_.push_back(static_cast<int>(ranks_of_[it->second].size()));
    ranks_of_[it->second].push_back(rank);
  }
  ranks_per_host_ = ranks_of_.empty() ? 0 : static_cast<int>(ranks_of_.front().size());
  for (const auto& ranks : ranks_of_) {
    most_ranks_on_a_host_ = std::max(most_ranks_on_a_host_, static_cast<int>(ranks.size()));
    if (ranks.size() != ranks_of_.front().size()) ranks_per_host_ = 0;
  }
}

Topology Topology::OneHost(int size, LinkCosts costs) { return Regular(1, size, costs); }

Topology Topology::Regular(int hosts, int ranks_per_host, LinkCosts costs) {
  std::vector<int> host_of;
  host_of.reserve(static_cast<size_t>(hosts) * ranks_per_host);
  for (int host = 0; host < hosts; ++host) host_of.insert(host_of.end(), ranks_per_host, host);
  return Topology(host_of, costs);
}

}  // namespace weir
