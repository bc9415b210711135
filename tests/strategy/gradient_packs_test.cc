#include "client/strategy/gradient_packs.h"

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMiB = 1 << 20;

TEST(GradientPacksTest, GradientsArePackedInTheOrderInWhichTheyAreMade) {
  const std::vector<PackedGradient> gradients = {
      {40, DT_FLOAT, 3}, {30, DT_FLOAT, 3}, {20, DT_FLOAT, 3}, {10, DT_FLOAT, 3}};
  EXPECT_THAT(PackGradients(gradients, 6), ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
  EXPECT_THAT(PackGradients(gradients, 7), ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
  EXPECT_THAT(PackGradients(gradients, 100), ElementsAre(ElementsAre(3, 2, 1, 0)));
  EXPECT_TRUE(PackGradients({}, 100).empty());
}

TEST(GradientPacksTest, OnItsOwnIsWhatIsLargeOrNotToBePacked) {
  const std::vector<PackedGradient> gradients = {{0, DT_FLOAT, 2}, {1, DT_FLOAT, 9}, {2, DT_FLOAT, 2}};
  EXPECT_THAT(PackGradients(gradients, 9), ElementsAre(ElementsAre(1), ElementsAre(0, 2)));
  EXPECT_THAT(PackGradients(gradients, -1), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(GradientPacksTest, TheFirstPackIsSmall) {
  std::vector<PackedGradient> gradients;
  for (int i = 0; i < 100; ++i) gradients.push_back({i, DT_FLOAT, kMiB / 2});
  const std::vector<std::vector<int>> packs = PackGradients(gradients, 0);
  ASSERT_EQ(packs.size(), 3);
  EXPECT_EQ(packs[0].size(), 2);
  EXPECT_EQ(packs[1].size(), 50);
  EXPECT_EQ(packs[2].size(), 48);
}

TEST(GradientPacksTest, TypesAreNotMixed) {
  const std::vector<PackedGradient> gradients = {
      {0, DT_FLOAT, 1}, {1, DT_HALF, 1}, {2, DT_FLOAT, 1}, {3, DT_HALF, 1}, {4, DT_FLOAT, 1}};
  EXPECT_THAT(PackGradients(gradients, 2), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4)));
}

}  // namespace
}  // namespace weir
