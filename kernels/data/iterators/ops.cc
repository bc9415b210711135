// Iterators over datasets.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::ElementShape;
using dataset_ops::kMayBlock;
using dataset_ops::kShapes;
using dataset_ops::kStateful;
using dataset_ops::kTypes;
using dataset_ops::OpDescription;
using dataset_ops::RegisterDescribed;

const std::vector<OpDescription>& IteratorElements() {
  static const std::vector<OpDescription> list = {
      {"IteratorGetNext",
       {"iterator: resource"},
       {"components: output_types"},
       {kTypes, kShapes},
       kStateful,
       kMayBlock},
      {"IteratorGetNextSync",
       {"iterator: resource"},
       {"components: output_types"},
       {kTypes, kShapes},
       kStateful,
       kMayBlock},
  };
  return list;
}

const std::vector<OpDescription>& IteratorScalars() {
  static const std::vector<OpDescription> list = {
      {"IteratorV2", {}, {"handle: resource"}, {"shared_name: string", "container: string", kTypes, kShapes}, true},
      {"Iterator", {}, {"handle: resource"}, {"shared_name: string", "container: string", kTypes, kShapes}, true},
      {"MakeIterator", {"dataset: variant", "iterator: resource"}, {}, {}, kStateful, kMayBlock},
      {"IteratorGetNextAsOptional",
       {"iterator: resource"},
       {"optional: variant"},
       {kTypes, kShapes},
       kStateful,
       kMayBlock},
      {"OneShotIterator",
       {},
       {"handle: resource"},
       {"dataset_factory: func", kTypes, kShapes, "container: string = ''", "shared_name: string = ''"},
       true},
      {"IteratorToStringHandle", {"resource_handle: resource"}, {"string_handle: string"}, {}, true},
      {"IteratorFromStringHandle",
       {"string_handle: string"},
       {"resource_handle: resource"},
       {"output_types: list(type) >= 0 = []", "output_shapes: list(shape) >= 0 = []"},
       true},
      {"IteratorFromStringHandleV2",
       {"string_handle: string"},
       {"resource_handle: resource"},
       {"output_types: list(type) >= 0 = []", "output_shapes: list(shape) >= 0 = []"},
       true},
      {"AnonymousIterator", {}, {"handle: resource"}, {kTypes, kShapes}, true},
      {"AnonymousIteratorV2", {}, {"handle: resource", "deleter: variant"}, {kTypes, kShapes}, true},
      {"AnonymousIteratorV3", {}, {"handle: resource"}, {kTypes, kShapes}, true},
      {"DeleteIterator", {"handle: resource", "deleter: variant"}, {}, {}, true},
      {"DeserializeIterator", {"resource_handle: resource", "serialized: variant"}, {}, {}, kStateful, kMayBlock},
      {"IteratorGetDevice", {"resource: resource"}, {"device: string"}, {}, true},
      {"ExperimentalIteratorGetDevice", {"resource: resource"}, {"device: string"}, {}, true},
  };
  return list;
}

absl::Status SerializedIteratorShape(InferenceContext& c) {
  c.set_output(0, c.Vector(-1));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterIteratorOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDescribed(ops, IteratorElements(), ElementShape));
  RETURN_IF_ERROR(RegisterDescribed(ops, IteratorScalars(), shapes::Scalar));
  RETURN_IF_ERROR(ops.Register(Op("SerializeIterator")
                                   .MayBlock()
                                   .Input("resource_handle: resource")
                                   .Output("serialized: variant")
                                   .Attr("external_state_policy: int = 0")
                                   .Stateful()
                                   .Shape(SerializedIteratorShape)));
  return absl::OkStatus();
}

}  // namespace weir
