#include "client/embedding/embedding_prefetch.h"

#include "client/ops.h"

namespace weir {
namespace {

// Calls fn on every output of a pull, in one order.
template <typename Pull, typename Fn>
void ForEachOutput(Pull& pull, Fn&& fn) {
  for (auto& keys : pull.keys) fn(keys);
  for (auto& version : pull.versions) fn(version);
  fn(pull.unique);
  fn(pull.idx);
}

}  // namespace

EmbeddingPrefetch::EmbeddingPrefetch(const Scope& scope, const std::vector<EmbeddingPull>& pulls,
                                     const std::vector<Output>& others, int64_t ahead)
    : pulls_(pulls), others_(others) {
  const Scope inner = scope.SubScope("prefetch");
  InputList values;
  DataTypeVector types;
  const auto add = [&](const Output& output) {
    values.emplace_back(output);
    types.push_back(output.type());
  };
  for (const EmbeddingPull& pull : pulls_) ForEachOutput(pull, add);
  for (const Output& other : others_) add(other);
  const std::string name = absl::StrCat(inner.name(), "/queue");
  stage_ = ops::Stage(inner, values, {.capacity = ahead, .shared_name = name});
  clear_ = ops::StageClear(inner, types, {.capacity = ahead, .shared_name = name});
  const OutputList taken = ops::Unstage(inner, types, {.capacity = ahead, .shared_name = name});
  if (!scope.ok()) return;
  size_t next = 0;
  const auto take = [&](Output& output) { output = taken[next++]; };
  for (EmbeddingPull& pull : pulls_) ForEachOutput(pull, take);
  for (Output& other : others_) take(other);
}

EmbeddingPrefetch::~EmbeddingPrefetch() { Stop().IgnoreError(); }

void EmbeddingPrefetch::Start(Session& session, Feeds feeds, int64_t first) {
  Stop().IgnoreError();
  session_ = &session;
  stopping_ = false;
  status_ = absl::OkStatus();
  thread_ = std::thread([this, &session, feeds = std::move(feeds), first] { PullAll(session, feeds, first); });
}

void EmbeddingPrefetch::PullAll(Session& session, const Feeds& feeds, int64_t step) {
  for (; status_.ok() && !stopping_; ++step) {
    const absl::StatusOr<FeedList> batch = feeds(step);
    status_ = batch.ok() ? session.Run(*batch, {}, {stage_}).status() : batch.status();
  }
}

absl::Status EmbeddingPrefetch::Stop() {
  if (!thread_.joinable()) return absl::OkStatus();
  stopping_ = true;
  // A pull that waits for room gets it, and is the last one.
  const absl::Status cleared = session_->RunTargets({clear_});
  thread_.join();
  if (cleared.ok()) session_->RunTargets({clear_}).IgnoreError();
  return status_.ok() ? cleared : status_;
}

}  // namespace weir
