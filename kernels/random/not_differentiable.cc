// The ops of this family through which no gradient flows.
#include "kernels/random/family.h"

namespace weir {

absl::Status RegisterRandomNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"Multinomial",
                         "NonDeterministicInts",
                         "ParameterizedTruncatedNormal",
                         "RandomIndexShuffle",
                         "RandomShuffle",
                         "RandomStandardNormal",
                         "RandomUniform",
                         "RandomUniformInt",
                         "StatefulStandardNormal",
                         "StatefulStandardNormalV2",
                         "StatefulTruncatedNormal",
                         "StatefulUniform",
                         "StatefulUniformFullInt",
                         "StatefulUniformInt",
                         "StatelessMultinomial",
                         "StatelessRandomBinomial",
                         "StatelessRandomNormal",
                         "StatelessRandomNormalV2",
                         "StatelessRandomPoisson",
                         "StatelessRandomUniform",
                         "StatelessRandomUniformFullInt",
                         "StatelessRandomUniformFullIntV2",
                         "StatelessRandomUniformInt",
                         "StatelessRandomUniformIntV2",
                         "StatelessRandomUniformV2",
                         "StatelessTruncatedNormal",
                         "StatelessTruncatedNormalV2",
                         "TruncatedNormal"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
