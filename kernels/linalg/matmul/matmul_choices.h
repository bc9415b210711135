// The algorithms that a library chose, by product.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/device/resource_manager.h"
#include "core/mutex.h"
#include "kernels/linalg/matmul/device.h"

namespace weir {

// To ask the library takes longer than a small product. Thread-safe. Of one device.
class MatMulChoices : public Resource {
 public:
  // Beyond so many problems all are forgotten: shapes that change with every step would grow without end.
  static constexpr size_t kMostProblems = 4096;

  // Asks `choose` the first time. That there is none (UNIMPLEMENTED) is remembered too; other errors are not.
  absl::StatusOr<MatMulChoice> Find(const MatMulProblem& problem,
                                    absl::FunctionRef<absl::StatusOr<MatMulChoice>()> choose);
  std::string DebugString() const override;

 private:
  mutable Mutex mu_;
  absl::flat_hash_map<MatMulProblem, absl::StatusOr<MatMulChoice>> known_ GUARDED_BY(mu_);
};

}  // namespace weir
