#include "worker/executor/executor_testing.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "core/op/attr_value.h"
#include "core/tensor/tensor_proto.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

void Check(const absl::Status& status) {
  if (!status.ok()) Die(status);
}

class FailKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("message", &message_); }
  absl::Status Compute(OpKernelContext&) override { return errors::Internal(message_); }

 private:
  std::string message_;
};

class OutOfMemoryKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext&) override { throw std::bad_alloc(); }
};

class AsyncOutOfMemoryKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext&, DoneCallback) override { throw std::length_error("too long"); }
};

class NothingKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }
};

class WaitKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    ctx.work_queue()->ScheduleBlocking([&ctx, done = std::move(done)] {
      ctx.set_output(0, ctx.input(0));
      done(absl::OkStatus());
    });
  }
};

struct Held {
  Mutex mu;
  std::condition_variable changed;
  std::vector<AsyncOpKernel::DoneCallback> kernels GUARDED_BY(mu);
  size_t cancels GUARDED_BY(mu) = 0;  // threads
  int64_t releases GUARDED_BY(mu) = 0;

  static Held& Get() {
    static auto* held = new Held;
    return *held;
  }
};

class HoldKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext&, DoneCallback done) override {
    Held& held = Held::Get();
    MutexLock lock(held.mu);
    held.kernels.push_back(std::move(done));
    held.changed.notify_all();
  }
};

class HoldCancelKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    const auto cancelled = [done] {
      Held& held = Held::Get();
      {
        MutexLock lock(held.mu);
        ++held.cancels;
        held.changed.notify_all();
        for (const int64_t before = held.releases; held.releases == before;) lock.Wait(held.changed);
        --held.cancels;
      }
      done(errors::Cancelled("the step was cancelled"));
    };
    if (ctx.cancellation()->Register(cancelled) == CancellationManager::kInvalidToken) {
      done(errors::Cancelled("the step was cancelled before"));
    }
  }
};

class BurnKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("micros", &micros_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const int64_t end = NowNanos() + micros_ * 1000;
    while (NowNanos() < end) {
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.forward_input_or_allocate_output({0}, 0, {}));
    const int64_t value = ctx.has_input(0) && ctx.input(0).IsInitialized() && ctx.input(0).raw_data() != nullptr
                              ? ctx.input(0).scalar<int64_t>()
                              : out->scalar<int64_t>();
    out->scalar<int64_t>() = value + 1;
    return absl::OkStatus();
  }

 private:
  int64_t micros_ = 0;
};

absl::Status RegisterTestOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterAllOps(ops));
  RETURN_IF_ERROR(ops.Register(Op("TestFail").Attr("message: string = 'no luck'").Stateful()));
  RETURN_IF_ERROR(ops.Register(Op("TestOutOfMemory").Stateful()));
  RETURN_IF_ERROR(ops.Register(Op("TestAsyncOutOfMemory").Stateful()));
  RETURN_IF_ERROR(ops.Register(Op("TestNothing").Output("out: int64")));
  RETURN_IF_ERROR(ops.Register(Op("TestMissing").Output("out: T").Attr("T: type")));
  RETURN_IF_ERROR(ops.Register(Op("TestHold").Stateful()));
  RETURN_IF_ERROR(ops.Register(Op("TestHoldCancel").Stateful()));
  RETURN_IF_ERROR(ops.Register(Op("TestWait").Input("in: int64").Output("out: int64")));
  return ops.Register(Op("TestBurn").Input("in: int64").Output("out: int64").Attr("micros: int = 0"));
}

absl::Status RegisterTestKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterAllKernels(kernels));
  RETURN_IF_ERROR(kernels.Register<FailKernel>(Kernel("TestFail").Cpu()));
  RETURN_IF_ERROR(kernels.Register<OutOfMemoryKernel>(Kernel("TestOutOfMemory").Cpu()));
  RETURN_IF_ERROR(kernels.Register<AsyncOutOfMemoryKernel>(Kernel("TestAsyncOutOfMemory").Cpu()));
  RETURN_IF_ERROR(kernels.Register<NothingKernel>(Kernel("TestNothing").Cpu()));
  RETURN_IF_ERROR(kernels.Register<HoldKernel>(Kernel("TestHold").Cpu()));
  RETURN_IF_ERROR(kernels.Register<HoldCancelKernel>(Kernel("TestHoldCancel").Cpu()));
  RETURN_IF_ERROR(kernels.Register<WaitKernel>(Kernel("TestWait").Cpu()));
  return kernels.Register<BurnKernel>(Kernel("TestBurn").Cpu());
}

}  // namespace

const OpRegistry& ExecutorTestOps() {
  static const OpRegistry* ops = [] {
    auto* registry = new OpRegistry;
    Check(RegisterTestOps(*registry));
    return registry;
  }();
  return *ops;
}

const KernelRegistry& ExecutorTestKernels() {
  static const KernelRegistry* kernels = [] {
    auto* registry = new KernelRegistry;
    Check(RegisterTestKernels(*registry));
    return registry;
  }();
  return *kernels;
}

void HeldKernels::Await(size_t count) {
  Held& held = Held::Get();
  MutexLock lock(held.mu);
  while (held.kernels.size() < count) lock.Wait(held.changed);
}

void HeldKernels::AwaitCancels(size_t count) {
  Held& held = Held::Get();
  MutexLock lock(held.mu);
  while (held.cancels < count) lock.Wait(held.changed);
}

void HeldKernels::Release() {
  Held& held = Held::Get();
  std::vector<AsyncOpKernel::DoneCallback> kernels;
  {
    MutexLock lock(held.mu);
    kernels.swap(held.kernels);
    ++held.releases;
    held.changed.notify_all();
  }
  for (const auto& done : kernels) done(absl::OkStatus());
}

TestGraph::TestGraph() : graph_(std::make_unique<Graph>(&ExecutorTestOps())) {}

template <typename V>
TestGraph::Attr TestGraph::A(std::string name, const V& value) {
  tensorflow::AttrValue attr;
  SetAttrValue(value, &attr);
  return {std::move(name), attr};
}
template TestGraph::Attr TestGraph::A(std::string, const DataType&);
template TestGraph::Attr TestGraph::A(std::string, const int64_t&);
template TestGraph::Attr TestGraph::A(std::string, const bool&);
template TestGraph::Attr TestGraph::A(std::string, const std::string&);
template TestGraph::Attr TestGraph::A(std::string, const Tensor&);
template TestGraph::Attr TestGraph::A(std::string, const TensorShape&);

Out TestGraph::Add(const std::string& op, const std::vector<Out>& inputs, const std::vector<Attr>& attrs,
                   const std::vector<Node*>& controls, std::string name) {
  tensorflow::NodeDef def;
  def.set_op(op);
  def.set_name(name.empty() ? graph_->UniqueName(op == "_Arg" || op == "_Retval" ? op.substr(1) : op) : name);
  for (const Attr& attr : attrs) (*def.mutable_attr())[attr.first] = attr.second;
  absl::StatusOr<Node*> node = graph_->AddNode(std::move(def));
  if (!node.ok()) Die(node.status());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].node != nullptr) Connect(inputs[i], *node, static_cast<int>(i));
  }
  for (Node* control : controls) graph_->AddControlEdge(control, *node);
  return {*node};
}

Out TestGraph::Const(const Tensor& value, const std::vector<Node*>& controls) {
  return Add("Const", {}, {A("value", value), A("dtype", value.dtype())}, controls);
}

Out TestGraph::I64(const std::string& op, const std::vector<Out>& inputs, const std::vector<Node*>& controls) {
  return Add(op, inputs, {A("T", DT_INT64)}, controls);
}

Out TestGraph::Arg(int index, DataType type) { return Add("_Arg", {}, {A("T", type), A("index", int64_t{index})}); }

void TestGraph::Ret(int index, Out value, DataType type) {
  Add("_Retval", {value}, {A("T", type), A("index", int64_t{index})});
}

void TestGraph::Connect(Out from, Node* to, int input) {
  absl::StatusOr<Edge*> edge = graph_->AddEdge(from.node, from.index, to, input);
  if (!edge.ok()) Die(edge.status());
}

ExecutorHarness::ExecutorHarness(int threads)
    : queue_(WorkQueue::Create({.name = "test", .compute_threads = threads})) {
  device_ = NewCpuDevice(*DeviceName::Parse("/job:worker/replica:0/task:0"), 0, queue_.get());
}

Plan::Options ExecutorHarness::Options(bool is_function) {
  Plan::Options options;
  options.device = device_.get();
  options.is_function = is_function;
  options.kernels = [this](const Node& node) -> absl::StatusOr<std::shared_ptr<OpKernel>> {
    return CreateKernel(ExecutorTestKernels(), node.def(), node.op_def(), device_.get());
  };
  return options;
}

absl::StatusOr<std::shared_ptr<Executor>> ExecutorHarness::Compile(std::unique_ptr<Graph> graph) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, Plan::Compile(std::move(graph), Options()));
  return Executor::Create(std::move(plan));
}

absl::StatusOr<std::vector<Tensor>> ExecutorHarness::Run(std::unique_ptr<Graph> graph, std::vector<Tensor> args) {
  ASSIGN_OR_RETURN(std::shared_ptr<Executor> executor, Compile(std::move(graph)));
  return RunStep(*executor, std::move(args));
}

absl::StatusOr<std::vector<Tensor>> ExecutorHarness::RunStep(Executor& executor, std::vector<Tensor> args,
                                                             Rendezvous* rendezvous,
                                                             CancellationManager* cancellation) {
  CancellationManager own_cancellation;
  std::shared_ptr<Rendezvous> own_rendezvous = NewLocalRendezvous();
  static std::atomic<int64_t> last_step{0};
  StepContext context;
  context.step_id = ++last_step;
  StepContainer container(context.step_id, device_.get());
  context.device = device_.get();
  context.step_container = &container;
  context.rendezvous = rendezvous != nullptr ? rendezvous : own_rendezvous.get();
  context.cancellation = cancellation != nullptr ? cancellation : &own_cancellation;
  std::vector<Tensor> results;
  RETURN_IF_ERROR(executor.RunSync({.context = &context, .arguments = args, .results = &results}));
  return results;
}

}  // namespace weir
