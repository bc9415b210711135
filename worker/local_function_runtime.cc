#include "worker/local_function_runtime.h"

#include "core/op/attr_value.h"
#include "graph/functions/function_body.h"
#include "graph/fused/expand_fused_ops.h"
#include "graph/gradients/function_gradient.h"
#include "graph/graph.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

// Not in the library: the gradient of the function in its attribute `f`.
constexpr char kSymbolicGradient[] = "SymbolicGradient";

// The function's name and attributes, in order.
std::string Signature(const tensorflow::NameAttrList& function) {
  std::map<std::string, std::string> attrs;
  for (const auto& [name, value] : function.attr()) attrs[name] = value.SerializeAsString();
  std::string signature = function.name();
  for (const auto& [name, value] : attrs) absl::StrAppend(&signature, ";", name, "=", value);
  return signature;
}

}  // namespace

// A running call.
struct LocalFunctionRuntime::Call {
  std::shared_ptr<Executor> executor;
  StepContext context;
  std::shared_ptr<Rendezvous> own_rendezvous;
  std::vector<Tensor> args, results;
  DoneCallback done;
};

const tensorflow::FunctionDef* LocalFunctionRuntime::Find(absl::string_view name) const {
  return options_.library.Find(name);
}

const tensorflow::OpDef* LocalFunctionRuntime::FindOp(absl::string_view name) const {
  const OpRegistration* const op = options_.ops == nullptr ? nullptr : options_.ops->Find(name);
  return op == nullptr ? nullptr : op->op_def.get();
}

absl::StatusOr<std::shared_ptr<FunctionRuntime>> LocalFunctionRuntime::Clone(
    const tensorflow::FunctionDefLibrary* more) const {
  Options options = options_;
  if (more != nullptr) RETURN_IF_ERROR(options.library.AddLibrary(*more));
  return std::make_shared<LocalFunctionRuntime>(std::move(options));
}

absl::StatusOr<FunctionRuntime::Handle> LocalFunctionRuntime::Instantiate(const tensorflow::NameAttrList& function) {
  if (function.name() != kSymbolicGradient && Find(function.name()) == nullptr) {
    return errors::NotFound("Function ", function.name(), " is not defined.");
  }
  MutexLock lock(mu_);
  auto [it, is_new] = handles_.try_emplace(Signature(function), items_.size());
  if (is_new && items_.size() >= kMaxInstances) {
    handles_.erase(it);
    return errors::ResourceExhausted("Function ", function.name(), " would be one more than the ", kMaxInstances,
                                     " functions, each with its attributes, that a graph may call; a recursion with ",
                                     "other attributes each time?");
  }
  if (is_new) {
    auto item = std::make_unique<Item>();
    item->name = function.name();
    item->function = std::make_unique<tensorflow::NameAttrList>(function);
    items_.push_back(std::move(item));
  }
  return it->second;
}

LocalFunctionRuntime::Item* LocalFunctionRuntime::Find(Handle handle) {
  MutexLock lock(mu_);
  return handle >= 0 && handle < static_cast<Handle>(items_.size()) ? items_[handle].get() : nullptr;
}

absl::Status LocalFunctionRuntime::CompileAll() {
  for (Handle handle = 0; Item* item = Find(handle); ++handle) RETURN_IF_ERROR(ExecutorOf(*item).status());
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Executor>> LocalFunctionRuntime::ExecutorOf(Item& item) {
  MutexLock lock(item.mu);
  if (!item.is_compiled) {
    item.executor = Compile(*item.function);
    item.is_compiled = true;
  }
  return item.executor;
}

absl::StatusOr<std::shared_ptr<Executor>> LocalFunctionRuntime::Compile(const tensorflow::NameAttrList& function) {
  AttrMap attrs(function.attr().begin(), function.attr().end());
  ASSIGN_OR_RETURN(FunctionBody body,
                   function.name() == kSymbolicGradient
                       ? InstantiateGradient(attrs["f"].func(), *options_.ops, options_.library)
                       : InstantiateFunction(*Find(function.name()), attrs, *options_.ops, options_.library));
  absl::Status expanded = ExpandFusedOps(body.graph.get());
  if (!expanded.ok()) return Annotate(expanded, absl::StrCat("In function ", function.name()));
  Plan::Options plan;
  plan.device = options_.device;
  plan.is_function = true;
  plan.kernels = [this](const Node& node) { return options_.kernels(node, this); };
  if (options_.prepare != nullptr) {
    absl::Status prepared = options_.prepare(body.graph.get(), &plan);
    if (!prepared.ok()) return Annotate(prepared, absl::StrCat("In function ", function.name()));
  }
  absl::StatusOr<std::shared_ptr<const Plan>> compiled = Plan::Compile(std::move(body.graph), plan);
  if (!compiled.ok()) return Annotate(compiled.status(), absl::StrCat("In function ", function.name()));
  return Executor::Create(*std::move(compiled));
}

void LocalFunctionRuntime::RunAsync(Handle handle, const RunOptions& options, std::vector<Tensor> args,
                                    DoneCallback done) {
  Item* const item = Find(handle);
  if (item == nullptr) return done(errors::InvalidArgument("There is no function with handle ", handle));
  if (options.depth > kMaxDepth) {
    return done(errors::ResourceExhausted("Function ", item->name, " is called ", options.depth,
                                          " levels deep; a recursion that does not end?"));
  }
  absl::StatusOr<std::shared_ptr<Executor>> executor = ExecutorOf(*item);
  if (!executor.ok()) return done(executor.status());
  auto call = std::make_shared<Call>();
  call->executor = *std::move(executor);
  call->context = options.step;
  call->context.call_frame = nullptr;
  call->context.device = options_.device;
  call->context.functions = this;
  call->context.call_depth = options.depth;
  call->args = std::move(args);
  call->done = std::move(done);
  if (options.create_rendezvous) {
    call->own_rendezvous = NewLocalRendezvous();
    call->context.rendezvous = call->own_rendezvous.get();
  }
  const bool on_caller = options.depth % kDepthPerStack != 0 || options.depth == 0;
  const StepArgs step{.context = &call->context, .arguments = call->args, .results = &call->results};
  call->executor->RunAsync(step, on_caller, [call](absl::Status status) {
    if (!status.ok()) return call->done(std::move(status));
    call->done(std::move(call->results));
  });
}

}  // namespace weir
