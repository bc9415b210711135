#include "client/elastic/elastic_model.h"

#include <algorithm>

namespace weir {

std::vector<RowRange> RowsOfReplicas(BatchPolicy policy, int64_t batch_size, int replicas, int first, int local) {
  const auto begin_of = [&](int64_t replica) {
    if (policy == BatchPolicy::kPerWorkerBatch) return replica * batch_size;
    return replica * (batch_size / replicas) + std::min<int64_t>(replica, batch_size % replicas);
  };
  std::vector<RowRange> rows;
  for (int i = 0; i < local; ++i) rows.push_back({begin_of(first + i), begin_of(first + i + 1)});
  return rows;
}

}  // namespace weir
