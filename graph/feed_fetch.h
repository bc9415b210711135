// Cuts a graph down to one signature of feeds, fetches and targets.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// "node:output"; ":0" may be omitted, "^node" is not accepted.
struct TensorName {
  std::string node;
  int output = 0;
  std::string ToString() const { return absl::StrCat(node, ":", output); }

  // InvalidArgument, quoting the name, if it is malformed.
  static absl::StatusOr<TensorName> Parse(absl::string_view name);
};

struct FeedFetchOptions {
  std::vector<std::string> feeds, fetches, targets;
  // {from, to}: consumers of the tensor `to` read `from` instead.
  std::vector<std::pair<std::string, std::string>> connections;
  // The device of feeds and fetches of nodes without a device.
  std::string default_device;
  // The incarnation of a device, given its full name, for rendezvous keys.
  std::function<uint64_t(absl::string_view device)> incarnation;
};

struct FeedFetchResult {
  // Rendezvous keys and their nodes, in the order of the options' feeds and fetches.
  std::vector<std::string> feed_keys, fetch_keys;
  std::vector<Node*> feed_nodes, fetch_nodes;
};

// Rewrites the graph for one signature:
// - each fed tensor becomes a client-terminated _Recv on the fed node's device;
// - each fetch gets a client-terminated _Send on its device (TensorFlow's workers neither accept nor return tensors for
//   another task's device);
// - nodes that no fetch or target needs are removed.
// Nodes keep their assigned devices. Errors are TensorFlow's: NotFound for unknown names, InvalidArgument for an output
// out of range, a tensor fed twice or both fed and fetched, or if there is nothing to do.
absl::StatusOr<FeedFetchResult> RewriteForFeedsAndFetches(const FeedFetchOptions& options, Graph* graph);

}  // namespace weir
