// Optimizer updates: dense and sparse, on references and on resources.
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/training/family.h"

namespace weir {
namespace {

struct Update {
  const char* name;                    // "Momentum": ApplyMomentum, ResourceSparseApplyMomentum …
  std::vector<const char*> variables;  // the variable and its slots
  std::vector<const char*> inputs;     // in order, of type T but for global_step
  const char* flag = nullptr;          // a boolean attribute with its default
  bool ref = true, resource = true;
};

// Where an op's inputs stand.
struct Layout {
  int variables = 0;
  int gradient = -1, indices = -1;
};

// Variables agree, scalars are scalars; the gradient is as the variable, or as its rows that indices name.
absl::Status UpdateShape(InferenceContext& c, const Layout& layout, bool resource) {
  PartialTensorShape shape;
  for (int i = 0; i < layout.variables; ++i) {
    if (resource && c.input_handle(i).empty()) continue;
    ASSIGN_OR_RETURN(shape, shape.MergeWith(resource ? c.input_handle(i)[0].shape : c.input(i)));
  }
  for (int i = layout.variables; i < c.num_inputs(); ++i) {
    if (i != layout.gradient && i != layout.indices) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  }
  const PartialTensorShape& gradient = c.input(layout.gradient);
  if (layout.indices < 0) {
    ASSIGN_OR_RETURN(shape, shape.MergeWith(gradient));
  } else {
    ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRank(c.input(layout.indices), 1));
    RETURN_IF_ERROR(c.MergeDim(c.Dim(gradient, 0), c.Dim(indices, 0)).status());
    ASSIGN_OR_RETURN(shape, c.WithRankAtLeast(shape, 1));
    if (!shape.unknown_rank()) {
      ASSIGN_OR_RETURN(PartialTensorShape row, c.Subshape(shape, 1));
      RETURN_IF_ERROR(gradient.MergeWith(c.Concatenate(indices, row)).status());
    }
  }
  if (c.num_outputs() > 0) c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status Register(OpRegistry& ops, const Update& update, bool resource, bool sparse) {
  Op op(absl::StrCat(resource ? "Resource" : "", sparse ? "SparseApply" : "Apply", update.name));
  Layout layout;
  int inputs = 0;
  for (const char* variable : update.variables) {
    op.Input(absl::StrCat(variable, resource ? ": resource" : ": Ref(T)"));
    layout.variables = ++inputs;
  }
  for (absl::string_view name : update.inputs) {
    op.Input(absl::StrCat(name, name == "global_step" ? ": int64" : ": T"));
    if (name == "grad" || name == "delta") {
      layout.gradient = inputs;
      if (sparse) {
        op.Input("indices: Tindices");
        layout.indices = ++inputs;
      }
    }
    ++inputs;
  }
  if (!resource) op.Output("out: Ref(T)");
  op.Attr("T: numbertype");
  if (sparse) op.Attr("Tindices: {int32, int64}");
  op.Attr("use_locking: bool = false");
  if (update.flag != nullptr) op.Attr(update.flag);
  if (resource) op.Stateful();
  op.WritesState();
  op.Shape([layout, resource](InferenceContext& c) { return UpdateShape(c, layout, resource); });
  return ops.Register(op);
}

absl::Status Register(OpRegistry& ops, const std::vector<Update>& updates, bool sparse) {
  for (const Update& update : updates) {
    if (update.ref) RETURN_IF_ERROR(Register(ops, update, /*resource=*/false, sparse));
    if (update.resource) RETURN_IF_ERROR(Register(ops, update, /*resource=*/true, sparse));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterTrainingOps(OpRegistry& ops) {
  const char* const nesterov = "use_nesterov: bool = false";
  const char* const slots = "update_slots: bool = true";
  const char* const multiply = "multiply_linear_by_lr: bool = false";
  const std::vector<Update> both = {
      {"Momentum", {"var", "accum"}, {"lr", "grad", "momentum"}, nesterov},
      {"KerasMomentum", {"var", "accum"}, {"lr", "grad", "momentum"}, nesterov, /*ref=*/false},
      {"Adagrad", {"var", "accum"}, {"lr", "grad"}, slots},
      {"AdagradV2", {"var", "accum"}, {"lr", "epsilon", "grad"}, slots},
      {"RMSProp", {"var", "ms", "mom"}, {"lr", "rho", "momentum", "epsilon", "grad"}},
      {"CenteredRMSProp", {"var", "mg", "ms", "mom"}, {"lr", "rho", "momentum", "epsilon", "grad"}},
      {"Adadelta", {"var", "accum", "accum_update"}, {"lr", "rho", "epsilon", "grad"}},
      {"Ftrl", {"var", "accum", "linear"}, {"grad", "lr", "l1", "l2", "lr_power"}, multiply},
      {"FtrlV2", {"var", "accum", "linear"}, {"grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"}, multiply},
      {"ProximalAdagrad", {"var", "accum"}, {"lr", "l1", "l2", "grad"}},
      {"AdagradDA",
       {"var", "gradient_accumulator", "gradient_squared_accumulator"},
       {"grad", "lr", "l1", "l2", "global_step"}},
  };
  RETURN_IF_ERROR(Register(ops, both, /*sparse=*/false));
  RETURN_IF_ERROR(Register(ops, both, /*sparse=*/true));
  RETURN_IF_ERROR(
      Register(ops, {{"ProximalGradientDescent", {"var"}, {"alpha", "l1", "l2", "grad"}}}, /*sparse=*/true));
  const std::vector<const char*> adam = {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"};
  const std::vector<Update> dense = {
      {"GradientDescent", {"var"}, {"alpha", "delta"}},
      {"ProximalGradientDescent", {"var"}, {"alpha", "l1", "l2", "delta"}},
      {"Adam", {"var", "m", "v"}, adam, nesterov},
      {"AdamWithAmsgrad", {"var", "m", "v", "vhat"}, adam, nullptr, /*ref=*/false},
      {"AdaMax", {"var", "m", "v"}, {"beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"}},
      {"AddSign", {"var", "m"}, {"lr", "alpha", "sign_decay", "beta", "grad"}},
      {"PowerSign", {"var", "m"}, {"lr", "logbase", "sign_decay", "beta", "grad"}},
  };
  return Register(ops, dense, /*sparse=*/false);
}

}  // namespace weir
