// Element-wise GPU kernels of one and two operands, and AddN.

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "core/gpu/gpu_op_kernel.h"
#include "kernels/elementwise/args_broadcast.h"
#include "kernels/elementwise/args_pairwise.h"
#include "kernels/elementwise/family.h"
#include "kernels/elementwise/gpu_elementwise.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

static_assert(
    static_cast<int>(ElementType::kFloat) == DT_FLOAT && static_cast<int>(ElementType::kDouble) == DT_DOUBLE &&
    static_cast<int>(ElementType::kInt64) == DT_INT64 && static_cast<int>(ElementType::kBool) == DT_BOOL &&
    static_cast<int>(ElementType::kBfloat16) == DT_BFLOAT16 && static_cast<int>(ElementType::kHalf) == DT_HALF &&
    static_cast<int>(ElementType::kInt8) == DT_INT8 && static_cast<int>(ElementType::kUint8) == DT_UINT8 &&
    static_cast<int>(ElementType::kInt16) == DT_INT16 && static_cast<int>(ElementType::kUint16) == DT_UINT16 &&
    static_cast<int>(ElementType::kUint32) == DT_UINT32 && static_cast<int>(ElementType::kUint64) == DT_UINT64 &&
    static_cast<int>(ElementType::kInt32) == DT_INT32 && static_cast<int>(ElementType::kComplex64) == DT_COMPLEX64 &&
    static_cast<int>(ElementType::kComplex128) == DT_COMPLEX128);

const ElementwiseEntry* Find(const ElementwiseTable& table, const std::string& op, DataType type) {
  for (int i = 0; i < table.size; ++i) {
    if (op == table.entries[i].op && static_cast<int>(table.entries[i].type) == type) return &table.entries[i];
  }
  return nullptr;
}

class ElementwiseKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    operands_ = static_cast<ElementType>(ctx.input_types()[0]);
    ASSIGN_OR_RETURN(kernel_, FindElementwise(ctx.op(), ctx.input_types()[0]));
    for (const char* attr : {"alpha", "tolerance"}) {
      if (ctx.HasAttr(attr)) RETURN_IF_ERROR(ctx.GetAttr(attr, &alpha_));
    }
    return absl::OkStatus();
  }
  absl::Status Run(GpuStream& stream, ElementwiseArgs args, absl::Span<const GpuAccess> accesses) const {
    args.alpha = alpha_;
    args.operands = operands_;
    return args.count == 0 ? absl::OkStatus() : stream.LaunchWith(kernel_, args, accesses);
  }

 private:
  float alpha_ = 0;
  ElementType operands_ = ElementType::kFloat;
  GpuKernel kernel_;
};

class UnaryKernel : public ElementwiseKernel {
 protected:
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    // A copy of the handle: forwarding moves the input away.
    const GpuAccess read = ReadOf(ctx.input(0));
    const TensorShape shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    return Run(stream, {.x = read.data, .out = output->raw_data(), .count = shape.num_elements()},
               {read, WriteOf(*output)});
  }
};

class BinaryKernel : public ElementwiseKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    // Equal and NotEqual may return a scalar if shapes do not match.
    bool error = true;
    if (ctx.HasAttr("incompatible_shape_error")) RETURN_IF_ERROR(ctx.GetAttr("incompatible_shape_error", &error));
    if (!error) {
      return errors::Unimplemented("There is no GPU kernel for ", ctx.op(), " with incompatible_shape_error=false");
    }
    return ElementwiseKernel::InitOnGpu(ctx);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    ElementwiseArgs args;
    ASSIGN_OR_RETURN(const TensorShape shape, BroadcastElementwise(x.shape(), y.shape(), &args));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    args.x = x.raw_data();
    args.y = y.raw_data();
    args.out = output->raw_data();
    args.count = shape.num_elements();
    return Run(stream, args, {ReadOf(x), ReadOf(y), WriteOf(*output)});
  }
};

// Two operands of as many elements: the output has the first one's shape.
class PairwiseKernel : public ElementwiseKernel {
 protected:
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    const int64_t n = x.NumElements();
    RETURN_IF_ERROR(CheckPairwise(x, y));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, x.shape()));
    return Run(stream, {.x = x.raw_data(), .y = y.raw_data(), .out = output->raw_data(), .count = n},
               {ReadOf(x), ReadOf(y), WriteOf(*output)});
  }
};

// Two operands of one shape.
class SameShapeKernel : public ElementwiseKernel {
 protected:
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    const tensorflow::NodeDef& node = ctx.node_def();
    if (node.op() != "ApproximateEqual") {
      RETURN_IF_ERROR(CheckSameShape(node.name(), node.op(), x, y));
    } else if (x.shape() != y.shape()) {
      return errors::InvalidArgument("x and y must be of the same shape. x shape: ", x.shape().ToString(),
                                     ". y shape: ", y.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, x.shape()));
    return Run(stream,
               {.x = x.raw_data(), .y = y.raw_data(), .out = output->raw_data(), .count = output->NumElements()},
               {ReadOf(x), ReadOf(y), WriteOf(*output)});
  }
};

// As on the CPU.
bool IsPairwise(absl::string_view op) {
  static constexpr absl::string_view kOps[] = {"TanhGrad",  "SigmoidGrad",    "SqrtGrad",
                                               "RsqrtGrad", "ReciprocalGrad", "InvGrad"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}
bool TakesOneShape(absl::string_view op) {
  static constexpr absl::string_view kOps[] = {"ReluGrad", "Relu6Grad",    "LeakyReluGrad", "EluGrad",
                                               "SeluGrad", "SoftplusGrad", "SoftsignGrad",  "ApproximateEqual"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// The other type, real or complex, of ops that take complex numbers apart or build them; DT_INVALID for other ops.
DataType PartType(absl::string_view op, DataType type) {
  static constexpr absl::string_view kOps[] = {"Real", "Imag", "Angle", "ComplexAbs", "Complex"};
  if (std::find(std::begin(kOps), std::end(kOps), op) == std::end(kOps)) return DT_INVALID;
  static constexpr std::pair<DataType, DataType> kPairs[] = {
      {DT_COMPLEX64, DT_FLOAT}, {DT_COMPLEX128, DT_DOUBLE}, {DT_FLOAT, DT_COMPLEX64}, {DT_DOUBLE, DT_COMPLEX128}};
  for (const auto& [from, to] : kPairs) {
    if (from == type) return to;
  }
  return DT_INVALID;
}

// Adds the first two inputs, then each of the others to the sum.
class AddNKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindElementwise("AddV2", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor first = ctx.input(0);
    std::vector<TensorShape> shapes;
    for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(ctx.input(i).shape());
    RETURN_IF_ERROR(CheckAddends(ctx.node_def().name(), shapes));
    if (ctx.num_inputs() == 1) {
      ctx.set_output(0, first);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * sum, ctx.allocate_output(0, first.shape()));
    if (first.NumElements() == 0) return absl::OkStatus();
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Tensor& before = i == 1 ? first : *sum;
      RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                        ElementwiseArgs{.x = before.raw_data(),
                                                        .y = ctx.input(i).raw_data(),
                                                        .out = sum->raw_data(),
                                                        .count = first.NumElements(),
                                                        .operands = static_cast<ElementType>(first.dtype())},
                                        {ReadOf(before), ReadOf(ctx.input(i)), WriteOf(*sum)}));
    }
    return absl::OkStatus();
  }

 private:
  GpuKernel kernel_;
};

}  // namespace

absl::StatusOr<TensorShape> BroadcastElementwise(const TensorShape& x, const TensorShape& y, ElementwiseArgs* args) {
  if (x == y) return x;
  ASSIGN_OR_RETURN(const Broadcasting broadcasting, Broadcasting::Of(x, y));
  const auto& [shape, sizes, x_steps, y_steps] = broadcasting;
  if (sizes.size() > kMaxElementwiseRank) {
    return errors::Unimplemented("Broadcast between ", x.ToString(), " and ", y.ToString(), " is not supported yet");
  }
  args->rank = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), args->sizes);
  std::copy(x_steps.begin(), x_steps.end(), args->x_steps);
  std::copy(y_steps.begin(), y_steps.end(), args->y_steps);
  return shape;
}

absl::Status CheckAddends(absl::string_view node, absl::Span<const TensorShape> inputs) {
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == inputs[0]) continue;
    return errors::InvalidArgument("Inputs to operation ", node,
                                   " of type AddN must have the same size and shape.  Input 0: ", inputs[0].ToString(),
                                   " != input ", i, ": ", inputs[i].ToString());
  }
  return absl::OkStatus();
}

absl::StatusOr<GpuKernel> FindElementwise(const std::string& op, DataType type) {
  for (const ElementwiseTables& tables : kElementwiseTables) {
    const ElementwiseEntry* const simulated = Find(tables.simulated(), op, type);
    if (simulated == nullptr) continue;
    const ElementwiseEntry* const cuda = Find(tables.cuda(), op, type);
    return GpuKernel{
        .name = simulated->op, .launch = cuda == nullptr ? nullptr : cuda->launch, .simulate = simulated->simulate};
  }
  return errors::Unimplemented("There is no GPU kernel for ", op, " of ", DataTypeName(type));
}

absl::Status RegisterGpuElementwiseKernels(KernelRegistry& kernels) {
  for (const ElementwiseTables& tables : kElementwiseTables) {
    const ElementwiseTable table = tables.simulated();
    for (int i = 0; i < table.size; ++i) {
      const ElementwiseEntry& entry = table.entries[i];
      Kernel kernel = Kernel(entry.op).Device(kDeviceGpu);
      const auto type = static_cast<DataType>(entry.type);
      if (!absl::StartsWith(entry.op, "Logical")) kernel.Types("T", {type});
      if (const DataType part = PartType(entry.op, type); part != DT_INVALID) kernel.Types("Tout", {part});
      RETURN_IF_ERROR(entry.num_operands == 1   ? kernels.Register<UnaryKernel>(kernel)
                      : IsPairwise(entry.op)    ? kernels.Register<PairwiseKernel>(kernel)
                      : TakesOneShape(entry.op) ? kernels.Register<SameShapeKernel>(kernel)
                                                : kernels.Register<BinaryKernel>(kernel));
    }
  }
  return kernels.Register<AddNKernel>(
      Kernel("AddN")
          .Device(kDeviceGpu)
          .Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_INT8, DT_UINT8, DT_INT16, DT_UINT16,
                       DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
