#include "core/shared_library.h"
#include "kernels/linalg/matmul/cublas_lt_functions.h"

namespace weir {
namespace {

absl::StatusOr<CublasLtFunctions> Load() {
  ASSIGN_OR_RETURN(const SharedLibrary library,
                   SharedLibrary::Open("cuBLASLt", {"libcublasLt.so.13", WEIR_CUBLASLT_LIBRARY}));
  CublasLtFunctions f = {};
  RETURN_IF_ERROR(library.Find({{"cublasLtGetStatusName", &f.GetStatusName},
                                {"cublasLtCreate", &f.Create},
                                {"cublasLtDestroy", &f.Destroy},
                                {"cublasLtMatrixLayoutCreate", &f.MatrixLayoutCreate},
                                {"cublasLtMatrixLayoutDestroy", &f.MatrixLayoutDestroy},
                                {"cublasLtMatrixLayoutSetAttribute", &f.MatrixLayoutSetAttribute},
                                {"cublasLtMatmulDescCreate", &f.MatmulDescCreate},
                                {"cublasLtMatmulDescDestroy", &f.MatmulDescDestroy},
                                {"cublasLtMatmulDescSetAttribute", &f.MatmulDescSetAttribute},
                                {"cublasLtMatmulPreferenceCreate", &f.MatmulPreferenceCreate},
                                {"cublasLtMatmulPreferenceDestroy", &f.MatmulPreferenceDestroy},
                                {"cublasLtMatmulPreferenceSetAttribute", &f.MatmulPreferenceSetAttribute},
                                {"cublasLtMatmulAlgoGetHeuristic", &f.MatmulAlgoGetHeuristic},
                                {"cublasLtMatmul", &f.Matmul}}));
  return f;
}

}  // namespace

absl::StatusOr<const CublasLtFunctions*> LoadCublasLt() {
  static const auto* const loaded = new absl::StatusOr<CublasLtFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace weir
