// A GPT (Radford et al. 2019): token and position embeddings, blocks of causal attention and an MLP, and by default a
// separate head.
#pragma once

#include <string>
#include <vector>

#include "weir/strategy/pipeline.h"
#include "weir/strategy/tensor_parallel.h"

namespace weir::gpt {

struct ModelOptions {
  int64_t vocabulary = 128;
  int64_t context = 32;
  int64_t width = 32;
  int64_t heads = 4;
  int64_t blocks = 2;
  int64_t seed = 1;
  // The head multiplies by the token embedding, like GPT-2's: both must be in the same pipeline stage then.
  bool has_tied_head = false;
};

// Tokens and labels are int32 [batch, context]. The same for one device and every form of parallelism.
ChainModel Model(const ModelOptions& options);

// The variables that tensor parallelism splits over `axis`: heads, hidden units, vocabulary.
std::vector<LayoutRule> TensorLayouts(const std::string& axis);

}  // namespace weir::gpt
