// Definitions of dataset ops as lists: most differ in their name, inputs and attrs alone.
#pragma once

#include <vector>

#include "core/op/op_registry.h"
#include "graph/shapes/shape_inference.h"

namespace weir::dataset_ops {

inline constexpr char kTypes[] = "output_types: list(type) >= 1";
inline constexpr char kShapes[] = "output_shapes: list(shape) >= 1";
inline constexpr char kMetadata[] = "metadata: string = ''";
inline constexpr char kFunction[] = "f: func";
inline constexpr char kArguments[] = "Targuments: list(type) >= 0";
inline constexpr char kComponents[] = "Toutput_types: list(type) >= 1";
inline constexpr char kDeterministic[] = "deterministic: string = 'default'";
inline constexpr char kInput[] = "input_dataset: variant";
inline constexpr char kOthers[] = "other_arguments: Targuments";
inline constexpr bool kStateful = true;
inline constexpr bool kMayBlock = true;

// An op whose one output is a dataset.
struct DatasetOp {
  const char* name;
  std::vector<const char*> inputs, attrs;
  bool stateful = false;
};
absl::Status RegisterDatasets(OpRegistry& ops, const std::vector<DatasetOp>& list);

struct OpDescription {
  const char* name;
  std::vector<const char*> inputs, outputs, attrs;
  bool stateful = false, may_block = false;
};
absl::Status RegisterDescribed(OpRegistry& ops, const std::vector<OpDescription>& list, const ShapeFn& shape);

// The outputs are an element's tensors.
absl::Status ElementShape(InferenceContext& c);

}  // namespace weir::dataset_ops
