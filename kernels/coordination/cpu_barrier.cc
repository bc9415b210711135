// Barriers and what goes in and out of them. Taking is asynchronous.
#include "absl/algorithm/container.h"
#include "core/kernel/kernel_registry.h"
#include "core/tensor/index_tensor.h"
#include "kernels/coordination/barrier.h"
#include "kernels/coordination/family.h"
#include "kernels/device/named_resource.h"
#include "kernels/device/resource_users.h"

namespace weir {
namespace {

class BarrierKernel : public ResourceKernel<Barrier> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("component_types", &options_.types));
    RETURN_IF_ERROR(ctx.GetAttr("shapes", &options_.shapes));
    if (!options_.shapes.empty() && options_.shapes.size() != options_.types.size()) {
      return errors::InvalidArgument("All of the component shapes must be specified: ", options_.shapes.size(),
                                     " shapes for ", options_.types.size(), " components");
    }
    // A client that names no shapes writes unknown ones.
    if (absl::c_all_of(options_.shapes, [](const PartialTensorShape& shape) { return shape.unknown_rank(); })) {
      options_.shapes.clear();
    }
    for (const PartialTensorShape& shape : options_.shapes) {
      if (!shape.IsFullyDefined()) {
        return errors::InvalidArgument("The shape ", shape.ToString(), " of a component must be fully defined");
      }
      ASSIGN_OR_RETURN(const TensorShape known, shape.AsTensorShape());
      if (known.num_elements() == 0) {
        return errors::InvalidArgument("Empty tensors are not supported, but received shape '", shape.ToString(), "'");
      }
    }
    int64_t capacity;
    RETURN_IF_ERROR(ctx.GetAttr("capacity", &capacity));
    if (capacity == -1) return absl::OkStatus();
    return errors::InvalidArgument(
        "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited "
        "capacity.");
  }
  absl::StatusOr<std::shared_ptr<Barrier>> Make(OpKernelContext& ctx, const std::string& name) override {
    Barrier::Options options = options_;
    options.name = name;
    return std::make_shared<Barrier>(std::move(options));
  }
  absl::Status CheckMatches(const Barrier& other) const override {
    if (other.options().types != options_.types) {
      return errors::InvalidArgument("Shared barrier '", name(), "' has component types ",
                                     DataTypeListName(other.options().types), " but requested component types were ",
                                     DataTypeListName(options_.types));
    }
    if (other.options().shapes == options_.shapes) return absl::OkStatus();
    return errors::InvalidArgument("Shared barrier '", name(), "' has component shapes ",
                                   ShapeListName(other.options().shapes), " but requested component shapes were ",
                                   ShapeListName(options_.shapes));
  }
  std::string TypeName() const override { return "Barrier"; }

 private:
  Barrier::Options options_;
};

// Finds the barrier, then goes on in Run.
class BarrierOpKernel : public AsyncOpKernel {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final {
    absl::StatusOr<std::shared_ptr<Barrier>> barrier = FindResource<Barrier>(ctx, 0);
    if (!barrier.ok()) return done(barrier.status());
    done = AwaitShared(ctx, *barrier, "barrier", (*barrier)->options().name, std::move(done));
    Run(ctx, **barrier, std::move(done));
  }

 protected:
  virtual void Run(OpKernelContext& ctx, Barrier& barrier, DoneCallback done) = 0;
};

class InsertManyKernel : public BarrierOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("component_index", &component_); }

 protected:
  void Run(OpKernelContext& ctx, Barrier& barrier, DoneCallback done) override {
    barrier.Insert(ctx, component_, ctx.locked_input(1), ctx.locked_input(2), std::move(done));
  }

 private:
  int64_t component_ = 0;
};

class TakeManyKernel : public BarrierOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    int64_t timeout;
    RETURN_IF_ERROR(ctx.GetAttr("timeout_ms", &timeout));
    if (timeout != -1) return errors::InvalidArgument("Timeout not supported yet.");
    return ctx.GetAttr("allow_small_batch", &allow_small_batch_);
  }

 protected:
  void Run(OpKernelContext& ctx, Barrier& barrier, DoneCallback done) override {
    const absl::StatusOr<int64_t> count = ReadScalarInteger(ctx.input(1), "num_elements");
    if (!count.ok()) return done(count.status());
    const DataTypeVector& types = barrier.options().types;
    bool fits = ctx.num_outputs() == static_cast<int>(types.size()) + 2;
    for (int i = 2; fits && i < ctx.num_outputs(); ++i) fits = ctx.expected_output_dtype(i) == types[i - 2];
    if (!fits) {
      return done(errors::InvalidArgument("The op's component types differ from those of the barrier: ",
                                          DataTypeListName(types)));
    }
    barrier.Take(ctx, *count, allow_small_batch_, [&ctx, done = std::move(done)](absl::StatusOr<Queue::Tuple> taken) {
      if (!taken.ok()) return done(taken.status());
      for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move((*taken)[i]));
      done(absl::OkStatus());
    });
  }

 private:
  bool allow_small_batch_ = false;
};

class CloseKernel : public BarrierOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("cancel_pending_enqueues", &cancel_pending_);
  }

 protected:
  void Run(OpKernelContext& ctx, Barrier& barrier, DoneCallback done) override {
    barrier.Close(cancel_pending_, std::move(done));
  }

 private:
  bool cancel_pending_ = false;
};

template <bool kReady>
class SizeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Barrier> barrier, FindResource<Barrier>(ctx, 0));
    ctx.set_output(0,
                   Tensor::Scalar(static_cast<int32_t>(kReady ? barrier->ready_size() : barrier->incomplete_size())));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterBarrierKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<BarrierKernel>(Kernel("Barrier").Cpu()));
  RETURN_IF_ERROR(kernels.Register<InsertManyKernel>(Kernel("BarrierInsertMany").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TakeManyKernel>(Kernel("BarrierTakeMany").Cpu()));
  RETURN_IF_ERROR(kernels.Register<CloseKernel>(Kernel("BarrierClose").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SizeKernel<true>>(Kernel("BarrierReadySize").Cpu()));
  return kernels.Register<SizeKernel<false>>(Kernel("BarrierIncompleteSize").Cpu());
}

}  // namespace weir
