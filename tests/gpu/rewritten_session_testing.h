// A fixture for sessions whose graphs are rewritten by passes: it shows the nodes that ran and their results.
#pragma once

#include <string>
#include <vector>

#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/gpu_session_testing.h"

namespace weir {

class RewrittenSessionTest : public GpuSessionTest {
 protected:
  // Floats in [-2, 2), the same for the same seed.
  static Tensor Scrambled(const TensorShape& shape, uint32_t seed) {
    Tensor tensor(DT_FLOAT, shape);
    for (float& x : tensor.flat<float>()) {
      seed = seed * 1664525 + 1013904223;
      x = -2 + static_cast<float>(seed >> 24) / 64;
    }
    return tensor;
  }

  // Expects success; the text of the graphs that ran is added to `graphs`.
  std::vector<Tensor> RunTraced(const FeedList& feeds, const OutputList& fetches, const std::vector<Operation>& targets,
                                std::string* graphs) {
    tensorflow::RunOptions options;
    options.set_output_partition_graphs(true);
    tensorflow::RunMetadata metadata;
    auto out = session().Run(feeds, fetches, targets, options, &metadata);
    EXPECT_THAT(out, IsOk());
    for (const auto& graph : metadata.partition_graphs()) *graphs += graph.ShortDebugString();
    return out.ok() ? *std::move(out) : std::vector<Tensor>(fetches.size());
  }
};

}  // namespace weir
