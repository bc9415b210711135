// Which task should have which part.
#pragma once

#include <cstdint>
#include <vector>

namespace weir {

// Gives new owners of parts, so that the sums of their loads (not negative; without any, their numbers) are as even as
// parts allow over those of `tasks` tasks that `may_have` parts, of which there is at least one. Parts on others all
// go; of the rest, as few move as is sensible: none to win less than a fiftieth of a task's share.
std::vector<int32_t> BalanceParts(const std::vector<int32_t>& owners, const std::vector<double>& loads,
                                  const std::vector<bool>& may_have);

}  // namespace weir
