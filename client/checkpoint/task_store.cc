#include "client/checkpoint/task_store.h"

#include <utility>

#include "client/fed_scalar.h"
#include "client/ops.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/text_record.h"

namespace weir {
namespace {

Tensor Text(const std::string& text) { return Tensor::Scalar<tstring>(text); }

}  // namespace

TaskStore::TaskStore(const Scope& scope, std::string task) : task_(std::move(task)) {
  const Scope at = scope.SubScope("store").WithDevice(task_);
  path_ = FedScalar(at, "path", DT_STRING);
  const auto contents = ops::StoreContents(at, path_);
  contents_ = {contents.lease, contents.directories, contents.manifest_paths, contents.manifests};
  description_ = ops::StoreDescribe(at, path_);
  manifest_ = FedScalar(at, "manifest", DT_STRING);
  thorough_ = FedScalar(at, "thorough", DT_BOOL);
  verify_ = ops::StoreVerify(at, path_, manifest_, thorough_);
  text_ = FedScalar(at, "text", DT_STRING);
  write_ = ops::WriteFile(at, path_, text_);
  delete_ = ops::StoreDelete(at, path_);
  prefixes_ = ops::Placeholder(at.WithName("prefixes"), DT_STRING);
  merge_ = ops::MergeV2Checkpoints(at, prefixes_, path_);
}

absl::StatusOr<std::vector<StoreContents>> TaskStore::Contents(Session& session, const std::vector<TaskStore>& stores,
                                                               const std::string& directory) {
  FeedList feeds;
  std::vector<Output> fetches;
  for (const TaskStore& store : stores) {
    feeds.emplace_back(store.path_, Text(directory));
    fetches.insert(fetches.end(), store.contents_.begin(), store.contents_.end());
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> fetched, session.Run(feeds, fetches));
  std::vector<StoreContents> result;
  for (auto values = fetched.begin(); values != fetched.end(); values += 4) {
    StoreContents& contents = result.emplace_back();
    contents.lease = values[0].scalar<tstring>();
    const auto directories = values[1].flat<tstring>();
    contents.directories.assign(directories.begin(), directories.end());
    for (int64_t i = 0; i < values[2].NumElements(); ++i) {
      contents.manifests.push_back({values[2].data<tstring>()[i], values[3].data<tstring>()[i]});
    }
  }
  return result;
}

absl::StatusOr<CheckpointManifest> TaskStore::Describe(Session& session, const std::string& prefix) const {
  ASSIGN_OR_RETURN(const std::vector<Tensor> fetched, session.Run({{path_, Text(prefix)}}, {description_}));
  CheckpointManifest manifest;
  RETURN_IF_ERROR(ParseTextRecord(fetched[0].scalar<tstring>(), ManifestPath(prefix), &manifest));
  return manifest;
}

absl::Status TaskStore::Verify(Session& session, const std::string& prefix, const CheckpointManifest& manifest,
                               bool thorough) const {
  ASSIGN_OR_RETURN(const std::string text, PrintTextRecord(manifest));
  return session
      .Run({{path_, Text(prefix)}, {manifest_, Text(text)}, {thorough_, Tensor::Scalar<bool>(thorough)}}, {}, {verify_})
      .status();
}

absl::Status TaskStore::Write(Session& session, const std::string& path, const std::string& text) const {
  return session.Run({{path_, Text(path)}, {text_, Text(text)}}, {}, {write_}).status();
}

absl::Status TaskStore::Delete(Session& session, const std::string& path) const {
  return session.Run({{path_, Text(path)}}, {}, {delete_}).status();
}

absl::Status TaskStore::Merge(Session& session, const std::vector<std::string>& prefixes,
                              const std::string& prefix) const {
  return session.Run({{path_, Text(prefix)}, {prefixes_, Tensor::Vector<tstring>(prefixes)}}, {}, {merge_}).status();
}

}  // namespace weir
