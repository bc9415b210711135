// Variables that flow along edges as references: VariableV2, Assign, temporary variables, counters.
#include <cstring>

#include "kernels/state/family.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

// No memory: a tensor on it has a type and a shape, but IsInitialized is false.
class NoMemory : public TensorBuffer {
 public:
  NoMemory() : TensorBuffer(nullptr, 0) {}
};

class RefVariableKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("container", &container_));
    RETURN_IF_ERROR(ctx.GetAttr("shared_name", &name_));
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &dtype_));
    PartialTensorShape shape;
    RETURN_IF_ERROR(ctx.GetAttr("shape", &shape));
    if (shape.IsFullyDefined()) {
      ASSIGN_OR_RETURN(shape_, shape.AsTensorShape());
    }
    if (container_.empty()) container_ = ResourceManager::kDefaultContainer;
    if (name_.empty()) name_ = ctx.name();
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<RefVariable> variable,
                     ctx.resources()->LookupOrCreate<RefVariable>(
                         container_, name_, [this]() -> absl::StatusOr<std::shared_ptr<RefVariable>> {
                           auto made = std::make_shared<RefVariable>(dtype_);
                           *made->tensor() = Tensor::FromBuffer(dtype_, shape_, new NoMemory);
                           return made;
                         }));
    if (variable->dtype() != dtype_) {
      return errors::Internal("Output 0 of type ", DataTypeName(MakeRef(variable->dtype())),
                              " does not match declared output type ", DataTypeName(MakeRef(dtype_)),
                              ": another variable in container ", container_, " has the name ", name_);
    }
    ctx.set_output_ref(0, variable->mutex(), variable->tensor());
    Keep(std::move(variable));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  // The executor passes plain pointers on: the object must live as long as any step that may hold one.
  void Keep(std::shared_ptr<RefVariable> variable) {
    MutexLock lock(mu_);
    if (kept_.empty() || kept_.back() != variable) kept_.push_back(std::move(variable));
  }

  std::string container_, name_;
  DataType dtype_ = DT_INVALID;
  TensorShape shape_;
  Mutex mu_;
  std::vector<std::shared_ptr<RefVariable>> kept_ GUARDED_BY(mu_);  // one, but for containers that were reset
};

class IsVariableInitializedKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(VariableRef variable, FindVariable(ctx, 0));
    std::lock_guard<std::mutex> lock(*variable.mutex);
    ctx.set_output(0, Tensor::Scalar(variable.IsInitialized()));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class HostCopier : public VariableCopier {
 public:
  explicit HostCopier(Allocator* allocator) : allocator_(allocator) {}
  absl::StatusOr<Tensor> Clone(const Tensor& value) override { return value.DeepCopy(allocator_); }
  absl::Status Overwrite(Tensor& target, const Tensor& value) override {
    std::memmove(target.raw_data(), value.raw_data(), value.TotalBytes());
    return absl::OkStatus();
  }

 private:
  Allocator* const allocator_;
};

class AssignKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("validate_shape", &validate_shape_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    HostCopier copier(ctx.allocator());
    return AssignReference(ctx, validate_shape_, copier);
  }
  bool IsExpensive() const override { return false; }

 private:
  bool validate_shape_ = true;
};

// A variable that lives from TemporaryVariable to DestroyTemporaryVariable within one step and loop iteration.
class TemporaryVariable : public Variable {
 public:
  using Variable::Variable;
};

std::string TemporaryName(const std::string& name, const FrameAndIter& where) {
  return absl::StrCat(name, "/", where.frame_id, ":", where.iter_id);
}

class TemporaryVariableKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("shape", &shape_));
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &dtype_));
    RETURN_IF_ERROR(ctx.GetAttr("var_name", &name_));
    if (name_.empty()) name_ = ctx.name();
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    auto variable = std::make_shared<TemporaryVariable>(dtype_);
    ASSIGN_OR_RETURN(*variable->tensor(), ctx.allocate_temp(dtype_, shape_));
    variable->set_initialized(true);
    const std::string name = TemporaryName(name_, ctx.frame_iter());
    RETURN_IF_ERROR(ctx.resources()->Create(ctx.step().step_container->name(), name, variable));
    ctx.set_output_ref(0, variable->mutex(), variable->tensor());
    return absl::OkStatus();
  }

 private:
  TensorShape shape_;
  DataType dtype_ = DT_INVALID;
  std::string name_;
};

class DestroyTemporaryVariableKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("var_name", &name_));
    return name_.empty() ? errors::InvalidArgument("var_name cannot be empty") : absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    if (!ctx.input_is_ref(0)) return errors::InvalidArgument("Input to DestroyTemporaryVariable must be a reference");
    ctx.set_output(0, ctx.locked_input(0));
    return ctx.resources()->Delete<TemporaryVariable>(ctx.step().step_container->name(),
                                                      TemporaryName(name_, ctx.frame_iter()));
  }

 private:
  std::string name_;
};

// CountUpTo and ResourceCountUpTo: increments a scalar below its limit and gives the value before.
template <typename T>
class CountUpToKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("limit", &limit_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(VariableRef variable, FindVariable(ctx, 0));
    std::lock_guard<std::mutex> lock(*variable.mutex);
    if (!variable.IsInitialized()) return errors::FailedPrecondition("Attempting to use uninitialized value");
    Tensor& counter = *variable.tensor;
    if (counter.dtype() != DataTypeOf<T>() || counter.dims() != 0) {
      return errors::InvalidArgument("input is not a scalar of type ", DataTypeName(DataTypeOf<T>()), ": ",
                                     counter.DebugString());
    }
    const T before = counter.scalar<T>();
    if (before >= limit_) return errors::OutOfRange("Reached limit of ", limit_);
    counter = Tensor::Scalar<T>(before + 1);
    ctx.set_output(0, Tensor::Scalar<T>(before));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  int64_t limit_ = 0;
};

}  // namespace

absl::Status RegisterRefVariableKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<RefVariableKernel>(Kernel("Variable").Cpu()));
  RETURN_IF_ERROR(kernels.Register<RefVariableKernel>(Kernel("VariableV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<IsVariableInitializedKernel>(Kernel("IsVariableInitialized").Cpu()));
  RETURN_IF_ERROR(kernels.Register<AssignKernel>(Kernel("Assign").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TemporaryVariableKernel>(Kernel("TemporaryVariable").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DestroyTemporaryVariableKernel>(Kernel("DestroyTemporaryVariable").Cpu()));
  for (const char* op : {"CountUpTo", "ResourceCountUpTo"}) {
    RETURN_IF_ERROR(kernels.Register<CountUpToKernel<int32_t>>(Kernel(op).Cpu().Type<int32_t>("T")));
    RETURN_IF_ERROR(kernels.Register<CountUpToKernel<int64_t>>(Kernel(op).Cpu().Type<int64_t>("T")));
  }
  return absl::OkStatus();
}

}  // namespace weir
