// Describes an input function's pipeline among its peers.
#pragma once

#include "core/api.h"

namespace WEIR_API weir {

// The number and index of this pipeline among those that read the same input: the dataset's Shard.
struct InputContext {
  int num_input_pipelines = 1;
  int input_pipeline_id = 0;
  int num_replicas_in_sync = 1;  // replicas fed by one step of all pipelines together
};

}  // namespace weir
