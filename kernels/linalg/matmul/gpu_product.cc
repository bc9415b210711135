#include "kernels/linalg/matmul/gpu_product.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/tensor/numeric_types.h"

namespace weir {
namespace {

// What cuBLASLt's makers advise for their newest devices; more has not been seen to help.
constexpr size_t kMostWorkspace = size_t{32} << 20;

template <typename C, typename T>
C Conjugated(T x, bool conjugates) {
  if constexpr (std::is_floating_point_v<C>) {
    return static_cast<C>(x);
  } else {
    return conjugates ? std::conj(x) : x;
  }
}

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
      const C x = Conjugated<C>(a[p.transpose_a ? q * p.m + i : i * p.k + q], p.transpose_a && p.conjugates);
      for (int64_t j = 0; j < p.n; ++j) {
        row[j] += x * Conjugated<C>(b[p.transpose_b ? j * p.k + q : q * p.n + j], p.transpose_b && p.conjugates);
      }
    }
    for (int64_t j = 0; j < p.n; ++j) {
      if (bias != nullptr) row[j] += static_cast<C>(bias[j]);
      if constexpr (std::is_floating_point_v<C>) {
        if (p.epilogue == MatMulEpilogue::kBiasRelu && row[j] < C(0)) row[j] = C(0);
      }
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
    case ElementType::kComplex64:
      return MultiplyBatch<complex64>(args);
    case ElementType::kComplex128:
      return MultiplyBatch<complex128>(args);
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

}  // namespace

absl::Status GpuProduct::Init(GpuDevice& gpu, DataType type) {
  gpu_ = &gpu;
  type_ = static_cast<ElementType>(type);
  kernel_ = {.name = "MatMul", .launch = CudaMatMul().launch, .simulate = &Simulate};
  ASSIGN_OR_RETURN(
      choices_, gpu.resources()->LookupOrCreate<MatMulChoices>("weir_gpu_libraries", "products",
                                                               []() -> absl::StatusOr<std::shared_ptr<MatMulChoices>> {
                                                                 return std::make_shared<MatMulChoices>();
                                                               }));
  return absl::OkStatus();
}

// A call for each batch whose operands lie at equal steps.
absl::StatusOr<MatMulEpilogue> GpuProduct::Enqueue(const OpKernelContext& ctx, GpuStream& stream,
                                                   const Factors& factors, const BatchMatMulSizes& sizes,
                                                   const Tensor& c) const {
  const auto& [m, n, k] = sizes.product;
  if (k == 0) {
    RETURN_IF_ERROR(stream.Fill(c.raw_data(), 0, static_cast<size_t>(c.TotalBytes())));
    return MatMulEpilogue::kNone;
  }
  const auto& [shape, dims, a_steps, b_steps] = sizes.batches;
  MatMulArgs args{.problem = {.type = type_,
                              .transpose_a = factors.transpose_a,
                              .transpose_b = factors.transpose_b,
                              .conjugates = factors.conjugates,
                              .allow_tf32 = gpu_->math_settings().allow_tf32,
                              .m = m,
                              .n = n,
                              .k = k,
                              .batch = dims.empty() ? 1 : dims.back(),
                              .a_step = dims.empty() ? 0 : a_steps.back() * m * k,
                              .b_step = dims.empty() ? 0 : b_steps.back() * k * n,
                              .epilogue = factors.epilogue,
                              .workspace_limit = std::min(kMostWorkspace, gpu_->math_settings().workspace_limit)}};
  if (args.problem.batch > std::numeric_limits<int32_t>::max()) {
    return errors::Unimplemented("A batch of ", args.problem.batch, " products on a GPU, which takes at most ",
                                 std::numeric_limits<int32_t>::max());
  }
  if (factors.bias != nullptr) args.bias = factors.bias->raw_data();
  const int64_t size = DataTypeSize(c.dtype()), calls = c.NumElements() / (m * n) / args.problem.batch;
  for (int64_t call = 0; call < calls; ++call) {
    int64_t a_at = 0, b_at = 0, rest = call;
    for (int d = static_cast<int>(dims.size()) - 2; d >= 0; --d) {
      a_at += rest % dims[d] * a_steps[d];
      b_at += rest % dims[d] * b_steps[d];
      rest /= dims[d];
    }
    args.a = static_cast<const char*>(factors.a.raw_data()) + a_at * m * k * size;
    args.b = static_cast<const char*>(factors.b.raw_data()) + b_at * k * n * size;
    args.c = static_cast<char*>(c.raw_data()) + call * args.problem.batch * m * n * size;
    RETURN_IF_ERROR(EnqueueOnce(ctx, stream, factors, {ReadOf(factors.a), ReadOf(factors.b), WriteOf(c)}, &args));
  }
  return args.problem.epilogue;
}

// Where the library cannot do what is fused, it does the product alone.
absl::Status GpuProduct::EnqueueOnce(const OpKernelContext& ctx, GpuStream& stream, const Factors& factors,
                                     std::vector<GpuAccess> accesses, MatMulArgs* args) const {
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
  if (args->problem.epilogue != MatMulEpilogue::kNone) accesses.push_back(ReadOf(*factors.bias));
  return stream.LaunchWith(kernel_, *args, accesses);
}

absl::StatusOr<MatMulChoice> GpuProduct::Choose(GpuStream& stream, MatMulArgs* args) const {
  // The simulated device has one way to do it.
  if (stream.native() == nullptr) return MatMulChoice();
  args->problem.a_alignment = AlignmentOf(args->a);
  args->problem.b_alignment = AlignmentOf(args->b);
  args->problem.c_alignment = AlignmentOf(args->c);
  return choices_->Find(args->problem, [&] { return CudaMatMul().choose(gpu_->runtime(), args->problem); });
}

}  // namespace weir
