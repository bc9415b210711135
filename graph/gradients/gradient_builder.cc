#include "graph/gradients/gradient_builder.h"

#include "graph/gradients/gradient_workspace.h"
#include "graph/gradients/region_gradients.h"

namespace weir {
namespace {

absl::Status CheckBuilt(const std::vector<Output>& outputs) {
  for (const Output& output : outputs) {
    if (!output.valid()) return errors::InvalidArgument("Gradients of an invalid output");
  }
  return absl::OkStatus();
}

// The frame in which all of `outputs` can be used.
absl::StatusOr<int> CommonFrame(const ControlFlowInfo& info, const std::vector<Output>& ys,
                                const std::vector<Output>& xs) {
  if (ys.empty()) return 0;
  const int frame = info.OutputFrame(*ys[0].node());
  for (const auto* list : {&ys, &xs}) {
    for (const Output& output : *list) {
      if (info.OutputFrame(*output.node()) == frame) continue;
      return errors::Unimplemented("Gradients between loop frames: '", ys[0].node()->name(), "' and '",
                                   output.node()->name(), "' are not in the same loop");
    }
  }
  return frame;
}

}  // namespace

absl::StatusOr<std::vector<Gradient>> AddGradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                                   const GradientOptions& options, Graph* graph) {
  RETURN_IF_ERROR(CheckBuilt(ys));
  RETURN_IF_ERROR(CheckBuilt(xs));
  GradientWorkspace workspace(options, graph);
  RETURN_IF_ERROR(workspace.Init(ys, xs));
  ASSIGN_OR_RETURN(const int frame, CommonFrame(workspace.info(), ys, xs));
  RegionGradients region(&workspace, frame, frame);
  for (size_t i = 0; i < ys.size(); ++i) {
    if (i < options.grad_ys.size() && options.grad_ys[i].valid()) {
      region.Seed(ys[i], options.grad_ys[i]);
    } else {
      ASSIGN_OR_RETURN(Output ones, workspace.AddOp("OnesLike", {{ys[i]}}, ys[i].node()->requested_device()));
      region.Seed(ys[i], ones);
    }
  }
  workspace.Claim(frame);
  RETURN_IF_ERROR(region.Run(ys));
  std::vector<Gradient> result;
  for (const Output& x : xs) {
    ASSIGN_OR_RETURN(Gradient sum, region.Sum(x));
    if (options.dense && sum.is_sparse()) {
      ASSIGN_OR_RETURN(Output values, workspace.Densify(sum));
      sum = Gradient(values);
    }
    result.push_back(sum);
  }
  return result;
}

}  // namespace weir
