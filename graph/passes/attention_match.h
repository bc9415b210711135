// Patterns of attention and its gradient.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"

namespace weir {

// softmax(q k' scale + mask) v, last node to first. Other readers of intermediate values are not checked.
struct AttentionMatch {
  Node* product = nullptr;  // of queries and keys
  Node* scaled = nullptr;   // null if there is none
  Node* sum = nullptr;      // of scores and mask; null if there is none
  Node* softmax = nullptr;
  Node* mix = nullptr;  // of weights and values: the last
  float scale = 1;
  bool divides = false;  // by the scalar, rather than multiplying
  int scalar_input = 0;  // of `scaled`
  int mask_input = 0;    // of `sum`

  // The nodes whose outputs are scores or weights.
  std::vector<Node*> Inner() const;
  std::vector<Node*> Members() const;
  const Edge* queries() const { return product->input_edge(0); }
  const Edge* keys() const { return product->input_edge(1); }
  const Edge* values() const { return mix->input_edge(1); }
  const Edge* mask() const { return sum == nullptr ? nullptr : sum->input_edge(mask_input); }
  bool transposes_keys() const;
};

// All matches that end in `mix`; several if either operand of a sum may be the scores. Nodes are on one device, of one
// type, and have a kernel; none is in `fixed`, whose values are fetched or fed.
std::vector<AttentionMatch> FindAttention(Node* mix, const absl::flat_hash_set<std::string>& fixed);

// Whether intermediate values are read only by the match's own nodes.
bool IsReadInsideAlone(const AttentionMatch& match);

// The gradient of an attention, as built by TensorFlow and Weir.
struct AttentionGradientMatch {
  std::vector<Node*> members;
  std::vector<Node*> shapes;  // Shape nodes of the attention's inner nodes, which also read the tensors
  // The results; each is null if it is not used, but not all are.
  Node *of_queries = nullptr, *of_keys = nullptr, *of_values = nullptr;
  Node* of_weights = nullptr;  // its first input is the gradient of the attention's output
  bool sums_weights = false;   // the gradient of the weights is summed to their shape
  bool sums_scores = false;    // the gradient of the masked scores is summed to the shape without a mask
};

// nullopt if other nodes read intermediate values of either direction, if the mask's gradient is used, or if fusing
// would create a cycle. NoOps that wait for intermediate values will wait for the fused gradient.
std::optional<AttentionGradientMatch> FindAttentionGradient(const AttentionMatch& forward, const Graph& graph,
                                                            const absl::flat_hash_set<std::string>& fixed);

}  // namespace weir
