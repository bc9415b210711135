// What an input function is told of the pipelines beside its own.
#pragma once

namespace weir {

// Which of how many pipelines that read the same input a dataset is made for: the dataset's Shard.
struct InputContext {
  int num_input_pipelines = 1;
  int input_pipeline_id = 0;
  int num_replicas_in_sync = 1;  // that a step of all pipelines together feeds
};

}  // namespace weir
