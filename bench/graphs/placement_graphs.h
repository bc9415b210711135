// Training graphs of six models without devices, for placement.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir::bench {

// Sizes of models: those of the benchmark, or small ones for tests.
enum class ModelSize { kFull, kSmall };

struct PlacementGraph {
  std::string name;
  std::string description;
  tensorflow::GraphDef graph;  // forward and backward pass and the update, which "train" runs; and initialisers
};

// An MLP, a convnet, a residual network, an LSTM, a recommender with tables, a transformer.
absl::StatusOr<std::vector<PlacementGraph>> MakePlacementGraphs(ModelSize size);

}  // namespace weir::bench
