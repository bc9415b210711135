// What makes attention, and its gradient, in a graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"

namespace weir {

// softmax(q k' scale + mask) v, from the last node to the first. Nothing is said of who else reads what is between.
struct AttentionMatch {
  Node* product = nullptr;  // of queries and keys
  Node* scaled = nullptr;   // or null
  Node* sum = nullptr;      // of scores and mask, or null
  Node* softmax = nullptr;
  Node* mix = nullptr;  // of weights and values: the last
  float scale = 1;
  bool divides = false;  // by the scalar, in place of multiplying with it
  int scalar_input = 0;  // of `scaled`
  int mask_input = 0;    // of `sum`

  // What a node of them holds: scores of any kind, or the weights.
  std::vector<Node*> Inner() const;
  std::vector<Node*> Members() const;
  const Edge* queries() const { return product->input_edge(0); }
  const Edge* keys() const { return product->input_edge(1); }
  const Edge* values() const { return mix->input_edge(1); }
  const Edge* mask() const { return sum == nullptr ? nullptr : sum->input_edge(mask_input); }
  bool transposes_keys() const;
};

// All matches that end in `mix`: more than one where either operand of a sum may be the scores. Nodes are on one device
// and of one type, which has a kernel; none is among `fixed`, whose values are asked for or replaced.
std::vector<AttentionMatch> FindAttention(Node* mix, const absl::flat_hash_set<std::string>& fixed);

// Whether what is between is read by the match's own nodes alone.
bool IsReadInsideAlone(const AttentionMatch& match);

// How gradients of that are computed, as TensorFlow and Weir put it.
struct AttentionGradientMatch {
  std::vector<Node*> members;
  std::vector<Node*> shapes;  // Shape of one of the attention's inner nodes: the tensor is read for that too
  // The results, each null where nobody wants it; not all are.
  Node *of_queries = nullptr, *of_keys = nullptr, *of_values = nullptr;
  Node* of_weights = nullptr;  // its first input is the gradient of the attention's output
  bool sums_weights = false;   // the gradient of the weights is summed up to their shape
  bool sums_scores = false;    // the gradient of the masked scores is summed up to the shape without a mask
};

// nullopt where somebody else reads what is between, in either direction; where the mask's gradient is wanted; and
// where one node instead of several would make a cycle. NoOps that wait for what is between will wait for the gradient.
std::optional<AttentionGradientMatch> FindAttentionGradient(const AttentionMatch& forward, const Graph& graph,
                                                            const absl::flat_hash_set<std::string>& fixed);

}  // namespace weir
