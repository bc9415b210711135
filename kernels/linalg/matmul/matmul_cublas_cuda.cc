// Products by cuBLASLt, which is found when the process first asks for it.
#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <optional>

#include "core/cuda/cuda_runtime.h"
#include "core/cuda/cuda_stream.h"
#include "kernels/linalg/matmul/cublas_lt_functions.h"
#include "kernels/linalg/matmul/device.h"

namespace weir {
namespace {

template <typename T>
struct Destroy {
  using pointer = T;
  void operator()(T object) const { destroy(object); }
  cublasStatus_t (*destroy)(T) = nullptr;
};
template <typename T>
using Owned = std::unique_ptr<T, Destroy<T>>;
using Handle = Owned<cublasLtHandle_t>;
using Layout = Owned<cublasLtMatrixLayout_t>;
using Preference = Owned<cublasLtMatmulPreference_t>;
using Operation = Owned<cublasLtMatmulDesc_t>;

// A handle is a thread's, and knows its device: the current one.
cublasLtHandle_t HandleOfThread(const CublasLtFunctions& lt, int device) {
  constexpr int kMaxDevices = 64;
  thread_local Handle handles[kMaxDevices];
  if (device < 0 || device >= kMaxDevices) return nullptr;
  if (handles[device] == nullptr) {
    cublasLtHandle_t made = nullptr;
    if (lt.Create(&made) != CUBLAS_STATUS_SUCCESS) return nullptr;
    handles[device] = Handle(made, {lt.Destroy});
  }
  return handles[device].get();
}

// Column-major matrices of which the next begins `step` elements behind one.
Layout NewLayout(const CublasLtFunctions& lt, cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch,
                 int64_t step) {
  cublasLtMatrixLayout_t made = nullptr;
  if (lt.MatrixLayoutCreate(&made, type, rows, columns, /*ld=*/rows) != CUBLAS_STATUS_SUCCESS) return {};
  Layout layout(made, {lt.MatrixLayoutDestroy});
  const auto count = static_cast<int32_t>(batch);
  const auto set = [&lt, made](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    return lt.MatrixLayoutSetAttribute(made, attribute, &value, sizeof(value)) == CUBLAS_STATUS_SUCCESS;
  };
  if (batch > 1 &&
      !(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count) && set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step))) {
    return {};
  }
  return layout;
}

cudaDataType_t TypeOf(ElementType type) {
  switch (type) {
    case ElementType::kDouble:
      return CUDA_R_64F;
    case ElementType::kHalf:
      return CUDA_R_16F;
    case ElementType::kBfloat16:
      return CUDA_R_16BF;
    case ElementType::kComplex64:
      return CUDA_C_32F;
    case ElementType::kComplex128:
      return CUDA_C_64F;
    default:
      return CUDA_R_32F;
  }
}

bool IsWide(ElementType type) { return type == ElementType::kDouble || type == ElementType::kComplex128; }

// Of what products are multiplied by.
cudaDataType_t ScaleTypeOf(ElementType type) {
  return type == ElementType::kHalf || type == ElementType::kBfloat16 ? CUDA_R_32F : TypeOf(type);
}

// A problem as the library sees it.
struct Described {
  Operation operation;
  Layout a, b, c;
};

// The library's matrices are column-major: what it sees are the transposes, so it computes c' = op(b)' op(a)'. Nothing
// where there is no memory for it.
std::optional<Described> Describe(const CublasLtFunctions& lt, const MatMulProblem& p, const void* bias) {
  const bool is_tf32 = p.type == ElementType::kFloat && p.allow_tf32;
  cublasLtMatmulDesc_t made = nullptr;
  if (lt.MatmulDescCreate(&made,
                          IsWide(p.type) ? CUBLAS_COMPUTE_64F
                          : is_tf32      ? CUBLAS_COMPUTE_32F_FAST_TF32
                                         : CUBLAS_COMPUTE_32F,
                          ScaleTypeOf(p.type)) != CUBLAS_STATUS_SUCCESS) {
    return std::nullopt;
  }
  Described described;
  described.operation = Operation(made, {lt.MatmulDescDestroy});
  const auto set = [&lt, made](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return lt.MatmulDescSetAttribute(made, attribute, &value, sizeof(value)) == CUBLAS_STATUS_SUCCESS;
  };
  const cublasOperation_t turned = p.conjugates ? CUBLAS_OP_C : CUBLAS_OP_T;
  const cublasOperation_t first = p.transpose_b ? turned : CUBLAS_OP_N;
  const cublasOperation_t second = p.transpose_a ? turned : CUBLAS_OP_N;
  if (!set(CUBLASLT_MATMUL_DESC_TRANSA, first) || !set(CUBLASLT_MATMUL_DESC_TRANSB, second)) return std::nullopt;
  if (p.epilogue != MatMulEpilogue::kNone) {
    // Its bias is one for each row, which are our columns.
    const cublasLtEpilogue_t epilogue =
        p.epilogue == MatMulEpilogue::kBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_RELU_BIAS;
    if (!set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue) || !set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias)) {
      return std::nullopt;
    }
  }
  const cudaDataType_t type = TypeOf(p.type);
  described.b = NewLayout(lt, type, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k, p.batch, p.b_step);
  described.a = NewLayout(lt, type, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m, p.batch, p.a_step);
  described.c = NewLayout(lt, type, p.n, p.m, p.batch, p.m * p.n);
  if (described.a == nullptr || described.b == nullptr || described.c == nullptr) return std::nullopt;
  return described;
}

absl::StatusOr<MatMulChoice> Choose(GpuRuntime& gpu, const MatMulProblem& p) {
  const std::optional<int> device = CudaOrdinalOf(gpu);
  if (!device.has_value()) return errors::Unimplemented(gpu.properties().name, " is not one of CUDA's");
  ASSIGN_OR_RETURN(const CublasLtFunctions* const lt, LoadCublasLt());
  RETURN_IF_ERROR(SelectCudaDevice(*device));
  const cublasLtHandle_t handle = HandleOfThread(*lt, *device);
  if (handle == nullptr) return errors::Internal("cuBLASLt cannot be started on ", gpu.properties().name);
  // Where the bias lies is not known yet: it is aligned as all tensors are.
  const std::optional<Described> described = Describe(*lt, p, nullptr);
  cublasLtMatmulPreference_t made = nullptr;
  if (!described.has_value() || lt->MatmulPreferenceCreate(&made) != CUBLAS_STATUS_SUCCESS) {
    return errors::ResourceExhausted("There is no memory to describe a product to cuBLASLt");
  }
  const Preference preference(made, {lt->MatmulPreferenceDestroy});
  const auto tell = [lt, made](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return lt->MatmulPreferenceSetAttribute(made, attribute, &value, sizeof(value)) == CUBLAS_STATUS_SUCCESS;
  };
  // The library takes operands to be aligned as it aligns them itself, unless it is told.
  if (!tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.b_alignment) ||
      !tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.a_alignment) ||
      !tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.c_alignment) ||
      !tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.c_alignment) ||
      !tell(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, p.workspace_limit)) {
    return errors::Internal("cuBLASLt takes no preferences");
  }
  cublasLtMatmulHeuristicResult_t found = {};
  int num_found = 0;
  const cublasStatus_t status =
      lt->MatmulAlgoGetHeuristic(handle, described->operation.get(), described->b.get(), described->a.get(),
                                 described->c.get(), described->c.get(), preference.get(), 1, &found, &num_found);
  if (status != CUBLAS_STATUS_SUCCESS || num_found == 0 || found.state != CUBLAS_STATUS_SUCCESS) {
    return errors::Unimplemented("cuBLASLt has no way to multiply [", p.m, ",", p.k, "] by [", p.k, ",", p.n,
                                 "]: ", lt->GetStatusName(status != CUBLAS_STATUS_SUCCESS ? status : found.state));
  }
  MatMulChoice choice{.workspace_bytes = found.workspaceSize};
  static_assert(sizeof(choice.algorithm) == sizeof(found.algo));
  std::memcpy(choice.algorithm, &found.algo, sizeof(found.algo));
  return choice;
}

int Launch(void* stream, const void* raw) {
  const MatMulArgs& args = *static_cast<const MatMulArgs*>(raw);
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return static_cast<int>(error);
  const absl::StatusOr<const CublasLtFunctions*> loaded = LoadCublasLt();  // by Choose
  if (!loaded.ok()) return static_cast<int>(cudaErrorNotSupported);
  const CublasLtFunctions& lt = **loaded;
  const cublasLtHandle_t handle = HandleOfThread(lt, device);
  const std::optional<Described> described = Describe(lt, args.problem, args.bias);
  if (handle == nullptr || !described.has_value()) return static_cast<int>(cudaErrorMemoryAllocation);
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, args.choice.algorithm, sizeof(algorithm));
  // With imaginary parts, at which real products do not look.
  const bool is_wide = IsWide(args.problem.type);
  const double one[2] = {1, 0}, zero[2] = {0, 0};
  const float one_float[2] = {1, 0}, zero_float[2] = {0, 0};
  const void* const alpha = is_wide ? static_cast<const void*>(one) : one_float;
  const void* const beta = is_wide ? static_cast<const void*>(zero) : zero_float;
  const cublasStatus_t status =
      lt.Matmul(handle, described->operation.get(), alpha, args.b, described->b.get(), args.a, described->a.get(), beta,
                args.c, described->c.get(), args.c, described->c.get(), &algorithm, args.workspace,
                args.choice.workspace_bytes, static_cast<cudaStream_t>(stream));
  if (status == CUBLAS_STATUS_SUCCESS) return static_cast<int>(cudaGetLastError());
  const cudaError_t device_error = cudaGetLastError();
  return static_cast<int>(device_error != cudaSuccess ? device_error : cudaErrorNotSupported);
}

}  // namespace

MatMulLibrary CudaMatMul() { return {.launch = &Launch, .choose = &Choose}; }

}  // namespace weir
