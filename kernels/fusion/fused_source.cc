#include "kernels/fusion/fused_source.h"

#include <set>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"

namespace weir {
namespace {

using Access = FusedPattern::Access;
using Kind = FusedStep::Kind;

// --- Text that the host's code is made of too ---

struct Formula {
  absl::string_view op, types;
  int operands;
  absl::string_view result, text;
};
constexpr Formula kFormulas[] = {
#define WEIR_SCALAR_1(Op, types, rule, Result, ...) {#Op, #types, 1, #Result, #__VA_ARGS__},
#define WEIR_SCALAR_2(Op, types, rule, Result, ...) {#Op, #types, 2, #Result, #__VA_ARGS__},
#include "core/fusion/scalar_ops.inc"
#undef WEIR_SCALAR_1
#undef WEIR_SCALAR_2
};

#define WEIR_TEXT(...) #__VA_ARGS__
#define WEIR_SHARED_CODE(...) WEIR_TEXT(__VA_ARGS__)
#define WEIR_SHARED_FUNCTION __device__ inline
constexpr char kFunctions[] =
#include "core/fusion/scalar_functions.inc"
    ;
constexpr char kArgs[] =
#include "kernels/fusion/fused_args.inc"
    ;
#undef WEIR_SHARED_FUNCTION
#undef WEIR_SHARED_CODE
#undef WEIR_TEXT

// As cuda_fp16.h and cuda_bf16.h convert.
constexpr char kConversions[] = R"(
__device__ inline float FromHalf(unsigned short h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
__device__ inline unsigned short ToHalf(float f) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
__device__ inline float FromBfloat16(unsigned short h) { return __uint_as_float((unsigned)h << 16); }
__device__ inline unsigned short ToBfloat16(float f) {
#if __CUDA_ARCH__ >= 800
  unsigned short h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
#else
  if (f != f) return 0x7fff;
  const unsigned bits = __float_as_uint(f);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
__device__ inline float RoundHalf(float f) { return FromHalf(ToHalf(f)); }
__device__ inline float RoundBfloat16(float f) { return FromBfloat16(ToBfloat16(f)); }
)";

// --- Types ---

struct TypeText {
  absl::string_view stored, computed, load, store, round;
};
TypeText TextOf(DataType type) {
  switch (type) {
    case DT_FLOAT:
      return {"float", "float", "", "", ""};
    case DT_DOUBLE:
      return {"double", "double", "", "", ""};
    case DT_HALF:
      return {"unsigned short", "float", "FromHalf", "ToHalf", "RoundHalf"};
    case DT_BFLOAT16:
      return {"unsigned short", "float", "FromBfloat16", "ToBfloat16", "RoundBfloat16"};
    case DT_INT32:
      return {"int", "int", "", "", ""};
    case DT_INT64:
      return {"long long", "long long", "", "", ""};
    default:
      return {"bool", "bool", "", "", ""};
  }
}

absl::string_view GroupOf(DataType type) { return IsFusedFloat(type) ? "Floats" : type == DT_BOOL ? "Bools" : "Ints"; }

std::string Value(int value) { return absl::StrCat("v", value); }

// --- Steps ---

std::string Call(absl::string_view op, DataType type, const std::vector<std::string>& operands) {
  return absl::StrCat(op, "_", GroupOf(type), "(", absl::StrJoin(operands, ", "), ")");
}

// What a step makes, before it is rounded.
std::string Compute(const FusedStep& step, DataType operand) {
  std::vector<std::string> operands;
  for (const int value : step.operands) operands.push_back(Value(value));
  switch (step.kind) {
    case Kind::kCast: {
      const TypeText from = TextOf(operand), to = TextOf(step.type);
      if (step.type == DT_BOOL) return absl::StrCat(operands[0], " != (", from.computed, ")0");
      return absl::StrCat("(", to.computed, ")", operands[0]);
    }
    case Kind::kSelect:
      return absl::StrCat(operands[0], " ? ", operands[1], " : ", operands[2]);
    case Kind::kBias:
      return Call("Add", operand, operands);
    case Kind::kAddN: {
      std::string sum = operands[0];
      for (size_t i = 1; i < operands.size(); ++i) {
        if (i > 1) sum = absl::StrCat(TextOf(operand).round, "(", sum, ")");
        sum = Call("Add", operand, {sum, operands[i]});
      }
      return sum;
    }
    default:
      return Call(step.op, operand, operands);
  }
}

// The functions of the formulas that the steps call.
std::string Functions(const FusedExpression& expression) {
  std::set<std::string> called;
  for (const FusedStep& step : expression.steps) {
    const DataType operand = expression.type_of(step.operands[0]);
    const bool adds = step.kind == Kind::kBias || step.kind == Kind::kAddN;
    if (adds || step.kind == Kind::kScalar) called.insert(absl::StrCat(adds ? "Add" : step.op, "_", GroupOf(operand)));
  }
  std::string text;
  for (const Formula& formula : kFormulas) {
    const std::string name = absl::StrCat(formula.op, "_", formula.types);
    if (!called.contains(name)) continue;
    absl::StrAppend(&text, "template <typename T>\n__device__ inline ", formula.result, " ", name, "(T x",
                    formula.operands == 2 ? ", T y" : "", ") {\n  return ", formula.text, ";\n}\n");
  }
  return text;
}

// --- Elements ---

class Body {
 public:
  Body(const FusedExpression& expression, const FusedPattern& pattern, absl::string_view indent)
      : expression_(expression), pattern_(pattern), indent_(indent) {}

  // All values at element i.
  std::string Values() {
    Coordinates();
    for (size_t k = 0; k < expression_.inputs.size(); ++k) {
      const TypeText type = TextOf(expression_.inputs[k]);
      Line(absl::Substitute("const $0 v$1 = $2(((const $3*)a.inputs[$1])[$4]);", type.computed, k, type.load,
                            type.stored, Place(k, k)));
    }
    for (size_t s = 0; s < expression_.steps.size(); ++s) {
      const FusedStep& step = expression_.steps[s];
      const TypeText type = TextOf(step.type);
      Line(absl::Substitute("const $0 v$1 = $2($3);  // $4", type.computed, expression_.inputs.size() + s, type.round,
                            Compute(step, expression_.type_of(step.operands[0])), step.ToString()));
    }
    return std::move(text_);
  }

  std::string Stores() {
    for (size_t k = 0; k < expression_.outputs.size(); ++k) {
      const int value = expression_.outputs[k];
      const TypeText type = TextOf(expression_.type_of(value));
      std::vector<std::string> first;
      for (int d = 0; d < pattern_.rank; ++d) {
        if (pattern_.missing[k] >> d & 1) first.push_back(absl::StrCat("c", d, " == 0"));
      }
      const size_t tensor = expression_.inputs.size() + k, row = FusedExpression::kMostInputs + k;
      Line(absl::Substitute("$0(($1*)a.outputs[$2])[$3] = $4($5);",
                            first.empty() ? "" : absl::StrCat("if (", absl::StrJoin(first, " && "), ") "), type.stored,
                            k, Place(tensor, row), type.store, Value(value)));
    }
    return std::move(text_);
  }

 private:
  void Line(absl::string_view line) { absl::StrAppend(&text_, indent_, line, "\n"); }

  void Coordinates() {
    if (pattern_.rank == 0) return;
    Line("Index rest = i;");
    for (int d = pattern_.rank - 1; d > 0; --d) {
      Line(absl::Substitute("const Index c$0 = rest % (Index)a.sizes[$0];", d));
      Line(absl::Substitute("rest /= (Index)a.sizes[$0];", d));
    }
    Line("const Index c0 = rest;");
  }

  // Where a tensor's element lies, whose steps are that row of FusedArgs.
  std::string Place(size_t tensor, size_t row) const {
    if (pattern_.accesses[tensor] == Access::kDense) return "i";
    if (pattern_.accesses[tensor] == Access::kScalar) return "0";
    std::vector<std::string> parts;
    for (int d = 0; d < pattern_.rank; ++d) parts.push_back(absl::Substitute("c$0 * (Index)a.steps[$1][$0]", d, row));
    return absl::StrJoin(parts, " + ");
  }

  const FusedExpression& expression_;
  const FusedPattern& pattern_;
  const absl::string_view indent_;
  std::string text_;
};

std::string ElementKernel(const FusedExpression& expression, const FusedPattern& pattern) {
  return absl::Substitute(
      R"(extern "C" __global__ void __launch_bounds__($0) $1(const FusedArgs a) {
  const long long stride = $0LL * gridDim.x;
  for (long long place = $0LL * blockIdx.x + threadIdx.x; place < a.count; place += stride) {
    const Index i = (Index)place;
$2$3  }
}
)",
      kFusedThreads, kFusedKernelName, Body(expression, pattern, "    ").Values(),
      Body(expression, pattern, "    ").Stores());
}

// --- Reductions, in the order of the kernels of run_bodies_cuda.h ---

std::string FirstOf(const std::string& fold, DataType type) {
  if (fold != "Max" && fold != "Min") return "0";
  if (type == DT_INT64) return fold == "Max" ? "-9223372036854775807LL - 1" : "9223372036854775807LL";
  return absl::StrCat(fold == "Max" ? "-" : "",
                      type == DT_DOUBLE ? "__longlong_as_double(0x7ff0000000000000LL)" : "__int_as_float(0x7f800000)");
}

std::string FoldKernel(const FusedExpression& expression, const FusedPattern& pattern) {
  const int value = expression.outputs[0];
  const DataType type = expression.type_of(value);
  const TypeText text = TextOf(type);
  const absl::string_view combined = expression.fold == "Max"   ? "a > b || a != a ? a : b"
                                     : expression.fold == "Min" ? "a < b || a != a ? a : b"
                                                                : "a + b";
  return absl::Substitute(
      R"(__device__ inline $0 Combine($0 a, $0 b) { return $1; }
extern "C" __global__ void __launch_bounds__($2) $3(const FusedArgs a) {
  __shared__ $0 folded[$2];
  for (long long place = blockIdx.x; place < a.count; place += gridDim.x) {
    $0 own = $4;
    for (long long j = threadIdx.x; j < a.length; j += $2) {
      const Index i = (Index)(place * a.length + j);
$5      own = Combine(own, $6);
    }
    folded[threadIdx.x] = own;
    __syncthreads();
    for (int half = $2 / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) folded[threadIdx.x] = Combine(folded[threadIdx.x], folded[threadIdx.x + half]);
      __syncthreads();
    }
    if (threadIdx.x == 0) (($7*)a.outputs[0])[place] = $8(folded[0]$9);
    __syncthreads();
  }
}
)",
      text.computed, combined, kFusedThreads, kFusedKernelName, FirstOf(expression.fold, type),
      Body(expression, pattern, "      ").Values(), Value(value), text.stored, text.store,
      expression.fold == "Mean" ? absl::StrCat(" / (", text.computed, ")a.length") : "");
}

}  // namespace

std::string SourceOfFused(const FusedExpression& expression, const FusedPattern& pattern) {
  return absl::StrCat("typedef ", pattern.wide ? "long long" : "unsigned", " Index;\n", kArgs, "\n", kFunctions,
                      kConversions, Functions(expression),
                      pattern.folds ? FoldKernel(expression, pattern) : ElementKernel(expression, pattern));
}

}  // namespace weir
