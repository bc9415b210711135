#include "tests/gradients/family_cases.h"

namespace weir {

std::vector<OpCase> AllGradientCases() {
  return Joined({
      ActivationGradientCases(), ConvolutionGradientCases(),   CountingGradientCases(),    CtcGradientCases(),
      DebugGradientCases(),      DiagonalGradientCases(),      ElementwiseGradientCases(), ImageGradientCases(),
      IndexingGradientCases(),   JoiningGradientCases(),       LinalgGradientCases(),      MatMulGradientCases(),
      MovingGradientCases(),     NormalizationGradientCases(), PoolingGradientCases(),     RaggedGradientCases(),
      RankingGradientCases(),    RecurrentGradientCases(),     ReductionGradientCases(),   SegmentGradientCases(),
      ShapeGradientCases(),      SignalGradientCases(),        SlicingGradientCases(),     SoftmaxGradientCases(),
      SparseGradientCases(),     SpecialGradientCases(),
  });
}

}  // namespace weir
