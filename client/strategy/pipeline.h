// Pipeline parallelism: the layers of a model are on several devices, which work on different micro-batches at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"
#include "client/strategy/pipeline_schedule.h"
#include "core/api.h"
#include "graph/spmd/mesh.h"

namespace WEIR_API weir {

// Applies a layer; called once per micro-batch.
using LayerFunction = std::function<Output(const Scope& scope, const Output& x)>;

// One layer of a sequential model. `make` adds its variables to the scope and returns a function that applies it.
struct ChainLayer {
  std::string name;
  std::function<LayerFunction(const Scope& scope)> make;
  double cost = 1;  // stages get layers with about the same total
};

struct ChainModel {
  std::vector<ChainLayer> layers;
  // The mean over a micro-batch, given the last layer's output.
  std::function<Output(const Scope& scope, const Output& result, const Output& labels)> loss;
};

// The loss of the model on a single device.
Output BuildChain(const Scope& scope, const ChainModel& model, const Output& input, const Output& labels);

struct PipelineOptions {
  // One device per stage, as a mesh of one; or one mesh with the same axes per stage, for BuildMeshProgram.
  std::vector<Mesh> stages;
  // Dimension 0 of the inputs is split into this many parts.
  int micro_batches = 1;
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  // The axis of the stages' meshes that splits each micro-batch; empty for none.
  std::string batch_axis;
};

struct Pipeline {
  // Means over the micro-batches; gradients are summed one micro-batch after the other.
  Output loss;
  std::vector<GradientAndVariable> gradients;
  // The first layer of each stage.
  std::vector<int> first_layers;
};

// Builds the model with its gradients. Control edges enforce each stage's schedule: the next task of stage s waits for
// a node "pipeline/stage_<s>/after_<forward|backward>_<micro-batch>", which waits for all previous ones. Variables have
// the same names as with BuildChain. INVALID_ARGUMENT if the batch does not divide evenly, there are more stages than
// layers, or a layer does not depend on the previous one.
absl::StatusOr<Pipeline> BuildPipeline(const Scope& scope, const ChainModel& model, const Output& input,
                                       const Output& labels, const PipelineOptions& options);

}  // namespace weir
