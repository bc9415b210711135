// Packs of gradients are reduced while back-propagation goes on.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "client/gradients.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/strategy/mirrored_strategy.h"
#include "core/testing.h"
#include "graph/ancestors_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr int kLayers = 6;
constexpr int64_t kWidth = 4, kLayerBytes = kWidth * kWidth * sizeof(float);

MirroredOptions OnTwo(CommunicationOptions communication) {
  return {.devices = {"/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:1"},
          .cross_device = CrossDevice::kCollectiveOps,
          .communication = std::move(communication)};
}

// The reductions of replica 0 of a chain of layers, in the order of building.
std::vector<const Node*> BuildReductions(const Scope& root, const CommunicationOptions& communication) {
  auto strategy = MirroredStrategy(root, OnTwo(communication));
  EXPECT_THAT(strategy.status(), IsOk());
  if (!strategy.ok()) return {};
  const PerReplica loss = (*strategy)->Run([](const ReplicaContext& replica, const OutputList&) {
    const Scope& scope = replica.scope();
    Output x = scope.Constant(Tensor(DT_FLOAT, TensorShape({2, kWidth})));
    for (int i = 0; i < kLayers; ++i) {
      const ResourceVariable weights =
          ResourceVariable::Make(scope.WithName(absl::StrCat("layer_", i)), TensorShape({kWidth, kWidth}), DT_FLOAT,
                                 initializers::Constant(0.5));
      x = ops::Tanh(scope, ops::MatMul(scope, x, weights.value()));
    }
    return OutputList{ops::Sum(scope, x, Tensor::Vector<int32_t>({0, 1}))};
  })[0];
  const std::unique_ptr<Optimizer> optimizer = GradientDescentOptimizer(0.1);
  (*strategy)->Minimize(*optimizer, loss, GlobalStep((*strategy)->Scope()));
  EXPECT_THAT(root.status(), IsOk());
  std::vector<const Node*> reductions;
  for (const Node* node : root.graph()->nodes()) {
    if (node->op() == "CollectiveReduceV2" && absl::StrContains(node->requested_device(), "CPU:0")) {
      reductions.push_back(node);
    }
  }
  std::sort(reductions.begin(), reductions.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  return reductions;
}

TEST(GradientOverlapTest, APackWaitsForItsOwnGradientsAlone) {
  const Scope root = Scope::NewRoot();
  const std::vector<const Node*> packs = BuildReductions(root, {.bytes_per_pack = 2 * kLayerBytes});
  ASSERT_EQ(packs.size(), kLayers / 2);
  for (size_t i = 0; i + 1 < packs.size(); ++i) {
    const absl::flat_hash_set<const Node*> before = Ancestors(packs[i]);
    for (size_t later = i + 1; later < packs.size(); ++later) {
      // What joins the later pack's gradients, and each of these.
      const Node* const joined = packs[later]->input_edge(0)->src;
      ASSERT_EQ(joined->op(), "ConcatV2");
      EXPECT_FALSE(before.contains(joined));
      for (int member = 0; member < 2; ++member) {
        const Node* const gradient = joined->input_edge(member)->src->input_edge(0)->src;
        EXPECT_FALSE(before.contains(gradient)) << gradient->name();
      }
      EXPECT_FALSE(Ancestors(packs[later]).contains(packs[i]));
    }
  }
}

TEST(GradientOverlapTest, TheOptionsSayHowManyCollectivesThereAreAndHowTheyLook) {
  EXPECT_EQ(BuildReductions(Scope::NewRoot(), {.bytes_per_pack = -1}).size(), kLayers);
  EXPECT_EQ(BuildReductions(Scope::NewRoot(), {}).size(), 1);
  const Scope root = Scope::NewRoot();
  const std::vector<const Node*> packs = BuildReductions(root, {.timeout_seconds = 7, .wire = "bf16+lz4"});
  ASSERT_EQ(packs.size(), 1);
  EXPECT_EQ(packs[0]->def().attr().at("_weir_wire").s(), "bf16+lz4");
  EXPECT_EQ(packs[0]->def().attr().at("timeout_seconds").f(), 7);
}

TEST(GradientOverlapTest, OptionsThatAreNoneAreRefused) {
  for (const auto& [communication, message] : std::vector<std::pair<CommunicationOptions, const char*>>{
           {{.bytes_per_pack = -2}, "bytes_per_pack cannot be -2"},
           {{.timeout_seconds = -1}, "timeout_seconds"},
           {{.wire = "zip"}, "MirroredStrategy: wire: 'zip'"}}) {
    EXPECT_THAT(MirroredStrategy(Scope::NewRoot(), OnTwo(communication)).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

}  // namespace
}  // namespace weir
