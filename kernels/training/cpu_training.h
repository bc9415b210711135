// Optimizer updates. A rule says what happens to one element of a variable and its slots; reading inputs, checking
// shapes, locks, rows of sparse gradients and threads are handled here, once for all rules and types.
#pragma once

#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <type_traits>

#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "core/tensor/numeric_types.h"

namespace weir {

class Indices;
class LockedVariables;

// What an update is given besides tensors: its scalar inputs in the order of the op's arguments, and its one boolean
// attribute (use_nesterov, update_slots, multiply_linear_by_lr).
struct RuleArgs {
  static constexpr int kMaxScalars = 8;

  // Scalar `i` in the type that a rule computes in.
  template <typename C>
  C Get(int i) const {
    if constexpr (std::is_floating_point_v<C>) {
      return static_cast<C>(scalars[i].real());
    } else {
      return static_cast<C>(scalars[i]);
    }
  }

  std::complex<double> scalars[kMaxScalars] = {};
  bool flag = false;
};

// Updates n elements of the variables from n elements of the gradient.
using RuleLoop = void (*)(const RuleArgs& args, void* const* variables, const void* gradient, int64_t n);
// Refuses scalars that the rule has no meaning for.
using RuleCheck = absl::Status (*)(const RuleArgs& args);

// Dense and sparse, on references and on resources, by the op's arguments. Inputs: the variable and its slots first,
// then scalars, the gradient ("grad" or "delta") and, for a sparse one, "indices" of the rows that it is for, in any
// order. Rows are updated in the order of their indices, so a row that is named twice is updated twice.
class TrainingKernel : public OpKernel {
 public:
  TrainingKernel(RuleLoop loop, RuleCheck check) : loop_(loop), check_(check) {}
  absl::Status Init(OpKernelConstruction& ctx) override;
  absl::Status Compute(OpKernelContext& ctx) override;

 private:
  absl::StatusOr<RuleArgs> ReadScalars(OpKernelContext& ctx) const;
  absl::Status UpdateAll(OpKernelContext& ctx, const RuleArgs& args, LockedVariables& variables,
                         const Tensor& gradient) const;
  absl::Status UpdateRows(OpKernelContext& ctx, const RuleArgs& args, LockedVariables& variables,
                          const Tensor& gradient, const Indices& indices) const;
  absl::Status CheckSparse(const TensorShape& shape, const Tensor& gradient, const TensorShape& indices) const;

  const RuleLoop loop_;
  const RuleCheck check_;  // or nullptr
  DataType dtype_ = DT_INVALID;
  int num_variables_ = 0;
  int gradient_ = -1, indices_ = -1;
  std::vector<int> scalars_;
  std::vector<std::string> names_;  // of the op's arguments
  bool flag_ = false;
};

// --- Loops from rules ---

// A rule R<C> computes in type C. It is made from RuleArgs, has kVariables, and is called with one element of the
// gradient and a reference to one of each variable.
template <template <typename> class Rule, typename T>
void RunRule(const RuleArgs& args, void* const* variables, const void* gradient, int64_t n) {
  using C = AccumulatorT<T>;
  constexpr int kVariables = Rule<C>::kVariables;
  const Rule<C> rule(args);
  const T* const g = static_cast<const T*>(gradient);
  T* v[kVariables];
  for (int k = 0; k < kVariables; ++k) v[k] = static_cast<T*>(variables[k]);
  T* const v0 = v[0];
  if constexpr (kVariables == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      C a = static_cast<C>(v0[i]);
      rule(static_cast<C>(g[i]), a);
      v0[i] = static_cast<T>(a);
    }
  } else if constexpr (kVariables == 2) {
    T* const v1 = v[1];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      C a = static_cast<C>(v0[i]), b = static_cast<C>(v1[i]);
      rule(static_cast<C>(g[i]), a, b);
      v0[i] = static_cast<T>(a), v1[i] = static_cast<T>(b);
    }
  } else if constexpr (kVariables == 3) {
    T* const v1 = v[1];
    T* const v2 = v[2];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      C a = static_cast<C>(v0[i]), b = static_cast<C>(v1[i]), c = static_cast<C>(v2[i]);
      rule(static_cast<C>(g[i]), a, b, c);
      v0[i] = static_cast<T>(a), v1[i] = static_cast<T>(b), v2[i] = static_cast<T>(c);
    }
  } else {
    T* const v1 = v[1];
    T* const v2 = v[2];
    T* const v3 = v[3];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      C a = static_cast<C>(v0[i]), b = static_cast<C>(v1[i]), c = static_cast<C>(v2[i]), d = static_cast<C>(v3[i]);
      rule(static_cast<C>(g[i]), a, b, c, d);
      v0[i] = static_cast<T>(a), v1[i] = static_cast<T>(b), v2[i] = static_cast<T>(c), v3[i] = static_cast<T>(d);
    }
  }
}

template <template <typename> class Rule, typename T>
std::unique_ptr<OpKernel> MakeTrainingKernel() {
  RuleCheck check = nullptr;
  if constexpr (requires { &Rule<AccumulatorT<T>>::Check; }) check = &Rule<AccumulatorT<T>>::Check;
  return std::make_unique<TrainingKernel>(&RunRule<Rule, T>, check);
}

#define WEIR_REGISTER(T) RETURN_IF_ERROR(kernels.Register(Kernel(op).Cpu().Type<T>("T"), &MakeTrainingKernel<Rule, T>));
template <template <typename> class Rule>
absl::Status RegisterRule(KernelRegistry& kernels, absl::Span<const char* const> ops) {
  for (const char* op : ops) {
    WEIR_FOR_FLOATS(WEIR_REGISTER)
  }
  return absl::OkStatus();
}

// For complex variables too.
template <template <typename> class Rule>
absl::Status RegisterComplexRule(KernelRegistry& kernels, absl::Span<const char* const> ops) {
  RETURN_IF_ERROR(RegisterRule<Rule>(kernels, ops));
  for (const char* op : ops) {
    WEIR_FOR_COMPLEX(WEIR_REGISTER)
  }
  return absl::OkStatus();
}
#undef WEIR_REGISTER

// Rules for float numbers, for those who keep variables in other places than tensors. Scalars are in the order of the
// ops' arguments.
struct FloatRule {
  RuleLoop loop;
  RuleCheck check;  // or nullptr
};
FloatRule GradientDescentRule();
FloatRule AdagradRule();
FloatRule AdamRule();
FloatRule FtrlRule();

// The parts of RegisterTrainingKernels.

}  // namespace weir
