// Interprets a fused expression on the simulated device, in place of a compiled kernel.
#pragma once

#include <memory>
#include <vector>

#include "core/fusion/fused_expression.h"
#include "kernels/fusion/fused_args.h"
#include "kernels/fusion/fused_layout.h"

namespace weir {

// One element, as it is computed with: 16-bit floats as float.
union FusedValue {
  float f;
  double d;
  int32_t i32;
  long long i64;
  bool b;
};

// An expression with the host's code of its steps, for one pattern. It interprets what the compiled kernel does: the
// formulas are the same text (core/fusion/scalar_ops.inc).
class FusedProgram {
 public:
  FusedProgram(FusedExpression expression, FusedPattern pattern);

  // A GpuKernel's `simulate`: `args` are FusedArgs, with the program that they name.
  static void Simulate(const void* args);

 private:
  using Run = void (*)(const FusedValue* operands, FusedValue* result);
  struct Step {
    Run run;
    std::vector<int> operands;
    DataType type;
    bool adds_up;  // AddN: `run` adds two
  };

  void RunElements(const FusedArgs& args) const;
  void RunFold(const FusedArgs& args) const;
  // All values at element i.
  void Compute(const FusedArgs& args, int64_t i, FusedValue* values) const;
  void Store(const FusedArgs& args, int64_t i, size_t output, FusedValue value) const;
  int64_t Locate(const FusedArgs& args, FusedPattern::Access access, const long long* steps, int64_t i) const;

  const FusedExpression expression_;
  const FusedPattern pattern_;
  std::vector<Step> steps_;
};

}  // namespace weir
