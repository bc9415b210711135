#include "kernels/attention/gpu/attention_problem.h"

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// Steps of batch and heads, where the one or two dimensions of `steps` are those.
void Set(const AttentionSizes& sizes, const DimVector& steps, int64_t (&to)[2]) {
  const size_t rank = sizes.batch.size();
  to[0] = rank > 0 ? steps[0] : 0;
  to[1] = rank > 1 ? steps[1] : 0;
}

}  // namespace

std::string AttentionProblem::ToString() const {
  std::string text = absl::StrCat(DataTypeName(dtype), " ", batch, "x", heads, " queries=", queries, "x", depth,
                                  " keys=", keys, " values=", columns);
  if (has_mask) absl::StrAppend(&text, " mask=", MaskSize(0), "x", MaskSize(1), "x", MaskSize(2));
  if (is_gradient) absl::StrAppend(&text, " gradient");
  return text;
}

std::optional<AttentionProblem> ProblemOf(const AttentionSizes& sizes, DataType dtype, bool has_mask) {
  if (dtype != DT_HALF && dtype != DT_BFLOAT16) return std::nullopt;
  if (sizes.batch.size() > 2 || (sizes.k_depth != 1 && sizes.depth != 1)) return std::nullopt;
  if ((sizes.q_row == 0 && sizes.queries > 1) || (sizes.k_key == 0 && sizes.keys > 1)) return std::nullopt;
  if (has_mask && sizes.mask_key == 0 && sizes.keys > 1) return std::nullopt;
  for (size_t d = 0; d < sizes.batch.size(); ++d) {
    if (sizes.batch[d] > 1 && (sizes.q_batch[d] == 0 || sizes.k_batch[d] == 0 || sizes.v_batch[d] == 0)) {
      return std::nullopt;
    }
  }
  AttentionProblem problem{.dtype = dtype,
                           .queries = sizes.queries,
                           .keys = sizes.keys,
                           .depth = sizes.depth,
                           .columns = sizes.columns,
                           .has_mask = has_mask};
  if (!sizes.batch.empty()) problem.batch = sizes.batch[0];
  if (sizes.batch.size() > 1) problem.heads = sizes.batch[1];
  // What has one element of a dimension takes no step along it: libraries want one all the same.
  Set(sizes, sizes.q_batch, problem.q);
  Set(sizes, sizes.k_batch, problem.k);
  Set(sizes, sizes.v_batch, problem.v);
  const int64_t matrices[] = {problem.queries * problem.depth, problem.keys * problem.depth,
                              problem.keys * problem.columns};
  int64_t(*const steps[])[2] = {&problem.q, &problem.k, &problem.v};
  for (int i = 0; i < 3; ++i) {
    if ((*steps[i])[1] == 0) (*steps[i])[1] = matrices[i];
    if ((*steps[i])[0] == 0) (*steps[i])[0] = matrices[i] * problem.heads;
  }
  if (has_mask) {
    problem.mask_varies[0] = problem.batch > 1 && sizes.mask_batch[0] != 0;
    problem.mask_varies[1] = problem.heads > 1 && sizes.mask_batch[1] != 0;
    problem.mask_varies[2] = problem.queries > 1 && sizes.mask_row != 0;
  }
  return problem;
}

}  // namespace weir
