#include "kernels/linalg/matmul/matmul_choices.h"

#include "absl/strings/str_cat.h"

namespace weir {

absl::StatusOr<MatMulChoice> MatMulChoices::Find(const MatMulProblem& problem,
                                                 absl::FunctionRef<absl::StatusOr<MatMulChoice>()> choose) {
  {
    MutexLock lock(mu_);
    if (const auto found = known_.find(problem); found != known_.end()) return found->second;
  }
  absl::StatusOr<MatMulChoice> choice = choose();
  if (!choice.ok() && !absl::IsUnimplemented(choice.status())) return choice;
  MutexLock lock(mu_);
  if (known_.size() >= kMostProblems) known_.clear();
  known_.insert_or_assign(problem, choice);
  return choice;
}

std::string MatMulChoices::DebugString() const {
  MutexLock lock(mu_);
  return absl::StrCat("how ", known_.size(), " products are computed");
}

}  // namespace weir
