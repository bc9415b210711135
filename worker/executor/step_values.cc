// Inputs, outputs and errors of a step's nodes.
#include "core/kernel/step_commit.h"
#include "core/memory/out_of_memory.h"
#include "graph/graph.h"
#include "worker/executor/step_execution.h"
#include "worker/executor/step_waits.h"

namespace weir {
namespace {

std::string InputName(const Node& node, uint32_t i) {
  const Edge* edge = node.input_edge(i);
  return edge->src_output == 0 ? edge->src->name() : absl::StrCat(edge->src->name(), ":", edge->src_output);
}

}  // namespace

bool StepExecution::Compute(const PlanNode& node, const Ready& ready, OpOutput* slots, FrameAndIter frame_iter,
                            bool is_dead) {
  constexpr uint32_t kFew = 4;
  TensorValue few[kFew];
  std::vector<TensorValue> many;
  TensorValue* inputs = few;
  if (node.num_inputs > kFew) {
    many.resize(node.num_inputs);
    inputs = many.data();
  }
  std::vector<Tensor> copies;
  if (absl::Status status = GatherInputs(node, slots, inputs, &copies); !status.ok()) {
    Fail(node, std::move(status));
    return false;
  }
  if (weighs_inputs_) RestBefore(node, ready, absl::MakeConstSpan(inputs, node.num_inputs));
  const int64_t start = measure_ && (args_.observer != nullptr || node.is(PlanNode::kMayBeCostly)) ? NowNanos() : 0;
  OpOutput* const outputs = slots + node.first_output;
  OpKernelContext context(args_.context, &node.node->def(), absl::MakeConstSpan(inputs, node.num_inputs),
                          node.node->output_types(), absl::MakeSpan(outputs, node.num_outputs), frame_iter, is_dead);
  const bool may_last = MayLast(node, ready);
  if (may_last) args_.waits->Add(node.node);
  absl::Status status = OrOutOfMemory([&] { return node.kernel->Compute(context); });
  if (may_last) args_.waits->Remove(node.node);
  if (start != 0) costs_.Observe(ready.node, NowNanos() - start);
  return FinishCompute(node, slots, std::move(status), start);
}

bool StepExecution::MayLast(const PlanNode& node, const Ready& ready) const {
  if (args_.waits == nullptr || !node.is(PlanNode::kMayBeCostly)) return false;
  const uint32_t nanos = costs_.nanos(ready.node);
  return nanos == 0 || nanos >= kWorthWakingNanos;
}

bool StepExecution::FinishCompute(const PlanNode& node, OpOutput* slots, absl::Status status, int64_t start) {
  OpOutput* const outputs = slots + node.first_output;
  if (__builtin_expect(status.ok(), 1)) status = CheckOutputs(node, outputs);
  if (__builtin_expect(!status.ok(), 0)) {
    Fail(node, std::move(status));
    return false;
  }
  if (args_.observer != nullptr) {
    args_.observer->NodeDone(*node.node, start, NowNanos(), absl::MakeConstSpan(outputs, node.num_outputs));
  }
  ReleaseInputs(node, slots);
  return true;
}

void StepExecution::DropUnreadOutputs(const PlanNode& node, OpOutput* slots) {
  const uint8_t* is_read = plan_.slot_is_read.data() + plan_.frames[node.frame].first_slot + node.first_output;
  for (uint32_t i = 0; i < node.num_outputs; ++i) {
    if (!is_read[i]) Clear(slots[node.first_output + i]);
  }
}

void StepExecution::Fail(const PlanNode& node, absl::Status status) {
  const Device& device = *args_.context->device;
  if (!OriginOf(status)) {
    absl::Status named(status.code(), absl::StrCat(status.message(), "\n\t [[{{node ", node.node->name(), "}}]]"));
    status.ForEachPayload(
        [&named](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
    status = WithOrigin(std::move(named), {.task = device.parsed_name().TaskName(),
                                           .device = device.name(),
                                           .node = node.node->name(),
                                           .op = node.node->op()});
  }
  {
    MutexLock lock(mu_);
    if (status_.ok()) status_ = status;
  }
  failed_.store(true, std::memory_order_release);
  if (ContinuesAfter(status)) {
    if (args_.skipped != nullptr) (*args_.skipped)(*node.node, status);
    return;
  }
  if (aborted_.exchange(true, std::memory_order_acq_rel)) return;
  if (args_.context->rendezvous != nullptr) args_.context->rendezvous->StartAbort(status);
  if (args_.context->cancellation != nullptr) args_.context->cancellation->StartCancel(status);
}

bool StepExecution::ContinuesAfter(const absl::Status& failure) const {
  const StepContext& step = *args_.context;
  if (step.commit == nullptr || step.cancellation == nullptr || step.cancellation->IsCancelled()) return false;
  return step.commit->EndWaitsIfCommitted(failure);
}

bool StepExecution::FailIfCancelled(const PlanNode& node) {
  const CancellationManager* const cancellation = args_.context->cancellation;
  if (cancellation == nullptr || !cancellation->IsCancelled()) return false;
  Fail(node, cancellation->status());
  return true;
}

absl::Status StepExecution::GatherInputs(const PlanNode& node, OpOutput* slots, TensorValue* values,
                                         std::vector<Tensor>* copies) {
  if (args_.context->cancellation != nullptr && args_.context->cancellation->IsCancelled()) {
    return args_.context->cancellation->status();
  }
  if (node.is(PlanNode::kUsesState) && args_.suspension != nullptr) {
    RETURN_IF_ERROR(args_.suspension->Check());
  }
  if (node.is(PlanNode::kReferenceInputs)) return GatherReferences(node, slots, values, copies);
  const InputSource* source = plan_.inputs.data() + node.first_input;
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    if (source[i] < 0) {
      values[i].tensor = const_cast<Tensor*>(&plan_.constants[~source[i]]);
    } else {
      OpOutput& slot = slots[source[i]];
      values[i].tensor = slot.has_value ? &slot.value : nullptr;
    }
  }
  return absl::OkStatus();
}

absl::Status StepExecution::GatherReferences(const PlanNode& node, OpOutput* slots, TensorValue* values,
                                             std::vector<Tensor>* copies) {
  copies->resize(node.num_inputs);
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    const InputSource source = plan_.inputs[node.first_input + i];
    if (source < 0) {
      values[i].tensor = const_cast<Tensor*>(&plan_.constants[~source]);
      continue;
    }
    OpOutput& slot = slots[source];
    if (!slot.has_value) continue;
    if (slot.ref == nullptr) {
      values[i].tensor = &slot.value;
      continue;
    }
    RETURN_IF_ERROR(ReadReference(node, i, slot, &(*copies)[i]));
    if (IsRefType(node.node->input_type(i))) {
      (*copies)[i].DropBuffer();
      values[i] = {slot.ref, slot.ref_mutex};
    } else {
      values[i].tensor = &(*copies)[i];
    }
  }
  return absl::OkStatus();
}

absl::Status StepExecution::ReadReference(const PlanNode& node, uint32_t i, const OpOutput& slot, Tensor* copy) {
  {
    std::lock_guard<std::mutex> lock(*slot.ref_mutex);
    *copy = *slot.ref;
  }
  if (!copy->IsInitialized() && !node.is(PlanNode::kAllowsUninitialized)) {
    return errors::FailedPrecondition("Attempting to use uninitialized value ", InputName(*node.node, i));
  }
  return absl::OkStatus();
}

absl::Status StepExecution::CheckOutputs(const PlanNode& node, const OpOutput* outputs) const {
  const DataType* const declared = node.node->output_types().data();
  for (uint32_t i = 0; i < node.num_outputs; ++i) {
    const OpOutput& output = outputs[i];
    if (output.has_value && output.ref == nullptr && output.value.dtype() == declared[i]) continue;
    if (output.has_value ? output.ref != nullptr && IsRefType(declared[i]) : node.is(PlanNode::kMayOutputNothing)) {
      continue;
    }
    return BadOutput(node, i, output);
  }
  return absl::OkStatus();
}

absl::Status StepExecution::BadOutput(const PlanNode& node, uint32_t i, const OpOutput& output) const {
  const DataType declared = node.node->output_type(i);
  if (!output.has_value) {
    return errors::Internal("Missing ", i, "-th output from {{node ", node.node->name(), "}} (op ", node.node->op(),
                            ")");
  }
  return errors::Internal(
      "Output ", i, " of type ", DataTypeName(output.ref == nullptr ? output.value.dtype() : MakeRef(declared)),
      " does not match declared output type ", DataTypeName(declared), " for node {{node ", node.node->name(), "}}");
}

bool StepExecution::MoveInput(const PlanNode& node, uint32_t i, OpOutput* slots, OpOutput* out) {
  const InputSource source = plan_.inputs[node.first_input + i];
  out->has_value = true;
  if (source < 0) {
    out->value = plan_.constants[~source];
    return true;
  }
  OpOutput& slot = slots[source];
  if (slot.ref != nullptr && !IsRefType(node.node->input_type(i))) {
    if (absl::Status status = ReadReference(node, i, slot, &out->value); !status.ok()) {
      Fail(node, std::move(status));
      return false;
    }
  } else {
    out->value = std::move(slot.value);
    out->ref = slot.ref;
    out->ref_mutex = slot.ref_mutex;
  }
  Clear(slot);
  return true;
}

absl::Status StepExecution::NoValue(const Node& result, size_t index) {
  const std::string name = result.num_inputs() > 0 ? InputName(result, 0) : result.name();
  return errors::InvalidArgument("The tensor returned for ", name, " was not valid. Retval[", index,
                                 "] does not have value");
}

bool StepExecution::SetResult(const PlanNode& node, OpOutput* slots, bool is_dead) {
  if (is_dead) {
    Fail(node, NoValue(*node.node, node.index));
    return false;
  }
  OpOutput moved;
  if (!MoveInput(node, 0, slots, &moved)) return false;
  (*args_.results)[node.index] = std::move(moved.value);
  result_is_set_[node.index] = 1;
  return true;
}

}  // namespace weir
