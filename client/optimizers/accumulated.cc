// Adadelta and FTRL, whose slots add up past gradients.
#include <memory>

#include "client/ops.h"
#include "client/optimizer.h"

namespace weir {
namespace {

class Adadelta : public SlotOptimizer {
 public:
  explicit Adadelta(const AdadeltaOptions& options) : SlotOptimizer("Adadelta"), options_(options) {
    SetWeightDecay(options.weight_decay, options.learning_rate);
  }

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"accum"}, {"accum_update"}}; }
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    return ops::ResourceApplyAdadelta(scope, variable.handle(), Slot(variable, "accum").handle(),
                                      Slot(variable, "accum_update").handle(), options_.learning_rate, options_.rho,
                                      options_.epsilon, gradient);
  }
  Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                        const Output& indices) override {
    return ops::ResourceSparseApplyAdadelta(scope, variable.handle(), Slot(variable, "accum").handle(),
                                            Slot(variable, "accum_update").handle(), options_.learning_rate,
                                            options_.rho, options_.epsilon, gradient, indices);
  }

 private:
  const AdadeltaOptions options_;
};

class Ftrl : public SlotOptimizer {
 public:
  explicit Ftrl(const FtrlOptions& options) : SlotOptimizer("Ftrl"), options_(options) {}

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"accum", options_.initial_accumulator_value}, {"linear"}}; }
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    return ops::ResourceApplyFtrlV2(scope, variable.handle(), Slot(variable, "accum").handle(),
                                    Slot(variable, "linear").handle(), gradient, options_.learning_rate, options_.l1,
                                    options_.l2, options_.l2_shrinkage, options_.learning_rate_power);
  }
  Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                        const Output& indices) override {
    return ops::ResourceSparseApplyFtrlV2(
        scope, variable.handle(), Slot(variable, "accum").handle(), Slot(variable, "linear").handle(), gradient,
        indices, options_.learning_rate, options_.l1, options_.l2, options_.l2_shrinkage, options_.learning_rate_power);
  }

 private:
  const FtrlOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> AdadeltaOptimizer(const AdadeltaOptions& options) {
  return std::make_unique<Adadelta>(options);
}
std::unique_ptr<Optimizer> FtrlOptimizer(const FtrlOptions& options) { return std::make_unique<Ftrl>(options); }

}  // namespace weir
