// cuBLASLt's functions, found when the process first asks for them: no program needs libcublasLt to start.
#pragma once

#include <cublasLt.h>

#include "core/status.h"

namespace weir {

struct CublasLtFunctions {
  decltype(&::cublasLtGetStatusName) GetStatusName;
  decltype(&::cublasLtCreate) Create;
  decltype(&::cublasLtDestroy) Destroy;
  decltype(&::cublasLtMatrixLayoutCreate) MatrixLayoutCreate;
  decltype(&::cublasLtMatrixLayoutDestroy) MatrixLayoutDestroy;
  decltype(&::cublasLtMatrixLayoutSetAttribute) MatrixLayoutSetAttribute;
  decltype(&::cublasLtMatmulDescCreate) MatmulDescCreate;
  decltype(&::cublasLtMatmulDescDestroy) MatmulDescDestroy;
  decltype(&::cublasLtMatmulDescSetAttribute) MatmulDescSetAttribute;
  decltype(&::cublasLtMatmulPreferenceCreate) MatmulPreferenceCreate;
  decltype(&::cublasLtMatmulPreferenceDestroy) MatmulPreferenceDestroy;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) MatmulPreferenceSetAttribute;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) MatmulAlgoGetHeuristic;
  decltype(&::cublasLtMatmul) Matmul;
};

// Of libcublasLt.so.13 on the loader's path, or else of the one that the build found. It stays loaded. UNAVAILABLE,
// with the loader's reason, where there is none.
absl::StatusOr<const CublasLtFunctions*> LoadCublasLt();

}  // namespace weir
