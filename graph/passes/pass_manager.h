// An ordered list of passes that can be disabled by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
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

  // Prune, inline functions, fold constants, eliminate common sub-expressions, fuse matrix products with subsequent
  // ops, prune.
  static PassManager Default();

  void Add(std::unique_ptr<Pass> pass) { passes_.push_back(std::move(pass)); }
  // NotFound, listing all passes, if there is none of that name.
  absl::Status Disable(absl::string_view name);
  std::vector<std::string> Names() const;
  // Asked before each pass; an error ends the run.
  void CheckBetween(std::function<absl::Status()> check) { check_ = std::move(check); }

  // Runs the enabled passes in order. An error names the pass.
  absl::StatusOr<std::vector<Report>> Run(const PassContext& context, Graph* graph) const;

 private:
  std::vector<std::unique_ptr<Pass>> passes_;
  absl::flat_hash_set<std::string> disabled_;
  std::function<absl::Status()> check_;
};

std::unique_ptr<Pass> MakePrunePass();
std::unique_ptr<Pass> MakeInlinePass();
std::unique_ptr<Pass> MakeConstantFoldingPass();
std::unique_ptr<Pass> MakeCommonSubexpressionPass();
std::unique_ptr<Pass> MakeRemappingPass();
// Not a default pass; nodes must be placed. On GPUs, FusedBatchNormV3 and a Relu that is the only reader of its y
// become one node, _FusedBatchNormEx, optionally with the sum of y and an image of the same, known shape in between.
// FusedBatchNormGradV3 of that node, with the ReluGrad before it, becomes _FusedBatchNormGradEx (float and half). As in
// TensorFlow's optimizer, values between the ops are not rounded to 16 bits.
std::unique_ptr<Pass> MakeBatchNormPass();
// Not a default pass. Scaled dot-product attention, BatchMatMulV2(Softmax(BatchMatMulV2(q, k) scale + mask), v), of
// float, half and bfloat16, becomes one node, _FusedAttention, if no other node reads intermediate values. The scale is
// a constant; scale and mask are optional. The op is Weir's own, so the pass is only for a worker's partition, which is
// not sent further.
std::unique_ptr<Pass> MakeAttentionPass();
// Not a default pass. Shape, ShapeN, Size, Rank and VariableShape become constants if they are known. Graphs with
// Switch and Merge are left unchanged.
std::unique_ptr<Pass> MakeShapeMaterializationPass();
// Not a default pass. Rewrites a graph whose nodes name meshes in attributes "_layout" and "_mesh" (graph/spmd/mesh.h)
// to run on the meshes' devices: each node becomes one per device, which works on its part, with collectives in
// between.
// - Nodes in `fetches` and `targets` keep their names and results; so do placeholders and `feeds`.
// - Run it on a whole graph, because layouts of variables must be the same in all steps, and materialise shapes and
//   constants afterwards.
std::unique_ptr<Pass> MakeSpmdPass();

}  // namespace weir
