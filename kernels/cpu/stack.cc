// Stacks: what the forward pass of a loop keeps for the backward pass.
#include <atomic>

#include "core/index_tensor.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/named_resource.h"

namespace weir {
namespace {

// Its handles own it: it dies with the last of them. Thread-safe.
class Stack : public Resource {
 public:
  Stack(std::string name, DataType type, int64_t max_size) : name_(std::move(name)), type_(type), max_size_(max_size) {}

  std::string DebugString() const override { return absl::StrCat("Stack[", name_, "]"); }
  DataType type() const { return type_; }
  // What the first version of the op has as handle: strings that flow along edges as a reference.
  std::mutex* reference_mutex() { return &reference_mutex_; }
  Tensor* reference() { return &reference_; }

  absl::Status Push(const Tensor& value) {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    if (value.dtype() != type_) {
      return errors::InvalidArgument("Must have type ", DataTypeName(type_), " but got ", DataTypeName(value.dtype()));
    }
    if (max_size_ >= 0 && static_cast<int64_t>(values_.size()) > max_size_) {
      return errors::InvalidArgument("Stack[", name_, "] overflowed its max_size (", max_size_, ")");
    }
    values_.push_back(value);
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Pop() {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    if (values_.empty()) return errors::InvalidArgument("Stack[", name_, "] is empty when calling Pop().");
    Tensor value = std::move(values_.back());
    values_.pop_back();
    return value;
  }

  void Close() {
    std::vector<Tensor> values;  // freed without the lock
    MutexLock lock(mu_);
    closed_ = true;
    values.swap(values_);
  }

 private:
  absl::Status CheckOpen() const REQUIRES(mu_) {
    if (!closed_) return absl::OkStatus();
    return errors::InvalidArgument("Stack[", name_, "] has already been closed.");
  }

  const std::string name_;
  const DataType type_;
  const int64_t max_size_;  // negative: none
  std::mutex reference_mutex_;
  Tensor reference_;
  mutable Mutex mu_;
  std::vector<Tensor> values_ GUARDED_BY(mu_);
  bool closed_ GUARDED_BY(mu_) = false;
};

absl::StatusOr<std::shared_ptr<Stack>> FindStack(const OpKernelContext& ctx) { return FindResource<Stack>(ctx, 0); }

class StackKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("elem_type", &type_));
    RETURN_IF_ERROR(ctx.GetAttr("stack_name", &name_));
    if (name_.empty()) name_ = ctx.name();
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    int64_t max_size = -1;
    if (ctx.num_inputs() == 0) return SetReference(ctx);
    ASSIGN_OR_RETURN(max_size, ReadInteger(ctx.input(0), "max_size"));
    auto stack = std::make_shared<Stack>(name_, type_, max_size);
    ctx.set_output(0, Tensor::Scalar(OwningHandle(ctx, std::move(stack), name_, "Stack")));
    return absl::OkStatus();
  }

 private:
  // The first version's stacks live as long as the step.
  absl::Status SetReference(OpKernelContext& ctx) {
    const std::string& container = ctx.step().step_container->name();
    const std::string name = absl::StrCat(name_, "_", next_.fetch_add(1, std::memory_order_relaxed));
    auto stack = std::make_shared<Stack>(name_, type_, /*max_size=*/-1);
    *stack->reference() = Tensor::Vector<tstring>({container, name});
    RETURN_IF_ERROR(ctx.resources()->Create(container, name, stack));
    ctx.set_output_ref(0, stack->reference_mutex(), stack->reference());
    return absl::OkStatus();
  }

  DataType type_ = DT_INVALID;
  std::string name_;
  std::atomic<int64_t> next_{0};
};

class StackPushKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Stack> stack, FindStack(ctx));
    RETURN_IF_ERROR(stack->Push(ctx.input(1)));
    ctx.set_output(0, ctx.input(1));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class StackPopKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Stack> stack, FindStack(ctx));
    if (stack->type() != ctx.expected_output_dtype(0)) {
      return errors::InvalidArgument("Must have type ", DataTypeName(stack->type()), " but got ",
                                     DataTypeName(ctx.expected_output_dtype(0)));
    }
    ASSIGN_OR_RETURN(Tensor value, stack->Pop());
    ctx.set_output(0, std::move(value));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class StackCloseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Stack> stack, FindStack(ctx));
    stack->Close();
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterStackKernels(KernelRegistry& kernels) {
  for (const std::string version : {"", "V2"}) {
    const auto on = [&version](const char* op) { return Kernel(op + version).Cpu(); };
    RETURN_IF_ERROR(kernels.Register<StackKernel>(on("Stack")));
    RETURN_IF_ERROR(kernels.Register<StackPushKernel>(on("StackPush")));
    RETURN_IF_ERROR(kernels.Register<StackPopKernel>(on("StackPop")));
    RETURN_IF_ERROR(kernels.Register<StackCloseKernel>(on("StackClose")));
  }
  return absl::OkStatus();
}

}  // namespace weir
