// An ordered list of passes, each of which can be switched off by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/passes/pass.h"

namespace weir {

class PassManager {
 public:
  struct Report {
    std::string pass;
    int changes = 0;
    int nodes_after = 0;
  };

  // Prune, inline functions, fold constants, merge common sub-expressions, fuse products with what follows them, prune.
  static PassManager Default();

  void Add(std::unique_ptr<Pass> pass) { passes_.push_back(std::move(pass)); }
  // NotFound, listing those there are, for a pass that is not there.
  absl::Status Disable(absl::string_view name);
  std::vector<std::string> Names() const;

  // Runs the passes in order, but for those switched off. An error says in which pass.
  absl::StatusOr<std::vector<Report>> Run(const PassContext& context, Graph* graph) const;

 private:
  std::vector<std::unique_ptr<Pass>> passes_;
  absl::flat_hash_set<std::string> disabled_;
};

std::unique_ptr<Pass> MakePrunePass();
std::unique_ptr<Pass> MakeInlinePass();
std::unique_ptr<Pass> MakeConstantFoldingPass();
std::unique_ptr<Pass> MakeCommonSubexpressionPass();
std::unique_ptr<Pass> MakeRemappingPass();
// Not among the default ones. On GPUs FusedBatchNormV3 becomes one node, _FusedBatchNormEx, with the Relu that alone
// reads its y, or with the sum of y and an image of the same shape, which is known, and the Relu that alone reads that;
// and FusedBatchNormGradV3 of that node, with the ReluGrad before it, becomes _FusedBatchNormGradEx (float and half).
// As TensorFlow's optimizer does; between the ops nothing is rounded to 16 bits. Nodes have their devices by then.
std::unique_ptr<Pass> MakeBatchNormPass();
// Not among the default ones. Scaled dot-product attention, BatchMatMulV2(Softmax(BatchMatMulV2(q, k) scale + mask), v)
// of float, half and bfloat16, becomes one node, _FusedAttention, where nothing else reads what is between; the scale
// is a constant, and it and the mask may be missing. The op is Weir's own: for a worker's part of a graph, which goes
// nowhere.
std::unique_ptr<Pass> MakeAttentionPass();
// Not among the default ones. Shape, ShapeN, Size, Rank and VariableShape become constants where they are known; graphs
// with Switch and Merge stay as they are.
std::unique_ptr<Pass> MakeShapeMaterializationPass();
// Not among the default ones. A graph whose nodes name meshes in their attributes "_layout" and "_mesh"
// (graph/spmd/mesh.h) is rewritten to run on the devices of those: each node becomes one per device, that works on its
// part, with collectives between them. Nodes in `fetches` and `targets` keep their names and what they give; so do
// placeholders and `feeds`. Run it on a whole graph, since layouts of variables must agree in all steps; then shapes
// and constants should be materialised.
std::unique_ptr<Pass> MakeSpmdPass();

}  // namespace weir
