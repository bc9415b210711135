// Optionals: elements that may be absent.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::ElementShape;
using dataset_ops::kComponents;
using dataset_ops::kShapes;
using dataset_ops::kTypes;
using dataset_ops::OpDescription;
using dataset_ops::RegisterDescribed;

const std::vector<OpDescription>& OptionalElements() {
  static const std::vector<OpDescription> list = {
      {"OptionalGetValue", {"optional: variant"}, {"components: output_types"}, {kTypes, kShapes}, false},
  };
  return list;
}

const std::vector<OpDescription>& OptionalScalars() {
  static const std::vector<OpDescription> list = {
      {"OptionalFromValue", {"components: Toutput_types"}, {"optional: variant"}, {kComponents}, false},
      {"OptionalNone", {}, {"optional: variant"}, {}, false},
      {"OptionalHasValue", {"optional: variant"}, {"has_value: bool"}, {}, false},
  };
  return list;
}

}  // namespace

absl::Status RegisterOptionalOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDescribed(ops, OptionalElements(), ElementShape));
  RETURN_IF_ERROR(RegisterDescribed(ops, OptionalScalars(), shapes::Scalar));

  return absl::OkStatus();
}

}  // namespace weir
