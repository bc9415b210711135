// Sparse products by cuSPARSE, which is found when the process first asks for it.
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include <utility>

#include "core/cuda/cuda_runtime.h"
#include "core/cuda/cuda_status.h"
#include "core/cuda/cuda_stream.h"
#include "core/shared_library.h"
#include "kernels/sparse/gpu/sparse_library.h"

namespace weir {
namespace {

struct CusparseFunctions {
  decltype(&::cusparseCreate) Create;
  decltype(&::cusparseDestroy) Destroy;
  decltype(&::cusparseSetStream) SetStream;
  decltype(&::cusparseGetErrorString) GetErrorString;
  decltype(&::cusparseCreateConstCoo) CreateConstCoo;
  decltype(&::cusparseDestroySpMat) DestroySpMat;
  decltype(&::cusparseCreateConstDnMat) CreateConstDnMat;
  decltype(&::cusparseCreateDnMat) CreateDnMat;
  decltype(&::cusparseDestroyDnMat) DestroyDnMat;
  decltype(&::cusparseSpMM_bufferSize) SpMmBufferSize;
  decltype(&::cusparseSpMM) SpMm;

  absl::Status StatusOf(cusparseStatus_t status, absl::string_view what) const {
    if (status == CUSPARSE_STATUS_SUCCESS) return absl::OkStatus();
    const std::string text = absl::StrCat("cuSPARSE: ", what, ": ", GetErrorString(status));
    switch (status) {
      case CUSPARSE_STATUS_NOT_SUPPORTED:
      case CUSPARSE_STATUS_ARCH_MISMATCH:
        return errors::Unimplemented(text);
      case CUSPARSE_STATUS_ALLOC_FAILED:
      case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES:
        return errors::ResourceExhausted(text);
      default:
        return errors::Internal(text);
    }
  }
};

absl::StatusOr<CusparseFunctions> Load() {
  ASSIGN_OR_RETURN(const SharedLibrary library,
                   SharedLibrary::Open("cuSPARSE", {"libcusparse.so.12", WEIR_CUSPARSE_LIBRARY}));
  CusparseFunctions f = {};
  RETURN_IF_ERROR(library.Find({{"cusparseCreate", &f.Create},
                                {"cusparseDestroy", &f.Destroy},
                                {"cusparseSetStream", &f.SetStream},
                                {"cusparseGetErrorString", &f.GetErrorString},
                                {"cusparseCreateConstCoo", &f.CreateConstCoo},
                                {"cusparseDestroySpMat", &f.DestroySpMat},
                                {"cusparseCreateConstDnMat", &f.CreateConstDnMat},
                                {"cusparseCreateDnMat", &f.CreateDnMat},
                                {"cusparseDestroyDnMat", &f.DestroyDnMat},
                                {"cusparseSpMM_bufferSize", &f.SpMmBufferSize},
                                {"cusparseSpMM", &f.SpMm}}));
  return f;
}

absl::StatusOr<const CusparseFunctions*> LoadCusparse() {
  static const auto* const loaded = new absl::StatusOr<CusparseFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

cudaDataType_t TypeOf(DataType type) {
  switch (type) {
    case DT_DOUBLE:
      return CUDA_R_64F;
    case DT_HALF:
      return CUDA_R_16F;
    case DT_BFLOAT16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

// A product as the library sees it.
class Described {
 public:
  Described(const CusparseFunctions& cusparse, const SparseProduct& product)
      : cusparse_(cusparse), transpose_b_(product.transpose_b), is_double_(product.dtype == DT_DOUBLE) {}
  ~Described() {
    if (a_ != nullptr) cusparse_.DestroySpMat(a_);
    if (b_ != nullptr) cusparse_.DestroyDnMat(b_);
    if (c_ != nullptr) cusparse_.DestroyDnMat(c_);
  }
  Described(const Described&) = delete;

  absl::Status Describe(const SparseProduct& p) {
    const cudaDataType_t type = TypeOf(p.dtype);
    RETURN_IF_ERROR(
        cusparse_.StatusOf(cusparse_.CreateConstCoo(&a_, p.rows, p.inner, p.entries, p.entry_rows, p.entry_columns,
                                                    p.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type),
                           "describing a sparse matrix"));
    const int64_t b_rows = transpose_b_ ? p.columns : p.inner, b_columns = transpose_b_ ? p.inner : p.columns;
    RETURN_IF_ERROR(
        cusparse_.StatusOf(cusparse_.CreateConstDnMat(&b_, b_rows, b_columns, b_columns, p.b, type, CUSPARSE_ORDER_ROW),
                           "describing a matrix"));
    return cusparse_.StatusOf(cusparse_.CreateDnMat(&c_, p.rows, p.columns, p.columns, p.c, type, CUSPARSE_ORDER_ROW),
                              "describing a matrix");
  }
  cusparseStatus_t AskForWorkspace(cusparseHandle_t handle, cusparseSpMMAlg_t algorithm, size_t* bytes) const {
    return cusparse_.SpMmBufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, b_operation(), one(), a_, b_, zero(), c_,
                                    compute_type(), algorithm, bytes);
  }
  cusparseStatus_t Multiply(cusparseHandle_t handle, cusparseSpMMAlg_t algorithm, void* workspace) const {
    return cusparse_.SpMm(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, b_operation(), one(), a_, b_, zero(), c_,
                          compute_type(), algorithm, workspace);
  }

 private:
  cusparseOperation_t b_operation() const {
    return transpose_b_ ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
  }
  cudaDataType_t compute_type() const { return is_double_ ? CUDA_R_64F : CUDA_R_32F; }
  const void* one() const {
    static constexpr double kDouble = 1;
    static constexpr float kFloat = 1;
    return is_double_ ? static_cast<const void*>(&kDouble) : &kFloat;
  }
  const void* zero() const {
    static constexpr double kDouble = 0;  // all bits are those of a float's zero
    return &kDouble;
  }

  const CusparseFunctions& cusparse_;
  const bool transpose_b_, is_double_;
  cusparseConstSpMatDescr_t a_ = nullptr;
  cusparseConstDnMatDescr_t b_ = nullptr;
  cusparseDnMatDescr_t c_ = nullptr;
};

class Cusparse : public SparseLibrary {
 public:
  static absl::StatusOr<std::unique_ptr<SparseLibrary>> Open(GpuRuntime& gpu, bool deterministic) {
    const std::optional<int> ordinal = CudaOrdinalOf(gpu);
    if (!ordinal.has_value()) return errors::Unavailable(gpu.properties().name, " is not one of CUDA's");
    ASSIGN_OR_RETURN(const CusparseFunctions* const cusparse, LoadCusparse());
    auto library = std::make_unique<Cusparse>(*cusparse, *ordinal, deterministic);
    RETURN_IF_ERROR(SelectCudaDevice(*ordinal));
    MutexLock lock(library->mu_);
    RETURN_IF_ERROR(cusparse->StatusOf(cusparse->Create(&library->handle_), "cusparseCreate"));
    return library;
  }
  Cusparse(const CusparseFunctions& cusparse, int ordinal, bool deterministic)
      : cusparse_(cusparse), ordinal_(ordinal), deterministic_(deterministic) {}
  ~Cusparse() override {
    if (handle_ == nullptr) return;
    SelectCudaDevice(ordinal_).IgnoreError();
    cusparse_.Destroy(handle_);
  }

  absl::StatusOr<size_t> WorkspaceBytes(const SparseProduct& product) override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    Described described(cusparse_, product);
    RETURN_IF_ERROR(described.Describe(product));
    size_t bytes = 0;
    MutexLock lock(mu_);
    RETURN_IF_ERROR(cusparse_.StatusOf(described.AskForWorkspace(handle_, AlgorithmFor(product), &bytes),
                                       "asking for the workspace of a product"));
    return bytes;
  }

  absl::Status Enqueue(GpuStream& stream, const SparseProduct& product, void* workspace) override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    Described described(cusparse_, product);
    RETURN_IF_ERROR(described.Describe(product));
    MutexLock lock(mu_);
    RETURN_IF_ERROR(cusparse_.StatusOf(cusparse_.SetStream(handle_, static_cast<cudaStream_t>(stream.native())),
                                       "choosing a stream"));
    const cusparseStatus_t status = described.Multiply(handle_, AlgorithmFor(product), workspace);
    if (status == CUSPARSE_STATUS_SUCCESS) return absl::OkStatus();
    const cudaError_t error = cudaGetLastError();  // which must not show in a later call
    const absl::Status said = cusparse_.StatusOf(status, "a product");
    if (!absl::IsUnimplemented(said)) RETURN_IF_CUDA_ERROR(error, "a sparse product by cuSPARSE");
    return said;
  }

 private:
  // The second gives the same bits in every run; the fourth is made for matrices that lie row by row.
  cusparseSpMMAlg_t AlgorithmFor(const SparseProduct& product) const {
    if (deterministic_) return CUSPARSE_SPMM_COO_ALG2;
    return product.transpose_b ? CUSPARSE_SPMM_ALG_DEFAULT : CUSPARSE_SPMM_COO_ALG4;
  }

  const CusparseFunctions& cusparse_;
  const int ordinal_;
  const bool deterministic_;
  Mutex mu_;  // a handle is one thread's at a time
  cusparseHandle_t handle_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SparseLibrary>> CudaSparse(GpuRuntime& gpu, const GpuMathSettings& settings) {
  return Cusparse::Open(gpu, settings.deterministic);
}

}  // namespace weir
