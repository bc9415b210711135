#include "core/kernel/host_kernel.h"

#include "absl/container/inlined_vector.h"
#include "core/device/device_view.h"

namespace weir {
namespace {

// A view of `device` with host memory.
class HostOf : public Device, public DeviceView {
 public:
  explicit HostOf(Device* device) : Device(device->parsed_name(), device->incarnation(), 0), device_(device) {}

  Device* viewed() const override { return device_; }
  Allocator* allocator() override { return device_->host_allocator(); }
  WorkQueue* work_queue() override { return device_->work_queue(); }

 private:
  Device* const device_;
};

class HostKernel : public OpKernel {
 public:
  explicit HostKernel(std::unique_ptr<OpKernel> kernel) : kernel_(std::move(kernel)) {}

  absl::Status Init(OpKernelConstruction& ctx) override {
    host_ = std::make_unique<HostOf>(ctx.device());
    return kernel_->Init(ctx);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    StepContext step = ctx.step();
    step.device = host_.get();
    absl::InlinedVector<TensorValue, 4> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back({ctx.ref_input(i), ctx.ref_mutex(i)});
    absl::InlinedVector<DataType, 4> types;
    for (int i = 0; i < ctx.num_outputs(); ++i) types.push_back(ctx.expected_output_dtype(i));
    absl::InlinedVector<OpOutput, 2> outputs(ctx.num_outputs());
    OpKernelContext on_host(&step, &ctx.node_def(), inputs, types, absl::MakeSpan(outputs), ctx.frame_iter(),
                            ctx.is_input_dead());
    RETURN_IF_ERROR(kernel_->Compute(on_host));
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      if (outputs[i].has_value) ctx.set_output(i, std::move(outputs[i].value));
    }
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return kernel_->IsExpensive(); }

 private:
  const std::unique_ptr<OpKernel> kernel_;
  std::unique_ptr<HostOf> host_;
};

}  // namespace

std::unique_ptr<OpKernel> NewHostKernel(std::unique_ptr<OpKernel> kernel) {
  return std::make_unique<HostKernel>(std::move(kernel));
}

}  // namespace weir
