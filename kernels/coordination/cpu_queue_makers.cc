// The queues themselves: FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue.
#include <limits>

#include "core/kernel/determinism.h"
#include "core/kernel/kernel_registry.h"
#include "kernels/coordination/family.h"
#include "kernels/coordination/queue.h"
#include "kernels/device/named_resource.h"

namespace weir {
namespace {

class QueueKernel : public ResourceKernel<Queue> {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(ResourceKernel<Queue>::Compute(ctx));
    if (shared_.is_private) return absl::OkStatus();
    // DestroyResourceOp may have taken it away since this kernel ran first.
    const auto make = [&] { return Make(ctx, shared_.name); };
    return ctx.resources()->LookupOrCreate<Queue>(shared_.container, shared_.name, make).status();
  }

 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(shared_, ResourceName::Read(ctx));
    op_ = options_.kind = ctx.op();
    if (ctx.op().ends_with("V2")) options_.kind.resize(options_.kind.size() - 2);
    options_.padded = options_.kind == "PaddingFIFOQueue";
    RETURN_IF_ERROR(ctx.GetAttr("component_types", &options_.types));
    RETURN_IF_ERROR(ctx.GetAttr("shapes", &options_.shapes));
    RETURN_IF_ERROR(ctx.GetAttr("capacity", &options_.capacity));
    if (options_.capacity < 0) options_.capacity = std::numeric_limits<int32_t>::max();
    if (options_.kind == "RandomShuffleQueue") RETURN_IF_ERROR(ConfigureShuffling(ctx));
    if (options_.kind == "PriorityQueue") {
      options_.order = Queue::Order::kPriority;
      options_.types.insert(options_.types.begin(), DT_INT64);
      options_.shapes.insert(options_.shapes.begin(), TensorShape());
      if (options_.shapes.size() == 1 && options_.types.size() > 1) options_.shapes.clear();
    }
    return CheckShapes();
  }

  absl::StatusOr<std::shared_ptr<Queue>> Make(OpKernelContext& ctx, const std::string& name) override {
    Queue::Options options = options_;
    options.name = name;
    return std::make_shared<Queue>(std::move(options));
  }
  absl::Status CheckMatches(const Queue& queue) const override { return queue.CheckMatches(options_, op_); }
  std::string TypeName() const override { return options_.kind; }

 private:
  absl::Status ConfigureShuffling(OpKernelConstruction& ctx) {
    options_.order = Queue::Order::kShuffled;
    RETURN_IF_ERROR(ctx.GetAttr("min_after_dequeue", &options_.min_after_dequeue));
    RETURN_IF_ERROR(ctx.GetAttr("seed", &options_.seed));
    RETURN_IF_ERROR(ctx.GetAttr("seed2", &options_.seed2));
    RETURN_IF_ERROR(CheckSeeds(ctx.node_def(), options_.seed, options_.seed2));
    if (options_.min_after_dequeue < 0) {
      return errors::InvalidArgument("min_after_dequeue ", options_.min_after_dequeue, " must be >= 0");
    }
    if (options_.min_after_dequeue >= options_.capacity) {
      return errors::InvalidArgument("min_after_dequeue ", options_.min_after_dequeue, " must be < capacity ",
                                     options_.capacity);
    }
    return absl::OkStatus();
  }

  absl::Status CheckShapes() const {
    if (options_.padded && options_.shapes.size() != options_.types.size()) {
      return errors::InvalidArgument("Shapes must be provided for all components, but received ", options_.types.size(),
                                     " dtypes and ", options_.shapes.size(), " shapes.");
    }
    if (!options_.shapes.empty() && options_.shapes.size() != options_.types.size()) {
      return errors::InvalidArgument("Different number of component types.  Types: ", options_.types.size(),
                                     ", Shapes: ", options_.shapes.size());
    }
    for (const PartialTensorShape& shape : options_.shapes) {
      if (shape.unknown_rank() || (!options_.padded && !shape.IsFullyDefined())) {
        return errors::InvalidArgument("The shape ", shape.ToString(), " of a component of a ", options_.kind,
                                       options_.padded ? " must have a known rank" : " must be fully defined");
      }
    }
    return absl::OkStatus();
  }

  ResourceName shared_;
  Queue::Options options_;
  std::string op_;
};

}  // namespace

absl::Status RegisterQueueMakers(KernelRegistry& kernels) {
  for (const std::string version : {"", "V2"}) {
    for (const char* op : {"FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue"}) {
      RETURN_IF_ERROR(kernels.Register<QueueKernel>(Kernel(op + version).Cpu()));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
