// The options of a step, from those of its caller and its session.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "distribute/transport/worker_interface.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/worker.pb.h"

namespace weir {

// When the step must have ended: by its time limit, and early enough for its answer to reach the caller in time.
absl::Time StepDeadline(const CallOptions& call, const tensorflow::RunOptions& options,
                        const tensorflow::ConfigProto& config);

// Says what executors record of a step that follows `earlier_steps` others of its graph.
tensorflow::ExecutorOpts ExecutorOptions(const tensorflow::RunOptions& options,
                                         const tensorflow::GraphOptions& graph_options, int64_t earlier_steps);

}  // namespace weir
