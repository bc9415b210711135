#include "worker/capture/captured_segment.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/logging.h"
#include "core/tensor/resource_handle.h"

namespace weir {
namespace {

template <typename T>
void Append(const T& value, std::string* key) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendText(absl::string_view text, std::string* key) {
  Append(text.size(), key);
  absl::StrAppend(key, text);
}

void AppendShape(const Tensor& tensor, std::string* key) {
  Append(tensor.dtype(), key);
  Append(tensor.dims(), key);
  for (int i = 0; i < tensor.dims(); ++i) Append(tensor.dim_size(i), key);
}

void AppendValue(const Tensor& tensor, std::string* key) {
  if (tensor.dtype() != DT_RESOURCE) {
    key->append(static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.TotalBytes()));
    return;
  }
  for (const ResourceHandle& handle : tensor.flat<ResourceHandle>()) {
    AppendText(handle.container, key);
    AppendText(handle.name, key);
    Append(handle.hash_code, key);
    Append(handle.resource.get(), key);
  }
}

}  // namespace

CapturedSegment::CapturedSegment(CaptureSource source)
    : source_(std::move(source)), executor_(Executor::Create(source_.plan)) {
  source_.gpu->AddGraphCache(this);
}

CapturedSegment::~CapturedSegment() { source_.gpu->RemoveGraphCache(this); }

void CapturedSegment::DropGraphs() {
  Entries out;
  MutexLock lock(mu_);
  TakeOut(entries_.begin(), entries_.end(), &out);
}

absl::Status CapturedSegment::Compute(OpKernelContext& ctx) {
  if (StepExecution::CurrentObserver() != nullptr) return RunPlainly(ctx);
  const GpuAllocationScope scope(source_.name);
  std::shared_ptr<ReplayableGraph> graph;
  const std::shared_ptr<Entry> entry = Choose(KeyOf(ctx), &graph);
  if (entry != nullptr && graph == nullptr) graph = Capture(*entry, ctx);
  if (graph == nullptr) return RunPlainly(ctx);
  const absl::StatusOr<ReplayableGraph::Outcome> outcome = graph->Replay(ctx);
  if (!outcome.ok()) return source_.gpu->Explain(outcome.status());
  if (*outcome == ReplayableGraph::Outcome::kDone) {
    source_.gpu->graph_stats().replays.fetch_add(1, std::memory_order_relaxed);
    MutexLock lock(mu_);
    ++replays_;
    return absl::OkStatus();
  }
  if (*outcome == ReplayableGraph::Outcome::kStale) Drop(*entry, graph.get());
  return RunPlainly(ctx);
}

std::string CapturedSegment::KeyOf(const OpKernelContext& ctx) const {
  std::string key;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    AppendShape(ctx.input(i), &key);
    if (source_.input_is_on_host[i]) AppendValue(ctx.input(i), &key);
  }
  return key;
}

std::shared_ptr<CapturedSegment::Entry> CapturedSegment::Choose(std::string key,
                                                                std::shared_ptr<ReplayableGraph>* graph) {
  Entries out;
  MutexLock lock(mu_);
  if (gave_up_) return nullptr;
  auto found = entries_.begin();
  while (found != entries_.end() && (*found)->key != key) ++found;
  if (found == entries_.end()) {
    if (entries_.size() == kMaxGraphs) {
      TakeOut(std::prev(entries_.end()), entries_.end(), &out);
    }
    entries_.push_front(std::make_shared<Entry>(Entry{.key = std::move(key)}));
  } else {
    entries_.splice(entries_.begin(), entries_, found);
  }
  const std::shared_ptr<Entry>& entry = entries_.front();
  *graph = entry->graph;
  if (entry->graph != nullptr) return entry;
  if (entry->is_capturing || entry->runs++ < source_.warm_ups) return nullptr;
  if (captures_ >= kPatience && replays_ < kWorth * captures_) {
    GiveUp(absl::StrCat(captures_, " captures have served for ", replays_,
                        " replays: inputs' shapes, host memory or variables' memory change too often"),
           &out);
    return nullptr;
  }
  entry->is_capturing = true;
  return entry;
}

std::shared_ptr<ReplayableGraph> CapturedSegment::Capture(Entry& entry, OpKernelContext& ctx) {
  absl::StatusOr<std::shared_ptr<ReplayableGraph>> graph = ReplayableGraph::Capture(source_, ctx);
  GpuGraphStats& stats = source_.gpu->graph_stats();
  (graph.ok() ? stats.captures : stats.failures).fetch_add(1, std::memory_order_relaxed);
  Entries out;
  MutexLock lock(mu_);
  entry.is_capturing = false;
  entry.runs = 0;
  if (graph.ok()) {
    failures_ = 0;
    ++captures_;
    entry.graph = *graph;
    return *std::move(graph);
  }
  if (++failures_ == kMaxFailures && !gave_up_) GiveUp(graph.status().message(), &out);
  return nullptr;
}

void CapturedSegment::Drop(Entry& entry, const ReplayableGraph* graph) {
  std::shared_ptr<ReplayableGraph> dropped;  // destroyed with no lock held
  MutexLock lock(mu_);
  if (entry.graph.get() != graph) return;
  dropped = std::move(entry.graph);
  source_.gpu->graph_stats().dropped.fetch_add(1, std::memory_order_relaxed);
}

void CapturedSegment::TakeOut(Entries::iterator first, Entries::iterator last, Entries* out) {
  const auto graphs = std::count_if(first, last, [](const auto& entry) { return entry->graph != nullptr; });
  source_.gpu->graph_stats().dropped.fetch_add(graphs, std::memory_order_relaxed);
  out->splice(out->end(), entries_, first, last);
}

void CapturedSegment::GiveUp(absl::string_view why, Entries* out) {
  gave_up_ = true;
  TakeOut(entries_.begin(), entries_.end(), out);
  WEIR_LOG(WARNING).With("node", source_.name).With("device", source_.gpu->name())
      << "a graph segment is no longer captured and runs node by node: " << why;
}

absl::Status CapturedSegment::RunPlainly(OpKernelContext& ctx) {
  std::vector<Tensor> arguments, results;
  for (int i = 0; i < ctx.num_inputs(); ++i) arguments.push_back(ctx.input(i));
  RETURN_IF_ERROR(executor_->RunSync({.context = &ctx.step(),
                                      .arguments = arguments,
                                      .results = &results,
                                      .observer = StepExecution::CurrentObserver(),
                                      .is_alone = true}));
  for (size_t i = 0; i < results.size(); ++i) ctx.set_output(static_cast<int>(i), std::move(results[i]));
  return absl::OkStatus();
}

}  // namespace weir
