// Expresses an einsum of one or two operands as a batched matrix product, for kernels of every device.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

// For inputs of certain shapes.
struct EinsumPlan {
  // An input as the dimensions of its factor, [batch, rows, k] or [batch, k, columns], and behind them those that are
  // summed up: its elements along `sizes` lie `steps` apart, 0 where one stands for many.
  struct Operand {
    DimVector sizes, steps;
    int num_summed = 0;
  };
  std::vector<Operand> operands;
  int64_t batches = 1, rows = 1, columns = 1, k = 1;  // one operand: its elements are rows
  TensorShape output;
  // The product's dimensions: where its elements lie in the output. Where a dimension fills a diagonal, all else is 0.
  DimVector sizes, steps;
  bool has_diagonal = false;
};

// An equation of TensorFlow's form: "abc,cd->abd", "...ij,...jk->...ik".
class EinsumEquation {
 public:
  // InvalidArgument, in TensorFlow's words, for what is no equation of `num_inputs` operands.
  static absl::StatusOr<EinsumEquation> Parse(const std::string& equation, int num_inputs);
  // InvalidArgument for shapes that do not fit.
  absl::StatusOr<EinsumPlan> PlanFor(absl::Span<const TensorShape> inputs) const;

 private:
  // Dimensions are named by characters; those of an ellipsis by negative numbers, counted from its end.
  using Labels = std::vector<int>;
  using Sizes = std::map<int, int64_t>;
  struct View;
  struct Roles;

  static absl::StatusOr<Labels> ParseTerm(absl::string_view term);
  static Labels Expand(const Labels& labels, int width);
  static absl::StatusOr<Labels> ExpandInput(const Labels& labels, int i, int rank);
  static absl::Status Merge(absl::Span<const TensorShape> inputs, size_t i, const Labels& labels, const View& view,
                            Sizes* sizes, int* width);
  static void PlaceProduct(const Labels& order, const Labels& output, Sizes& sizes, EinsumPlan* plan);

  std::vector<Labels> inputs_;
  Labels output_;
};

}  // namespace weir
