#include "client/embedding/part_balance.h"

#include <algorithm>
#include <random>

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::Each;
using ::testing::Lt;

std::vector<double> Sums(const std::vector<int32_t>& owners, const std::vector<double>& loads, size_t tasks) {
  std::vector<double> sums(tasks);
  for (size_t i = 0; i < owners.size(); ++i) sums[owners[i]] += loads[i];
  return sums;
}

int Moved(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  int moved = 0;
  for (size_t i = 0; i < a.size(); ++i) moved += a[i] != b[i] ? 1 : 0;
  return moved;
}

TEST(PartBalanceTest, ATaskMoreGetsItsShareAndNoOthersMove) {
  std::vector<int32_t> owners(60);
  for (int i = 0; i < 60; ++i) owners[i] = i / 30;
  const std::vector<double> loads(60, 10);
  const std::vector<int32_t> now = BalanceParts(owners, loads, {true, true, true});
  EXPECT_EQ(Sums(now, loads, 3), std::vector<double>({200, 200, 200}));
  EXPECT_EQ(Moved(owners, now), 20);
  EXPECT_EQ(BalanceParts(now, loads, {true, true, true}), now);
}

TEST(PartBalanceTest, ATaskThatMayHaveNoneIsEmptied) {
  const std::vector<int32_t> owners = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  const std::vector<double> loads = {9, 1, 1, 9, 1, 1, 9, 1, 1};
  const std::vector<int32_t> now = BalanceParts(owners, loads, {false, true, true});
  EXPECT_THAT(now, Each(::testing::AnyOf(1, 2)));
  const std::vector<double> sums = Sums(now, loads, 3);
  EXPECT_LE(std::abs(sums[1] - sums[2]), 9);
}

TEST(PartBalanceTest, AHotPartKeepsItsTaskForItself) {
  std::vector<int32_t> owners(16, 0);
  for (int i = 8; i < 16; ++i) owners[i] = 1;
  std::vector<double> loads(16, 1);
  loads[0] = 1000;
  const std::vector<int32_t> now = BalanceParts(owners, loads, {true, true});
  EXPECT_EQ(std::count(now.begin(), now.end(), now[0]), 8);  // the others' load is too small to be worth a move
  loads[1] = 900;
  const std::vector<int32_t> then = BalanceParts(owners, loads, {true, true});
  EXPECT_NE(then[0], then[1]);
}

TEST(PartBalanceTest, WithoutLoadsNumbersCount) {
  const std::vector<int32_t> now = BalanceParts(std::vector<int32_t>(12, 0), std::vector<double>(12, 0), {true, true});
  EXPECT_EQ(std::count(now.begin(), now.end(), 0), 6);
}

TEST(PartBalanceTest, SumsDifferByNoMoreThanAPart) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const size_t tasks = 2 + random() % 5;
    std::vector<int32_t> owners(64);
    std::vector<double> loads(64);
    for (int i = 0; i < 64; ++i) {
      owners[i] = static_cast<int32_t>(random() % tasks);
      loads[i] = static_cast<double>(1 + random() % 100);
    }
    const std::vector<double> sums = Sums(BalanceParts(owners, loads, std::vector<bool>(tasks, true)), loads, tasks);
    const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
    EXPECT_LE(*most - *least, 100) << seed;
  }
}

}  // namespace
}  // namespace weir
