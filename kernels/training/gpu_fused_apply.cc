// _FusedResourceApply: an optimizer's step on many variables, by few launches.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/gpu_variable.h"
#include "kernels/training/device.h"
#include "kernels/training/family.h"

namespace weir {
namespace {

// Those of `inputs`, locked in the order of their addresses, as everybody locks several; given in that of `inputs`.
// ALREADY_EXISTS where two are the same.
absl::StatusOr<std::vector<LockedGpuVariable>> LockInputs(const OpKernelContext& ctx, const std::vector<int>& inputs,
                                                          DataType type) {
  std::map<std::shared_ptr<Variable>, size_t> order;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, inputs[i]));
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, ctx.resources()->Lookup<Variable>(*handle));
    if (const auto [same, is_new] = order.try_emplace(std::move(variable), i); !is_new) {
      return errors::AlreadyExists("Inputs ", inputs[same->second], " and ", inputs[i], " are the same variable");
    }
  }
  std::vector<std::optional<LockedGpuVariable>> locked(inputs.size());
  for (const auto& [variable, i] : order) {
    ASSIGN_OR_RETURN(locked[i], LockedGpuVariable::Lock(ctx, inputs[i], type));
  }
  std::vector<LockedGpuVariable> result;
  for (auto& variable : locked) result.push_back(*std::move(variable));
  return result;
}

// Inputs: the variables of each update, its slots behind it; the scalars, which all share; each update's gradient.
class FusedApplyKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    std::string rule;
    int64_t variables = 0;
    RETURN_IF_ERROR(ctx.GetAttr("rule", &rule));
    RETURN_IF_ERROR(ctx.GetAttr("T", &dtype_));
    RETURN_IF_ERROR(ctx.GetAttr("N", &updates_));
    RETURN_IF_ERROR(ctx.GetAttr("num_variables", &variables));
    RETURN_IF_ERROR(ctx.GetAttr("num_scalars", &scalars_));
    RETURN_IF_ERROR(ctx.GetAttr("flag", &flag_));
    RETURN_IF_ERROR(ctx.GetAttr("names", &names_));
    rule_ = absl::StrCat("ResourceApply", rule);
    ASSIGN_OR_RETURN(kernel_, FindBody(absl::StrCat("Many", rule), dtype_));
    width_ = static_cast<int>(variables / updates_);
    if (variables != width_ * updates_ || width_ < 1 || width_ > kMaxUpdatedVariables || scalars_ > kMaxUpdateScalars ||
        static_cast<int64_t>(names_.size()) != updates_) {
      return errors::InvalidArgument(ctx.op(), ": ", variables, " variables, ", scalars_, " scalars and ",
                                     names_.size(), " names are not those of ", updates_, " updates");
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    for (int64_t first = 0; first < updates_; first += kMostUpdatesAtOnce) {
      const int64_t end = std::min(first + kMostUpdatesAtOnce, updates_);
      const absl::Status status = Update(ctx, stream, first, end);
      // Two of them update one variable: one after the other, as they are.
      if (!absl::IsAlreadyExists(status)) {
        RETURN_IF_ERROR(status);
        continue;
      }
      for (int64_t i = first; i < end; ++i) RETURN_IF_ERROR(Update(ctx, stream, i, i + 1));
    }
    return absl::OkStatus();
  }

  // Updates `first` to `end` by one launch. ALREADY_EXISTS where a variable is among them twice: nothing was enqueued.
  absl::Status Update(OpKernelContext& ctx, GpuStream& stream, int64_t first, int64_t end) const {
    UpdateManyArgs args{.flag = flag_};
    std::vector<GpuAccess> accesses;
    for (int64_t i = 0; i < scalars_; ++i) {
      const Tensor& scalar = ctx.input(static_cast<int>(updates_ * width_ + i));
      if (scalar.dims() != 0) {
        return Of(first,
                  errors::InvalidArgument("input ", width_ + i, " is not a scalar: ", scalar.shape().ToString()));
      }
      args.scalars[i] = scalar.raw_data();
      accesses.push_back(ReadOf(scalar));
    }
    std::vector<int> inputs;
    for (int64_t i = first * width_; i < end * width_; ++i) inputs.push_back(static_cast<int>(i));
    // The updates are checked one by one to name the bad one.
    absl::StatusOr<std::vector<LockedGpuVariable>> locked = LockInputs(ctx, inputs, dtype_);
    if (!locked.ok()) return WhoFails(ctx, first, end, locked.status());
    for (int64_t i = first; i < end; ++i) {
      const auto variables = absl::MakeSpan(*locked).subspan(static_cast<size_t>((i - first) * width_), width_);
      RETURN_IF_ERROR(Of(i, Check(variables, GradientOf(ctx, i))));
    }
    for (int64_t i = first; i < end; ++i) {
      const Tensor& gradient = GradientOf(ctx, i);
      if (gradient.NumElements() == 0) continue;
      UpdateManyArgs::Entry& entry = args.entries[args.num_entries++];
      entry.first = args.count;
      entry.gradient = gradient.raw_data();
      args.count += gradient.NumElements();
      accesses.push_back(ReadOf(gradient));
      for (int k = 0; k < width_; ++k) {
        LockedGpuVariable& variable = (*locked)[static_cast<size_t>((i - first) * width_ + k)];
        RETURN_IF_ERROR(Of(i, variable.PrepareToUpdate(ctx, stream)));
        entry.variables[k] = variable.value().raw_data();
        accesses.push_back(WriteOf(variable.value()));
      }
    }
    return args.count == 0 ? absl::OkStatus() : stream.LaunchWith(kernel_, args, accesses);
  }
  const Tensor& GradientOf(OpKernelContext& ctx, int64_t i) const {
    return ctx.input(static_cast<int>(updates_ * width_ + scalars_ + i));
  }

  static absl::Status Check(absl::Span<const LockedGpuVariable> variables, const Tensor& gradient) {
    const TensorShape& shape = variables[0].value().shape();
    for (size_t k = 1; k < variables.size(); ++k) {
      if (variables[k].value().shape() == shape) continue;
      return errors::InvalidArgument("var and its slot ", k, " do not have the same shape", shape.ToString(), " ",
                                     variables[k].value().shape().ToString());
    }
    if (shape == gradient.shape()) return absl::OkStatus();
    return errors::InvalidArgument("var and its gradient do not have the same shape", shape.ToString(), " ",
                                   gradient.shape().ToString());
  }

  absl::Status WhoFails(OpKernelContext& ctx, int64_t first, int64_t end, const absl::Status& all) const {
    if (end - first == 1) {
      return Of(first, absl::IsAlreadyExists(all) ? errors::InvalidArgument(all.message()) : all);
    }
    for (int64_t i = first; i < end; ++i) {
      std::vector<int> inputs;
      for (int64_t k = i * width_; k < (i + 1) * width_; ++k) inputs.push_back(static_cast<int>(k));
      const auto alone = LockInputs(ctx, inputs, dtype_);
      if (!alone.ok()) return Of(i, alone.status());
    }
    return all;
  }
  // As of the one update.
  absl::Status Of(int64_t i, absl::Status status) const {
    if (status.ok()) return status;
    return Annotate(std::move(status), absl::StrCat(rule_, " '", names_[static_cast<size_t>(i)], "'"));
  }

  std::string rule_;
  std::vector<std::string> names_;
  DataType dtype_ = DT_INVALID;
  int64_t updates_ = 0, scalars_ = 0;
  int width_ = 0;
  bool flag_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuFusedApplyKernels(KernelRegistry& kernels) {
  return kernels.Register<FusedApplyKernel>(
      Kernel("_FusedResourceApply").Device(kDeviceGpu).Types("T", kGpuFloats).HostMemory("variables"));
}

}  // namespace weir
