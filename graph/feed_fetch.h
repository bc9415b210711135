// Cuts a graph down to what one signature of feeds, fetches and targets needs.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// "node:output"; ":0" may be left out, "^node" is not accepted.
struct TensorName {
  std::string node;
  int output = 0;
  std::string ToString() const { return absl::StrCat(node, ":", output); }

  // InvalidArgument, quoting the name, where it is malformed.
  static absl::StatusOr<TensorName> Parse(absl::string_view name);
};

struct FeedFetchOptions {
  std::vector<std::string> feeds, fetches, targets;
  // {from, to}: who reads the tensor `to` reads `from` instead.
  std::vector<std::pair<std::string, std::string>> connections;
  // Where a tensor of a node that has no device enters or leaves.
  std::string default_device;
  // Of a device by its full name: goes into the rendezvous keys.
  std::function<uint64_t(absl::string_view device)> incarnation;
};

struct FeedFetchResult {
  // Rendezvous keys and the nodes that use them, in the order of the options' feeds and fetches.
  std::vector<std::string> feed_keys, fetch_keys;
  std::vector<Node*> feed_nodes, fetch_nodes;
};

// Replaces each fed tensor by a client-terminated _Recv on the fed node's device, adds a client-terminated _Send for
// each fetch on its device (TensorFlow's workers take no tensor for another task's device, nor give one), and removes
// every node that no fetch or target needs. Nodes keep their assigned devices. TensorFlow's errors: NotFound for names
// that are not there, InvalidArgument for an output out of range, a tensor fed twice or both fed and fetched, or
// nothing to do.
absl::StatusOr<FeedFetchResult> RewriteForFeedsAndFetches(const FeedFetchOptions& options, Graph* graph);

}  // namespace weir
