// A model in memory, ready to be called.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/models/signature.h"
#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

struct ModelParts;
struct ModelSource;
class Session;
struct SessionOptions;

// A signature prepared for repeated calls, the cheapest way to run a model. Thread-safe. Keeps the model's session open
// after the model is gone.
class PreparedSignature {
 public:
  explicit PreparedSignature(std::shared_ptr<const ModelParts> parts);
  ~PreparedSignature();

  const SignatureInfo& info() const { return info_; }
  // Takes one value for each of info().inputs, and returns one for each of info().outputs, in their order. Blocks until
  // the result is there. InvalidArgument names an input of the wrong type or shape.
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs) const;
  // The same by names. InvalidArgument also names inputs that are missing or unknown.
  absl::StatusOr<TensorMap> RunNamed(const TensorMap& inputs) const;

 private:
  friend class LoadedModel;
  struct Step;
  absl::Status Prepare(const SignatureInfo& info, TensorMap defaults);

  const std::shared_ptr<const ModelParts> parts_;
  SignatureInfo info_;
  TensorMap defaults_;
  std::unique_ptr<const Step> step_;
};

struct LoadOptions {
  // Of the graph to load; it must have exactly these.
  std::vector<std::string> tags = {"serve"};
  // "grpc://host:port" of a cluster's task: the model runs there, and its tasks read variables and assets by the same
  // path as this process. "": in this process.
  std::string target;
  // Keep the devices of the model's nodes. Otherwise its nodes have none, so a model that was saved on a cluster runs
  // anywhere, and on a cluster all of it runs on the target's task.
  bool keep_devices = false;
  // Null: defaults. Only read during the load. A model has its own variables, also on a cluster.
  const SessionOptions* session = nullptr;
};

// A graph with signatures, in a session that has its variables and tables. Thread-safe: calls may run concurrently.
// Create one with LoadSavedModel or LoadFrozenGraph.
class LoadedModel {
 public:
  static absl::StatusOr<std::unique_ptr<LoadedModel>> Load(ModelSource source, const LoadOptions& options);
  // Closes the session, unless a PreparedSignature still uses it.
  ~LoadedModel();

  // Sorted by name.
  const std::vector<SignatureInfo>& signatures() const;
  // NotFound lists the signatures that there are; InvalidArgument if it does not match the graph. Prepares it with the
  // first call.
  absl::StatusOr<std::shared_ptr<const PreparedSignature>> Signature(const std::string& name) const;
  // Runs a signature by names: model->Run("serving_default", {{"x", x}}).
  absl::StatusOr<TensorMap> Run(const std::string& signature, const TensorMap& inputs) const;

  // Reads the variables and fills the tables again: for a model on a cluster whose task was restarted (its calls fail
  // with FAILED_PRECONDITION). Calls that run meanwhile may see old or new values.
  absl::Status Restore() const;
  // The session with the model's graph; lives as long as the model.
  Session& session() const;
  const ModelParts& parts() const { return *parts_; }

 private:
  struct Cache;
  explicit LoadedModel(std::shared_ptr<const ModelParts> parts);

  const std::shared_ptr<const ModelParts> parts_;
  const std::unique_ptr<Cache> cache_;
};

}  // namespace weir
