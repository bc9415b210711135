// Strings that match a regular expression, and replacement of what matches.

#include "kernels/sparse/sparse_shapes.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

using sparse_shapes::WithRanks;

absl::Status RegexFullMatchShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  return shapes::Unchanged(c);
}

absl::Status RegexReplaceShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {-1, 0, 0}));
  return shapes::Unchanged(c);
}

}  // namespace

absl::Status RegisterRegexOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("StaticRegexFullMatch")
                                   .Input("input: string")
                                   .Output("output: bool")
                                   .Attr("pattern: string")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("RegexFullMatch")
                                   .Input("input: string")
                                   .Input("pattern: string")
                                   .Output("output: bool")
                                   .Shape(RegexFullMatchShape)));
  RETURN_IF_ERROR(ops.Register(Op("RegexReplace")
                                   .Input("input: string")
                                   .Input("pattern: string")
                                   .Input("rewrite: string")
                                   .Output("output: string")
                                   .Attr("replace_global: bool = true")
                                   .Shape(RegexReplaceShape)));
  RETURN_IF_ERROR(ops.Register(Op("StaticRegexReplace")
                                   .Input("input: string")
                                   .Output("output: string")
                                   .Attr("pattern: string")
                                   .Attr("rewrite: string")
                                   .Attr("replace_global: bool = true")
                                   .Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
