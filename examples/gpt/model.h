// A GPT (Radford et al. 2019): token and position embeddings, blocks of causal attention and an MLP, a head of its own
// unless asked otherwise.
#pragma once

#include <string>
#include <vector>

#include "client/strategy/pipeline.h"
#include "client/strategy/tensor_parallel.h"

namespace weir::gpt {

struct ModelOptions {
  int64_t vocabulary = 128;
  int64_t context = 32;
  int64_t width = 32;
  int64_t heads = 4;
  int64_t blocks = 2;
  int64_t seed = 1;
  // The head multiplies by the tokens' table, as GPT-2's does: both lie in one stage of a pipeline then.
  bool has_tied_head = false;
};

// Tokens and labels are int32 [batch, context]. The same for one device and for every way to share the work.
ChainModel Model(const ModelOptions& options);

// Which variables tensor parallelism splits over `axis`: heads, hidden units, vocabulary.
std::vector<LayoutRule> TensorLayouts(const std::string& axis);

}  // namespace weir::gpt
