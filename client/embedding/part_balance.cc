#include "client/embedding/part_balance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weir {
namespace {

constexpr double kTolerance = 0.02;

class Balance {
 public:
  Balance(std::vector<int32_t> owners, std::vector<double> loads, const std::vector<bool>& may_have)
      : owners_(std::move(owners)), loads_(std::move(loads)), may_have_(may_have), sums_(may_have.size()) {
    double all = std::accumulate(loads_.begin(), loads_.end(), 0.0);
    // Parts without load have a small weight, so that they are spread too.
    const double least = all > 0 ? all / (1000.0 * static_cast<double>(loads_.size())) : 1.0;
    for (double& load : loads_) load = std::max(load, least);
    for (size_t i = 0; i < owners_.size(); ++i) sums_[owners_[i]] += loads_[i];
    all = std::accumulate(loads_.begin(), loads_.end(), 0.0);
    share_ = all / static_cast<double>(std::count(may_have_.begin(), may_have_.end(), true));
  }

  // Moves the largest first, each to the least loaded task.
  void Evacuate() {
    std::vector<size_t> leaving;
    for (size_t i = 0; i < owners_.size(); ++i) {
      if (!may_have_[owners_[i]]) leaving.push_back(i);
    }
    std::stable_sort(leaving.begin(), leaving.end(), [this](size_t a, size_t b) { return loads_[a] > loads_[b]; });
    for (const size_t part : leaving) MoveTo(part, Extreme(std::less<>()));
  }

  // Terminates, because every move decreases the larger of two sums.
  void Even() {
    for (size_t moves = 0; moves < 4 * owners_.size(); ++moves) {
      const int from = Extreme(std::greater<>()), to = Extreme(std::less<>());
      const double difference = sums_[from] - sums_[to];
      if (difference <= kTolerance * share_) return;
      const int part = BestOf(from, difference);
      if (part < 0) return;
      MoveTo(part, to);
    }
  }

  std::vector<int32_t> owners() && { return std::move(owners_); }

 private:
  template <typename Better>
  int Extreme(Better better) const {
    int found = -1;
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (may_have_[i] && (found < 0 || better(sums_[i], sums_[found]))) found = static_cast<int>(i);
    }
    return found;
  }
  // The part whose load is closest to half of the difference; -1 if each would reverse it.
  int BestOf(int task, double difference) const {
    int found = -1;
    double error = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < owners_.size(); ++i) {
      const double gain = std::min(loads_[i], difference - loads_[i]);
      if (owners_[i] != task || gain <= kTolerance / 2 * share_) continue;
      const double off = std::abs(loads_[i] - difference / 2);
      if (off >= error) continue;
      error = off;
      found = static_cast<int>(i);
    }
    return found;
  }
  void MoveTo(size_t part, int task) {
    sums_[owners_[part]] -= loads_[part];
    sums_[task] += loads_[part];
    owners_[part] = task;
  }

  std::vector<int32_t> owners_;
  std::vector<double> loads_;
  const std::vector<bool>& may_have_;
  std::vector<double> sums_;  // by task
  double share_ = 0;
};

}  // namespace

std::vector<int32_t> BalanceParts(const std::vector<int32_t>& owners, const std::vector<double>& loads,
                                  const std::vector<bool>& may_have) {
  Balance balance(owners, loads, may_have);
  balance.Evacuate();
  balance.Even();
  return std::move(balance).owners();
}

}  // namespace weir
