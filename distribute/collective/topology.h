// The placement of ranks on hosts, and the cost of their links.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace weir {

// A message of n bytes takes latency + n * seconds_per_byte.
struct LinkCost {
  double latency = 0;  // seconds
  double seconds_per_byte = 0;
};

// The defaults are estimates, for processes on one machine and hosts joined by 25 Gbit/s. No other file has such
// constants.
struct LinkCosts {
  LinkCost within_host{.latency = 10e-6, .seconds_per_byte = 1 / 5.0e9};
  LinkCost between_hosts{.latency = 150e-6, .seconds_per_byte = 1 / 3.0e9};
  double consume_seconds_per_byte = 1 / 6.0e9;  // copying or reducing received bytes
};

// Immutable. Ranks of one host are `ranks_of(host)`; hosts are numbered by their lowest rank.
class Topology {
 public:
  // `host_of[rank]` is a number shared by the ranks of one host.
  explicit Topology(absl::Span<const int> host_of, LinkCosts costs = {});
  // `size` ranks on one host.
  static Topology OneHost(int size, LinkCosts costs = {});
  static Topology Regular(int hosts, int ranks_per_host, LinkCosts costs = {});

  int size() const { return static_cast<int>(host_of_.size()); }
  int num_hosts() const { return static_cast<int>(ranks_of_.size()); }
  int host_of(int rank) const { return host_of_[rank]; }
  const std::vector<int>& ranks_of(int host) const { return ranks_of_[host]; }
  // Position of `rank` among the ranks of its host.
  int local_rank(int rank) const { return local_rank_[rank]; }
  // Ranks of each host; 0 if hosts differ.
  int ranks_per_host() const { return ranks_per_host_; }
  // True if each host's ranks are consecutive.
  bool is_contiguous() const { return is_contiguous_; }
  int most_ranks_on_a_host() const { return most_ranks_on_a_host_; }
  const LinkCosts& costs() const { return costs_; }

 private:
  LinkCosts costs_;
  std::vector<int> host_of_, local_rank_;
  std::vector<std::vector<int>> ranks_of_;
  int ranks_per_host_ = 0;
  int most_ranks_on_a_host_ = 0;
  bool is_contiguous_ = true;
};

}  // namespace weir
