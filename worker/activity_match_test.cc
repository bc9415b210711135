#include "worker/activity_match.h"

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNull;

const Node* Named(int i) {
  static const char kNodes[8] = {};
  return reinterpret_cast<const Node*>(&kNodes[i]);  // told apart, not looked at
}
GpuActivity At(int64_t enqueued, uint32_t thread) {
  GpuActivity activity;
  activity.enqueued_nanos = enqueued;
  activity.thread = thread;
  return activity;
}

TEST(MatchActivities, ByTimeAndThread) {
  const HostRun runs[] = {{Named(0), 10, 20, 7}, {Named(1), 20, 30, 8}, {Named(2), 25, 40, 7}};
  EXPECT_THAT(
      MatchActivities({At(10, 7), At(20, 7), At(22, 7), At(22, 8), At(40, 7), At(41, 7), At(9, 7), At(15, 9)}, runs),
      ElementsAre(Named(0), Named(0), IsNull(), Named(1), Named(2), IsNull(), IsNull(), IsNull()));
}

TEST(MatchActivities, TheInnermostOfNodesWithinNodes) {
  const HostRun runs[] = {{Named(0), 10, 50, 7}, {Named(1), 15, 20, 7}, {Named(2), 30, 35, 7}};
  EXPECT_THAT(MatchActivities({At(12, 7), At(18, 7), At(25, 7), At(31, 7), At(45, 7)}, runs),
              ElementsAre(Named(0), Named(1), Named(0), Named(2), Named(0)));
}

}  // namespace
}  // namespace weir
