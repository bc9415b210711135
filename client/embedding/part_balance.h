// Balances parts over tasks.
#pragma once

#include <cstdint>
#include <vector>

namespace weir {

// Returns new owners of parts, balancing the sums of their loads (not negative; if all are zero, the number of parts)
// over those of `tasks` tasks for which `may_have` is true, of which there is at least one. Moves all parts away from
// other tasks, and otherwise only parts that gain at least a fiftieth of a task's share.
std::vector<int32_t> BalanceParts(const std::vector<int32_t>& owners, const std::vector<double>& loads,
                                  const std::vector<bool>& may_have);

}  // namespace weir
