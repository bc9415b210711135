// Products by cuBLASLt.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <memory>

#include "kernels/cuda/matmul_args.h"

namespace weir {
namespace {

template <typename T, cublasStatus_t (*kDestroy)(T)>
struct Destroy {
  using pointer = T;
  void operator()(T object) const { kDestroy(object); }
};
template <typename T, cublasStatus_t (*kDestroy)(T)>
using Owned = std::unique_ptr<T, Destroy<T, kDestroy>>;
using Handle = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;

// A handle is a thread's, and knows its device: the current one.
cublasLtHandle_t HandleOfThread(int device) {
  constexpr int kMaxDevices = 64;
  thread_local Handle handles[kMaxDevices];
  if (device < 0 || device >= kMaxDevices) return nullptr;
  if (handles[device] == nullptr) {
    cublasLtHandle_t made = nullptr;
    if (cublasLtCreate(&made) != CUBLAS_STATUS_SUCCESS) return nullptr;
    handles[device].reset(made);
  }
  return handles[device].get();
}

// Column-major matrices of which the next begins `step` elements behind one.
Layout NewLayout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch, int64_t step) {
  cublasLtMatrixLayout_t made = nullptr;
  if (cublasLtMatrixLayoutCreate(&made, type, rows, columns, /*ld=*/rows) != CUBLAS_STATUS_SUCCESS) return nullptr;
  Layout layout(made);
  const auto count = static_cast<int32_t>(batch);
  const auto set = [made](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    return cublasLtMatrixLayoutSetAttribute(made, attribute, &value, sizeof(value)) == CUBLAS_STATUS_SUCCESS;
  };
  if (batch > 1 &&
      !(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count) && set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step))) {
    return nullptr;
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
    default:
      return CUDA_R_32F;
  }
}

// Of what a tensor's memory, or a part of it, begins at: a power of two, as far as the library cares.
uint32_t AlignmentOf(const void* data) {
  constexpr uintptr_t kMost = 256;
  return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(data) | kMost) &
                               -(reinterpret_cast<uintptr_t>(data) | kMost));
}

// The library's matrices are column-major: what it sees are the transposes, so it computes c' = op(b)' op(a)'.
int Launch(void* stream, const void* raw) {
  const MatMulArgs& args = *static_cast<const MatMulArgs*>(raw);
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return static_cast<int>(error);
  const cublasLtHandle_t handle = HandleOfThread(device);
  if (handle == nullptr) return static_cast<int>(cudaErrorMemoryAllocation);
  const bool is_double = args.type == ElementType::kDouble;
  cublasLtMatmulDesc_t made = nullptr;
  if (cublasLtMatmulDescCreate(&made, is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                               is_double ? CUDA_R_64F : CUDA_R_32F) != CUBLAS_STATUS_SUCCESS) {
    return static_cast<int>(cudaErrorMemoryAllocation);
  }
  const Operation operation(made);
  const cublasOperation_t first = args.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = args.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const bool is_described = cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first)) ==
                                CUBLAS_STATUS_SUCCESS &&
                            cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                                           sizeof(second)) == CUBLAS_STATUS_SUCCESS;
  const cudaDataType_t type = TypeOf(args.type);
  const int64_t b_row = args.transpose_b ? args.k : args.n, a_row = args.transpose_a ? args.m : args.k;
  const Layout b = NewLayout(type, b_row, args.transpose_b ? args.n : args.k, args.batch, args.b_step);
  const Layout a = NewLayout(type, a_row, args.transpose_a ? args.k : args.m, args.batch, args.a_step);
  const Layout c = NewLayout(type, args.n, args.m, args.batch, args.m * args.n);
  if (!is_described || a == nullptr || b == nullptr || c == nullptr) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  // The library takes operands to be aligned as it aligns them itself, unless it is told.
  cublasLtMatmulPreference_t made_preference = nullptr;
  if (cublasLtMatmulPreferenceCreate(&made_preference) != CUBLAS_STATUS_SUCCESS) {
    return static_cast<int>(cudaErrorMemoryAllocation);
  }
  const Preference preference(made_preference);
  const auto tell = [made_preference](cublasLtMatmulPreferenceAttributes_t attribute, const void* data) {
    const uint32_t bytes = AlignmentOf(data);
    return cublasLtMatmulPreferenceSetAttribute(made_preference, attribute, &bytes, sizeof(bytes)) ==
           CUBLAS_STATUS_SUCCESS;
  };
  if (!tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, args.b) ||
      !tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, args.a) ||
      !tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, args.c) ||
      !tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, args.c)) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  cublasLtMatmulHeuristicResult_t found = {};
  int num_found = 0;
  if (cublasLtMatmulAlgoGetHeuristic(handle, operation.get(), b.get(), a.get(), c.get(), c.get(), preference.get(), 1,
                                     &found, &num_found) != CUBLAS_STATUS_SUCCESS ||
      num_found == 0) {
    return static_cast<int>(cudaErrorNotSupported);
  }
  const double one = 1, zero = 0;
  const float one_float = 1, zero_float = 0;
  const void* const alpha = is_double ? static_cast<const void*>(&one) : &one_float;
  const void* const beta = is_double ? static_cast<const void*>(&zero) : &zero_float;
  const cublasStatus_t status =
      cublasLtMatmul(handle, operation.get(), alpha, args.b, b.get(), args.a, a.get(), beta, args.c, c.get(), args.c,
                     c.get(), &found.algo, /*workspace=*/nullptr, 0, static_cast<cudaStream_t>(stream));
  if (status == CUBLAS_STATUS_SUCCESS) return static_cast<int>(cudaGetLastError());
  const cudaError_t device_error = cudaGetLastError();
  return static_cast<int>(device_error != cudaSuccess ? device_error : cudaErrorNotSupported);
}

}  // namespace

MatMulLaunch CudaMatMul() { return &Launch; }

}  // namespace weir
