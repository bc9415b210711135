// The tables of kernels/**/gradients_test.cc: ops whose gradients are compared with numeric ones.
#pragma once

#include <vector>

#include "tests/gradients/op_case.h"

namespace weir {

std::vector<OpCase> ActivationGradientCases();
std::vector<OpCase> ConvolutionGradientCases();
std::vector<OpCase> CountingGradientCases();
std::vector<OpCase> CtcGradientCases();
std::vector<OpCase> DebugGradientCases();
std::vector<OpCase> DiagonalGradientCases();
std::vector<OpCase> ElementwiseGradientCases();
std::vector<OpCase> ImageGradientCases();
std::vector<OpCase> IndexingGradientCases();
std::vector<OpCase> JoiningGradientCases();
std::vector<OpCase> LinalgGradientCases();
std::vector<OpCase> MatMulGradientCases();
std::vector<OpCase> MovingGradientCases();
std::vector<OpCase> NormalizationGradientCases();
std::vector<OpCase> PoolingGradientCases();
std::vector<OpCase> RaggedGradientCases();
std::vector<OpCase> RankingGradientCases();
std::vector<OpCase> RecurrentGradientCases();
std::vector<OpCase> ReductionGradientCases();
std::vector<OpCase> SegmentGradientCases();
std::vector<OpCase> ShapeGradientCases();
std::vector<OpCase> SignalGradientCases();
std::vector<OpCase> SlicingGradientCases();
std::vector<OpCase> SoftmaxGradientCases();
std::vector<OpCase> SparseGradientCases();
std::vector<OpCase> SpecialGradientCases();

// All of them.
std::vector<OpCase> AllGradientCases();

}  // namespace weir
