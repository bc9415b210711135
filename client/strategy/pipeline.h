// Pipeline parallelism: the layers of a model on several devices, which work on different micro-batches at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"
#include "client/strategy/pipeline_schedule.h"
#include "graph/spmd/mesh.h"

namespace weir {

// Applies a layer; called once for each micro-batch.
using LayerFunction = std::function<Output(const Scope& scope, const Output& x)>;

// One layer of a model that is a chain. `make` adds its variables to the scope and gives what applies them.
struct ChainLayer {
  std::string name;
  std::function<LayerFunction(const Scope& scope)> make;
  double cost = 1;  // stages get layers of about the same sum
};

struct ChainModel {
  std::vector<ChainLayer> layers;
  // The mean over a micro-batch, from the last layer's output.
  std::function<Output(const Scope& scope, const Output& result, const Output& labels)> loss;
};

// The loss of the model on one device.
Output BuildChain(const Scope& scope, const ChainModel& model, const Output& input, const Output& labels);

struct PipelineOptions {
  // A device for each stage, as a mesh of one; or a mesh of the same axes for each, to be built by BuildMeshProgram.
  std::vector<Mesh> stages;
  // Dimension 0 of the inputs is cut in so many parts.
  int micro_batches = 1;
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  // The axis of the stages' meshes that splits each micro-batch; empty: none.
  std::string batch_axis;
};

struct Pipeline {
  // Means over the micro-batches; gradients add up one micro-batch after the other.
  Output loss;
  std::vector<GradientAndVariable> gradients;
  // The first layer of each stage.
  std::vector<int> first_layers;
};

// Builds the model with its gradients. Control edges keep each stage to its schedule: what stage s does next waits for
// a node "pipeline/stage_<s>/after_<forward|backward>_<micro-batch>", which waits for all of what it did before. The
// variables have the names that BuildChain gives them. INVALID_ARGUMENT where the batch does not divide, there are more
// stages than layers, or a layer does not depend on the one before.
absl::StatusOr<Pipeline> BuildPipeline(const Scope& scope, const ChainModel& model, const Output& input,
                                       const Output& labels, const PipelineOptions& options);

}  // namespace weir
