// Iterators, optionals, and what else uses datasets.
#include "core/status.h"
#include "graph/shape_inference.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

constexpr char kTypes[] = "output_types: list(type) >= 1";
constexpr char kShapes[] = "output_shapes: list(shape) >= 1";
constexpr char kMetadata[] = "metadata: string = ''";
constexpr char kFunction[] = "f: func";
constexpr char kArguments[] = "Targuments: list(type) >= 0";
constexpr char kComponents[] = "Toutput_types: list(type) >= 1";
constexpr char kInput[] = "input_dataset: variant";
constexpr char kOthers[] = "other_arguments: Targuments";

struct OpDescription {
  const char* name;
  std::vector<const char*> inputs, outputs, attrs;
  bool stateful = false;
};

absl::Status RegisterList(OpRegistry& ops, const std::vector<OpDescription>& list, const ShapeFn& shape) {
  for (const OpDescription& described : list) {
    Op op(described.name);
    for (const char* input : described.inputs) op.Input(input);
    for (const char* output : described.outputs) op.Output(output);
    for (const char* attr : described.attrs) op.Attr(attr);
    if (described.stateful) op.Stateful();
    RETURN_IF_ERROR(ops.Register(op.Shape(shape)));
  }
  return absl::OkStatus();
}

// Outputs are an element's tensors.
absl::Status ElementShape(InferenceContext& c) {
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as `output_types` (", shapes.size(),
                                   " vs. ", c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return absl::OkStatus();
}

absl::Status VectorShape(InferenceContext& c) {
  c.set_output(0, c.Vector(-1));
  return absl::OkStatus();
}

const std::vector<OpDescription>& ElementOps() {
  static const std::vector<OpDescription> list = {
      {"IteratorGetNext", {"iterator: resource"}, {"components: output_types"}, {kTypes, kShapes}, true},
      {"IteratorGetNextSync", {"iterator: resource"}, {"components: output_types"}, {kTypes, kShapes}, true},
      {"GetElementAtIndex",
       {"dataset: variant", "index: int64"},
       {"components: output_types"},
       {kTypes, kShapes},
       false},
      {"ReduceDataset",
       {kInput, "initial_state: Tstate", kOthers},
       {"components: output_types"},
       {kFunction, "Tstate: list(type) >= 1", kArguments, kTypes, kShapes, "use_inter_op_parallelism: bool = true",
        kMetadata},
       true},
      {"DatasetToSingleElement",
       {"dataset: variant"},
       {"components: output_types"},
       {kTypes, kShapes, kMetadata},
       true},
      {"OptionalGetValue", {"optional: variant"}, {"components: output_types"}, {kTypes, kShapes}, false},
  };
  return list;
}

const std::vector<OpDescription>& ScalarOps() {
  static const std::vector<OpDescription> list = {
      {"IteratorV2", {}, {"handle: resource"}, {"shared_name: string", "container: string", kTypes, kShapes}, true},
      {"Iterator", {}, {"handle: resource"}, {"shared_name: string", "container: string", kTypes, kShapes}, true},
      {"MakeIterator", {"dataset: variant", "iterator: resource"}, {}, {}, true},
      {"IteratorGetNextAsOptional", {"iterator: resource"}, {"optional: variant"}, {kTypes, kShapes}, true},
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
      {"DeserializeIterator", {"resource_handle: resource", "serialized: variant"}, {}, {}, true},
      {"IteratorGetDevice", {"resource: resource"}, {"device: string"}, {}, true},
      {"ExperimentalIteratorGetDevice", {"resource: resource"}, {"device: string"}, {}, true},
      {"DatasetCardinality", {kInput}, {"cardinality: int64"}, {"cardinality_options: string = ''"}, false},
      {"ExperimentalDatasetCardinality", {kInput}, {"cardinality: int64"}, {}, false},
      {"DatasetToGraph",
       {kInput},
       {"graph: string"},
       {"stateful_whitelist: list(string) >= 0 = []", "allow_stateful: bool = false",
        "strip_device_assignment: bool = false"},
       false},
      {"DatasetToGraphV2",
       {kInput},
       {"graph: string"},
       {"external_state_policy: int = 0", "strip_device_assignment: bool = false"},
       false},
      {"InitializeTableFromDataset", {"table_handle: resource", "dataset: variant"}, {}, {}, true},
      {"OptionalFromValue", {"components: Toutput_types"}, {"optional: variant"}, {kComponents}, false},
      {"OptionalNone", {}, {"optional: variant"}, {}, false},
      {"OptionalHasValue", {"optional: variant"}, {"has_value: bool"}, {}, false},
      {"DummySeedGenerator", {}, {"handle: resource"}, {}, true},
      {"AnonymousSeedGenerator",
       {"seed: int64", "seed2: int64", "reshuffle: bool"},
       {"handle: resource", "deleter: variant"},
       {},
       true},
      {"AnonymousRandomSeedGenerator",
       {"seed: int64", "seed2: int64"},
       {"handle: resource", "deleter: variant"},
       {},
       true},
      {"DeleteSeedGenerator", {"handle: resource", "deleter: variant"}, {}, {}, true},
      {"DeleteRandomSeedGenerator", {"handle: resource", "deleter: variant"}, {}, {}, true},
      {"DummyMemoryCache", {}, {"handle: resource"}, {}, true},
      {"AnonymousMemoryCache", {}, {"handle: resource", "deleter: variant"}, {}, true},
      {"DeleteMemoryCache", {"handle: resource", "deleter: variant"}, {}, {}, true},
  };
  return list;
}

}  // namespace

absl::Status RegisterIteratorOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterList(ops, ElementOps(), ElementShape));
  RETURN_IF_ERROR(RegisterList(ops, ScalarOps(), shapes::Scalar));
  return ops.Register(Op("SerializeIterator")
                          .Input("resource_handle: resource")
                          .Output("serialized: variant")
                          .Attr("external_state_policy: int = 0")
                          .Stateful()
                          .Shape(VectorShape));
}

}  // namespace weir
