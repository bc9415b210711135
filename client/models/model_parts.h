// The inside of a loaded model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/models/signature.h"
#include "client/scope.h"
#include "client/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {

// Everything that a model is loaded from.
struct ModelSource {
  tensorflow::GraphDef graph;
  std::vector<SignatureInfo> signatures;
  std::map<std::string, TensorMap> defaults;  // by signature
  NamedFeedList restore_feeds;                // the checkpoint's prefix
  std::string restore_op;                     // "": nothing to restore
  NamedFeedList init_feeds;                   // assets that are not constants of the graph
  std::string init_op;                        // "": none
};

// Immutable once loaded; shared by a model and its prepared signatures.
struct ModelParts {
  Scope scope;
  std::unique_ptr<Session> session;
  std::vector<SignatureInfo> signatures;
  std::map<std::string, TensorMap> defaults;
  NamedFeedList restore_feeds, init_feeds;
  std::string restore_op, init_op;
};

// The output that "x:0" or "x" names. NotFound if the graph has none.
absl::StatusOr<Output> FindOutput(const Graph& graph, const std::string& tensor);

}  // namespace weir
