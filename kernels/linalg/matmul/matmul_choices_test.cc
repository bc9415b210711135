#include "kernels/linalg/matmul/matmul_choices.h"

#include "core/testing.h"

namespace weir {
namespace {

class MatMulChoicesTest : public testing::Test {
 protected:
  absl::StatusOr<size_t> Find(const MatMulProblem& problem, absl::StatusOr<MatMulChoice> answer) {
    ASSIGN_OR_RETURN(const MatMulChoice choice, choices_.Find(problem, [&] {
      ++num_asked_;
      return answer;
    }));
    return choice.workspace_bytes;
  }

  MatMulChoices choices_;
  int num_asked_ = 0;
};

TEST_F(MatMulChoicesTest, TheLibraryIsAskedOnceForEachProblem) {
  MatMulProblem problem{.m = 2, .n = 3, .k = 4};
  ASSERT_OK_AND_ASSIGN(size_t found, Find(problem, MatMulChoice{.workspace_bytes = 7}));
  EXPECT_EQ(found, 7);
  ASSERT_OK_AND_ASSIGN(found, Find(problem, MatMulChoice{.workspace_bytes = 8}));
  EXPECT_EQ(found, 7);
  problem.a_alignment = 16;
  ASSERT_OK_AND_ASSIGN(found, Find(problem, MatMulChoice{.workspace_bytes = 8}));
  EXPECT_EQ(found, 8);
  EXPECT_EQ(num_asked_, 2);
}

TEST_F(MatMulChoicesTest, WhatCannotBeDoneIsRememberedAndWhatFailsIsNot) {
  const MatMulProblem problem{.m = 2, .n = 3, .k = 4};
  EXPECT_THAT(Find(problem, errors::Internal("no driver")), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(Find(problem, errors::Unimplemented("no epilogue")), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(Find(problem, MatMulChoice()), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(num_asked_, 2);
}

TEST_F(MatMulChoicesTest, ShapesWithoutEndAreForgotten) {
  for (size_t i = 0; i <= MatMulChoices::kMostProblems; ++i) {
    ASSERT_THAT(Find({.m = static_cast<int64_t>(i) + 1, .n = 1, .k = 1}, MatMulChoice()), IsOk());
  }
  EXPECT_EQ(choices_.DebugString(), "how 1 products are computed");
}

}  // namespace
}  // namespace weir
