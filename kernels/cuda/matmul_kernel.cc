// MatMul, with what follows it, and the batched products: by cuBLASLt, and by loops on the simulated device.
#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "core/matmul_sizes.h"
#include "core/numeric_types.h"
#include "kernels/cuda/body_kernel.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/matmul_args.h"
#include "kernels/cuda/matmul_choices.h"

namespace weir {
namespace {

// What cuBLASLt's makers advise for their newest devices; more has not been seen to help.
constexpr size_t kMostWorkspace = size_t{32} << 20;

template <typename T>
void Multiply(const MatMulProblem& p, const MatMulArgs& args) {
  using C = AccumulatorT<T>;
  const T* const a = static_cast<const T*>(args.a);
  const T* const b = static_cast<const T*>(args.b);
  const T* const bias = p.epilogue == MatMulEpilogue::kNone ? nullptr : static_cast<const T*>(args.bias);
  std::vector<C> row(p.n);
  for (int64_t i = 0; i < p.m; ++i) {
    std::fill(row.begin(), row.end(), C(0));
    for (int64_t q = 0; q < p.k; ++q) {
      const C x = static_cast<C>(a[p.transpose_a ? q * p.m + i : i * p.k + q]);
      for (int64_t j = 0; j < p.n; ++j) {
        row[j] += x * static_cast<C>(b[p.transpose_b ? j * p.k + q : q * p.n + j]);
      }
    }
    for (int64_t j = 0; j < p.n; ++j) {
      if (bias != nullptr) row[j] += static_cast<C>(bias[j]);
      if (p.epilogue == MatMulEpilogue::kBiasRelu && row[j] < C(0)) row[j] = C(0);
      static_cast<T*>(args.c)[i * p.n + j] = static_cast<T>(row[j]);
    }
  }
}

template <typename T>
void MultiplyBatch(MatMulArgs args) {
  const MatMulProblem& p = args.problem;
  for (int64_t i = 0; i < p.batch; ++i) {
    Multiply<T>(p, args);
    args.a = static_cast<const T*>(args.a) + p.a_step;
    args.b = static_cast<const T*>(args.b) + p.b_step;
    args.c = static_cast<T*>(args.c) + p.m * p.n;
  }
}

void Simulate(const void* raw) {
  const MatMulArgs& args = *static_cast<const MatMulArgs*>(raw);
  switch (args.problem.type) {
    case ElementType::kDouble:
      return MultiplyBatch<double>(args);
    case ElementType::kHalf:
      return MultiplyBatch<half>(args);
    case ElementType::kBfloat16:
      return MultiplyBatch<bfloat16>(args);
    default:
      return MultiplyBatch<float>(args);
  }
}

// As far as the library cares.
uint32_t AlignmentOf(const void* data) {
  constexpr uintptr_t kMost = 256;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(data) | kMost;
  return static_cast<uint32_t>(bits & -bits);
}

// MatMul, _FusedMatMul, BatchMatMul and its later versions: transposition by attributes of two names.
class MatMulKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    is_batch_ = absl::StartsWith(ctx.op(), "BatchMatMul");
    broadcasts_ = ctx.op() != "BatchMatMul";
    RETURN_IF_ERROR(ctx.GetAttr(is_batch_ ? "adj_x" : "transpose_a", &transpose_a_));
    RETURN_IF_ERROR(ctx.GetAttr(is_batch_ ? "adj_y" : "transpose_b", &transpose_b_));
    if (ctx.op() == "_FusedMatMul") RETURN_IF_ERROR(ReadFusedOps(ctx, type));
    type_ = static_cast<ElementType>(type);
    kernel_ = {.name = "MatMul", .launch = CudaMatMul().launch, .simulate = &Simulate};
    ASSIGN_OR_RETURN(choices_,
                     gpu().resources()->LookupOrCreate<MatMulChoices>(
                         "weir_gpu_libraries", "products", []() -> absl::StatusOr<std::shared_ptr<MatMulChoices>> {
                           return std::make_shared<MatMulChoices>();
                         }));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    BatchMatMulSizes sizes;
    if (is_batch_) {
      ASSIGN_OR_RETURN(sizes, BatchMatMulSizes::Of(a.shape(), b.shape(), transpose_a_, transpose_b_, broadcasts_));
    } else {
      ASSIGN_OR_RETURN(sizes.product, MatMulSizes::Of(a.shape(), b.shape(), transpose_a_, transpose_b_));
      ASSIGN_OR_RETURN(sizes.output, TensorShape::Build({sizes.product.m, sizes.product.n}));
    }
    if (has_bias_) {
      const TensorShape& bias = ctx.input(2).shape();
      if (bias.dims() != 1 || bias.dim_size(0) != sizes.product.n) {
        return errors::InvalidArgument("The bias of a product with ", sizes.product.n, " columns has shape ",
                                       bias.ToString());
      }
    }
    ASSIGN_OR_RETURN(Tensor * c, ctx.allocate_output(0, sizes.output));
    if (c->NumElements() == 0) return absl::OkStatus();
    MatMulEpilogue done = MatMulEpilogue::kNone;
    if (sizes.product.k == 0) {
      RETURN_IF_ERROR(stream.Fill(c->raw_data(), 0, static_cast<size_t>(c->TotalBytes())));
    } else {
      ASSIGN_OR_RETURN(done, Multiply(ctx, stream, a, b, sizes, c));
    }
    return Finish(ctx, stream, done, c);
  }

 private:
  // BiasAdd, and at most one activation of one operand.
  absl::Status ReadFusedOps(OpKernelConstruction& ctx, DataType type) {
    std::vector<std::string> ops;
    RETURN_IF_ERROR(ctx.GetAttr("fused_ops", &ops));
    if (ops.empty() || ops.size() > 2 || ops[0] != "BiasAdd") {
      return errors::Unimplemented("The GPU kernel of ", ctx.op(), " does not fuse [", absl::StrJoin(ops, ", "), "]");
    }
    if (ctx.input_types().size() != 3) {
      return errors::InvalidArgument("Fused ", ctx.op(), " must have one extra argument: the bias, not ",
                                     static_cast<int>(ctx.input_types().size()) - 2);
    }
    has_bias_ = true;
    epilogue_ = ops.size() == 2 && ops[1] == "Relu" ? MatMulEpilogue::kBiasRelu : MatMulEpilogue::kBias;
    ASSIGN_OR_RETURN(add_bias_, FindBody("BiasAdd", type));
    if (ops.size() == 2) {
      ASSIGN_OR_RETURN(activation_, FindElementwise(ops[1], type));
    }
    return absl::OkStatus();
  }

  // A call for each batch whose operands lie at equal steps. How much of what is fused they have done.
  absl::StatusOr<MatMulEpilogue> Multiply(OpKernelContext& ctx, GpuStream& stream, const Tensor& a, const Tensor& b,
                                          const BatchMatMulSizes& sizes, Tensor* c) const {
    const auto& [m, n, k] = sizes.product;
    const auto& [shape, dims, a_steps, b_steps] = sizes.batches;
    MatMulArgs args{.problem = {.type = type_,
                                .transpose_a = transpose_a_,
                                .transpose_b = transpose_b_,
                                .allow_tf32 = gpu().math_settings().allow_tf32,
                                .m = m,
                                .n = n,
                                .k = k,
                                .batch = dims.empty() ? 1 : dims.back(),
                                .a_step = dims.empty() ? 0 : a_steps.back() * m * k,
                                .b_step = dims.empty() ? 0 : b_steps.back() * k * n,
                                .epilogue = epilogue_,
                                .workspace_limit = std::min(kMostWorkspace, gpu().math_settings().workspace_limit)}};
    if (args.problem.batch > std::numeric_limits<int32_t>::max()) {
      return errors::Unimplemented("A batch of ", args.problem.batch, " products on a GPU, which takes at most ",
                                   std::numeric_limits<int32_t>::max());
    }
    if (has_bias_) args.bias = ctx.input(2).raw_data();
    const int64_t size = DataTypeSize(a.dtype()), calls = c->NumElements() / (m * n) / args.problem.batch;
    for (int64_t call = 0; call < calls; ++call) {
      int64_t a_at = 0, b_at = 0, rest = call;
      for (int d = static_cast<int>(dims.size()) - 2; d >= 0; --d) {
        a_at += rest % dims[d] * a_steps[d];
        b_at += rest % dims[d] * b_steps[d];
        rest /= dims[d];
      }
      args.a = static_cast<const char*>(a.raw_data()) + a_at * m * k * size;
      args.b = static_cast<const char*>(b.raw_data()) + b_at * k * n * size;
      args.c = static_cast<char*>(c->raw_data()) + call * args.problem.batch * m * n * size;
      RETURN_IF_ERROR(MultiplyOnce(ctx, stream, {ReadOf(a), ReadOf(b), WriteOf(*c)}, &args));
    }
    return args.problem.epilogue;
  }

  // Where the library cannot do what is fused, it does the product alone.
  absl::Status MultiplyOnce(OpKernelContext& ctx, GpuStream& stream, std::vector<GpuAccess> accesses,
                            MatMulArgs* args) const {
    absl::StatusOr<MatMulChoice> choice = Choose(stream, args);
    if (absl::IsUnimplemented(choice.status()) && args->problem.epilogue != MatMulEpilogue::kNone) {
      args->problem.epilogue = MatMulEpilogue::kNone;
      choice = Choose(stream, args);
    }
    RETURN_IF_ERROR(choice.status());
    args->choice = *choice;
    ASSIGN_OR_RETURN(const TensorShape bytes, TensorShape::Build({static_cast<int64_t>(choice->workspace_bytes)}));
    ASSIGN_OR_RETURN(const Tensor workspace, ctx.allocate_temp(DT_UINT8, bytes));
    args->workspace = workspace.raw_data();
    if (choice->workspace_bytes > 0) accesses.push_back(WriteOf(workspace));
    if (args->problem.epilogue != MatMulEpilogue::kNone) accesses.push_back(ReadOf(ctx.input(2)));
    return stream.LaunchWith(kernel_, *args, accesses);
  }

  absl::StatusOr<MatMulChoice> Choose(GpuStream& stream, MatMulArgs* args) const {
    // The simulated device has one way to do it.
    if (stream.native() == nullptr) return MatMulChoice();
    args->problem.a_alignment = AlignmentOf(args->a);
    args->problem.b_alignment = AlignmentOf(args->b);
    args->problem.c_alignment = AlignmentOf(args->c);
    return choices_->Find(args->problem, [&] { return CudaMatMul().choose(gpu().runtime(), args->problem); });
  }

  // What is fused and has not been done yet, in place.
  absl::Status Finish(OpKernelContext& ctx, GpuStream& stream, MatMulEpilogue done, Tensor* c) const {
    if (has_bias_ && done == MatMulEpilogue::kNone) {
      const Tensor& bias = ctx.input(2);
      const BiasArgs args{.in = c->raw_data(),
                          .bias = bias.raw_data(),
                          .out = c->raw_data(),
                          .channels = bias.NumElements(),
                          .inner = 1,
                          .count = c->NumElements()};
      RETURN_IF_ERROR(stream.LaunchWith(add_bias_, args, {ReadOf(bias), WriteOf(*c)}));
    }
    if (!activation_.has_value() || done == MatMulEpilogue::kBiasRelu) return absl::OkStatus();
    return stream.LaunchWith(*activation_,
                             ElementwiseArgs{.x = c->raw_data(), .out = c->raw_data(), .count = c->NumElements()},
                             {WriteOf(*c)});
  }

  bool is_batch_ = false, broadcasts_ = false, transpose_a_ = false, transpose_b_ = false, has_bias_ = false;
  ElementType type_ = ElementType::kFloat;
  MatMulEpilogue epilogue_ = MatMulEpilogue::kNone;
  GpuKernel kernel_, add_bias_;
  std::optional<GpuKernel> activation_;
  std::shared_ptr<MatMulChoices> choices_;
};

}  // namespace

absl::Status RegisterGpuMatMulKernels(KernelRegistry& kernels) {
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2"}) {
    RETURN_IF_ERROR(kernels.Register<MatMulKernel>(Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats)));
  }
  for (const DataType type : kGpuFloats) {
    RETURN_IF_ERROR(kernels.Register<MatMulKernel>(
        Kernel("BatchMatMulV3").Device(kDeviceGpu).Types("Ta", {type}).Types("Tb", {type}).Types("Tout", {type})));
  }
  return kernels.Register<MatMulKernel>(
      Kernel("_FusedMatMul").Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
