#include "worker/capture/replayable_graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/tensor/resource_handle.h"
#include "worker/executor/executor.h"

namespace weir {
namespace {

size_t BytesOf(const Tensor& tensor) { return static_cast<size_t>(tensor.TotalBytes()); }

absl::StatusOr<std::shared_ptr<Variable>> FindVariable(const OpKernelContext& ctx, int input) {
  return ctx.resources()->Lookup<Variable>(*ctx.input(input).data<ResourceHandle>());
}

bool NamesAVariable(const Tensor& input) { return input.dtype() == DT_RESOURCE && input.NumElements() == 1; }

}  // namespace

// The variables of a replay, locked in address order.
struct ReplayableGraph::Variables {
  std::vector<std::shared_ptr<Variable>> found;  // by ReplayableGraph::variables_
  std::vector<std::unique_lock<std::mutex>> locks;

  void Lock() {
    std::vector<Variable*> order;
    for (const auto& variable : found) order.push_back(variable.get());
    std::sort(order.begin(), order.end());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    for (Variable* variable : order) locks.emplace_back(*variable->mutex());
  }
};

ReplayableGraph::ReplayableGraph(const CaptureSource& source)
    : source_(source),
      pool_(&source.gpu->memory(), &source.gpu->compute(), absl::StrCat("captured graph '", source.name, "'")) {}

absl::StatusOr<std::unique_ptr<ReplayableGraph>> ReplayableGraph::Capture(const CaptureSource& source,
                                                                          OpKernelContext& ctx) {
  std::unique_ptr<ReplayableGraph> graph(new ReplayableGraph(source));
  RETURN_IF_ERROR(graph->AllocateInputs(ctx));
  std::vector<Tensor> arguments, results;
  for (size_t i = 0; i < graph->inputs_.size(); ++i) {
    arguments.push_back(source.input_is_on_host[i] ? ctx.input(static_cast<int>(i)) : graph->inputs_[i].held);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<GpuCapture> capture, GpuCapture::Begin(*source.gpu, graph->pool_));
  RETURN_IF_ERROR(graph->Run(ctx, std::move(arguments), &results));
  ASSIGN_OR_RETURN(graph->graph_, capture->End());
  RETURN_IF_ERROR(graph->FindVariables(capture->variables(), ctx));
  RETURN_IF_ERROR(graph->KeepOutputs(std::move(results)));
  graph->kept_ = capture->kept();
  return graph;
}

absl::Status ReplayableGraph::AllocateInputs(OpKernelContext& ctx) {
  const GpuPoolScope scope(&pool_);
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    Buffer& buffer = inputs_.emplace_back();
    if (source_.input_is_on_host[i]) continue;
    ASSIGN_OR_RETURN(buffer.held,
                     Tensor::Allocate(source_.gpu->allocator(), ctx.input(i).dtype(), ctx.input(i).shape()));
    buffer.data = buffer.held.raw_data();
  }
  return absl::OkStatus();
}

// An error must not reach the step, which then runs without the graph. Work on another thread would not be captured.
absl::Status ReplayableGraph::Run(OpKernelContext& ctx, std::vector<Tensor> arguments, std::vector<Tensor>* results) {
  StepContext step = ctx.step();
  step.rendezvous = nullptr;
  step.cancellation = nullptr;
  return Executor::Create(source_.plan)
      ->RunSync({.context = &step, .arguments = arguments, .results = results, .is_alone = true});
}

absl::Status ReplayableGraph::FindVariables(const std::vector<GpuCapture::VariableUse>& uses, OpKernelContext& ctx) {
  for (const GpuCapture::VariableUse& use : uses) {
    int input = 0;
    for (; input < ctx.num_inputs(); ++input) {
      if (!NamesAVariable(ctx.input(input))) continue;
      const absl::StatusOr<std::shared_ptr<Variable>> variable = FindVariable(ctx, input);
      if (variable.ok() && variable->get() == use.variable) break;
    }
    if (input == ctx.num_inputs()) return errors::FailedPrecondition("a variable is used that no input names");
    variables_.push_back({input, use});
  }
  return absl::OkStatus();
}

// Kernels must release their memory or return it as a result; memory held otherwise would be overwritten by replays.
absl::Status ReplayableGraph::KeepOutputs(std::vector<Tensor> results) {
  std::set<const void*> blocks;
  for (const Buffer& input : inputs_) blocks.insert(pool_.BlockOf(input.data));
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor& result = results[i];
    Buffer& buffer = outputs_.emplace_back();
    buffer = {.dtype = result.dtype(), .shape = result.shape(), .data = result.raw_data()};
    if (source_.output_is_on_host[i]) {
      // The result may share memory with an input, which the client may overwrite after the step.
      ASSIGN_OR_RETURN(buffer.held, result.DeepCopy());
      continue;
    }
    blocks.insert(pool_.BlockOf(buffer.data));
    const bool is_variables = std::any_of(variables_.begin(), variables_.end(),
                                          [&](const auto& use) { return use.second.data == buffer.data; });
    if (!is_variables) buffer.held = std::move(result);
  }
  blocks.erase(nullptr);
  results.clear();
  if (pool_.use().blocks_in_use <= static_cast<int>(blocks.size())) return absl::OkStatus();
  return errors::FailedPrecondition("a kernel keeps memory beyond its run");
}

std::optional<ReplayableGraph::Outcome> ReplayableGraph::Check(const Variables& variables) const {
  bool is_shared = false;
  for (size_t i = 0; i < variables_.size(); ++i) {
    const GpuCapture::VariableUse& use = variables_[i].second;
    Variable& variable = *variables.found[i];
    const Tensor& value = *variable.tensor();
    if (!variable.is_initialized() || value.raw_data() != use.data || value.dtype() != use.dtype ||
        value.shape() != use.shape) {
      return Outcome::kStale;
    }
    is_shared |= use.is_updated && value.NumElements() > 0 && !value.RefCountIsOne();
  }
  return is_shared ? std::optional(Outcome::kShared) : std::nullopt;
}

absl::StatusOr<ReplayableGraph::Outcome> ReplayableGraph::Replay(OpKernelContext& ctx) {
  // Operations that may wait or fail come before the locks.
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (source_.output_is_on_host[i]) {
      ASSIGN_OR_RETURN(outputs.emplace_back(), outputs_[i].held.DeepCopy());  // clients may overwrite fetches too
    } else {
      ASSIGN_OR_RETURN(outputs.emplace_back(), ctx.allocate_temp(outputs_[i].dtype, outputs_[i].shape));
    }
  }
  Variables variables;
  for (const auto& [input, use] : variables_) {
    absl::StatusOr<std::shared_ptr<Variable>> variable = FindVariable(ctx, input);
    if (!variable.ok()) return Outcome::kStale;
    variables.found.push_back(*std::move(variable));
  }
  {
    const MutexLock lock(mu_);
    variables.Lock();
    if (const std::optional<Outcome> outcome = Check(variables)) return *outcome;
    RETURN_IF_ERROR(Enqueue(ctx, outputs));
  }
  for (size_t i = 0; i < outputs.size(); ++i) ctx.set_output(static_cast<int>(i), std::move(outputs[i]));
  return Outcome::kDone;
}

absl::Status ReplayableGraph::Enqueue(OpKernelContext& ctx, const std::vector<Tensor>& outputs) {
  GpuStream& stream = source_.gpu->compute();
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (source_.input_is_on_host[i] || ctx.input(i).NumElements() == 0) continue;
    RETURN_IF_ERROR(stream.CopyOnDevice(inputs_[i].data, ctx.input(i).raw_data(), BytesOf(ctx.input(i))));
  }
  RETURN_IF_ERROR(stream.LaunchGraph(graph_.get()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (source_.output_is_on_host[i] || outputs[i].NumElements() == 0) continue;
    RETURN_IF_ERROR(stream.CopyOnDevice(outputs[i].raw_data(), outputs_[i].data, BytesOf(outputs[i])));
  }
  return absl::OkStatus();
}

}  // namespace weir
