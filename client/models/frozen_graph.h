// Frozen graphs: models in one file, without variables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/models/loaded_model.h"
#include "core/api.h"

namespace WEIR_API weir {

struct FrozenGraphOptions {
  // Names of tensors, "x:0" or "x". Without inputs, every placeholder is one; without outputs, every result that no
  // other node uses.
  std::vector<std::string> inputs, outputs;
  std::string init_op;  // a node to run once, which fills tables; "": none
};

// Loads the GraphDef in `file`, binary or text, as a model with one signature, "serving_default", whose inputs and
// outputs have the names of tensors, without ":0". LoadOptions::tags do not matter. Errors are those of LoadSavedModel.
absl::StatusOr<std::unique_ptr<LoadedModel>> LoadFrozenGraph(const std::string& file,
                                                             const FrozenGraphOptions& graph = {},
                                                             const LoadOptions& options = {});

// The signature that LoadFrozenGraph gives to the graph, which is not run.
absl::StatusOr<SignatureInfo> DescribeFrozenGraph(const std::string& file, const FrozenGraphOptions& graph = {});

// Where a model's signature is in a frozen graph, and a summary of it.
struct FrozenModel {
  SignatureInfo signature;
  std::string init_op;  // fills tables; "": none
  int nodes = 0, variables = 0;
};

// Writes the part of the model that one signature needs, with the present values of variables as constants, as a binary
// GraphDef that Weir and TensorFlow load. Adds ops to the model's graph: signatures that run must have been prepared
// before. InvalidArgument if the signature changes variables; ResourceExhausted beyond 2 GiB, the limit of protobuf.
absl::StatusOr<FrozenModel> FreezeModel(const LoadedModel& model, const std::string& signature,
                                        const std::string& file);

}  // namespace weir
