// The layout of a fused expression's elements, for inputs of given shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fusion/fused_node.h"
#include "core/tensor/tensor_shape.h"
#include "kernels/fusion/fused_args.h"
#include "kernels/reduction/gpu_fold.h"

namespace weir {

// An error of one of the nodes that `node` stands for, by its number: as if that had told it, where `where` says.
absl::Status ErrorOfNode(const FusedNode& node, size_t which, const ErrorOrigin& where, const absl::Status& error);

// The shape of each value of the expression, as the ops that it stands for would make them, or their error.
absl::StatusOr<std::vector<TensorShape>> ShapesOfValues(const FusedNode& node, const ErrorOrigin& where,
                                                        absl::Span<const TensorShape> inputs);

// How a tensor is read, or written, by a kernel. What differs in it needs other code.
struct FusedPattern {
  enum class Access : char {
    kDense = 'd',      // in the order of the elements that are computed
    kScalar = 's',     // one element for all
    kBroadcast = 'b',  // by steps
  };
  int rank = 0;                  // of FusedArgs; 0 where nothing is read by steps
  bool wide = false;             // more elements than 32 bits count
  bool folds = false;            // the reduction is the kernel's
  std::vector<Access> accesses;  // of the inputs, and then of the outputs
  // Of outputs: dimensions that they do not have, by bits. Only the first element along these is stored.
  std::vector<unsigned> missing;

  // Short, and the same for what needs the same code.
  std::string Key() const;
  friend bool operator==(const FusedPattern&, const FusedPattern&) = default;
};

struct FusedLayout {
  FusedPattern pattern;
  std::vector<TensorShape> outputs;  // of the kernel: without a reduction that is not its own
  FusedArgs args = {};               // but for tensors and code
};

// How one kernel computes the expression; nullopt where it cannot, and steps must run one by one: there are no
// elements, the outputs' shapes are not one that all can be broadcast to, operands of as many elements have different
// shapes, or there are more dimensions than kernels take. `values` is ShapesOfValues', and `fold` the reduction's plan,
// if there is one: it is left to a kernel of its own where dimensions before others are reduced, or so few results come
// of so many elements that one kernel would keep most of a GPU waiting.
std::optional<FusedLayout> LayoutOfFused(const FusedExpression& expression, const std::vector<TensorShape>& values,
                                         const FoldPlan* fold);

}  // namespace weir
