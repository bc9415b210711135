// Adamax, Nadam and Lamb.
#include <memory>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/optimizers/moments.h"

namespace weir {
namespace {

class Adamax : public DenseOptimizer {
 public:
  explicit Adamax(const AdamaxOptions& options)
      : DenseOptimizer("Adamax"), options_(options), powers_(options.beta1, options.beta2) {
    SetWeightDecay(options.weight_decay, options.learning_rate);
  }

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"m"}, {"v"}}; }
  void Prepare(const Scope& scope, const ResourceVariable& first) override { powers_.Make(scope, first); }
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    return ops::ResourceApplyAdaMax(scope, variable.handle(), Slot(variable, "m").handle(),
                                    Slot(variable, "v").handle(), powers_.power1().value(), options_.learning_rate,
                                    options_.beta1, options_.beta2, options_.epsilon, gradient);
  }
  std::vector<Operation> Finish(const Scope& scope) override { return powers_.Advance(scope); }

 private:
  const AdamaxOptions options_;
  BetaPowers powers_;
};

// Keras's schedule of momentum: mu(t) = beta1 (1 - 0.5 · 0.96^t).
class Nadam : public DenseOptimizer {
 public:
  explicit Nadam(const NadamOptions& options)
      : DenseOptimizer("Nadam"), options_(options), powers_(options.beta1, options.beta2) {
    SetWeightDecay(options.weight_decay, options.learning_rate);
  }

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"m"}, {"v"}}; }
  void Prepare(const Scope& scope, const ResourceVariable& first) override {
    powers_.Make(scope, first);
    const Scope beside = scope.Root().ColocateWith(first.handle().op());
    decay_ = ResourceVariable::Make(beside.WithName("Nadam/decay"), TensorShape(), first.dtype(),
                                    initializers::Constant(kDecay), {.trainable = false});
    product_ = ResourceVariable::Make(beside.WithName("Nadam/momentum_product"), TensorShape(), first.dtype(),
                                      initializers::Ones(), {.trainable = false});
  }
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    const Output one = scope.Constant(1.0, variable.dtype());
    const Output m = UpdateMoment(scope, Slot(variable, "m"), options_.beta1, gradient);
    const Output v = UpdateMoment(scope, Slot(variable, "v"), options_.beta2, ops::Square(scope, gradient));
    const Output now = MomentumNow(scope), next = Momentum(scope, ops::Mul(scope, decay_.value(), kDecay));
    const Output product = ops::Mul(scope, product_.value(), now), next_product = ops::Mul(scope, product, next);
    const Output of_m = ops::RealDiv(scope, ops::Mul(scope, next, m), ops::Sub(scope, one, next_product));
    const Output of_g =
        ops::RealDiv(scope, ops::Mul(scope, ops::Sub(scope, one, now), gradient), ops::Sub(scope, one, product));
    const Output root = ops::Sqrt(scope, ops::RealDiv(scope, v, powers_.Correction2(scope)));
    const Output update = ops::RealDiv(scope, ops::Mul(scope, ops::AddV2(scope, of_m, of_g), options_.learning_rate),
                                       ops::AddV2(scope, root, options_.epsilon));
    return ops::AssignSubVariableOp(scope, variable.handle(), update);
  }
  std::vector<Operation> Finish(const Scope& scope) override {
    const Scope beside = scope.ColocateWith(product_.handle().op());
    std::vector<Operation> last = powers_.Advance(scope);
    last.push_back(product_.Assign(beside, ops::Mul(beside, product_.value(), MomentumNow(beside))));
    // The products above read 0.96^t.
    const Scope then = beside.WithControlDependencies(last);
    last.push_back(decay_.Assign(then, ops::Mul(beside, decay_.value(), kDecay)));
    return last;
  }

 private:
  static constexpr double kDecay = 0.96;
  // For 0.96^t.
  Output Momentum(const Scope& scope, const Output& decay) const {
    const Output share = ops::Sub(scope, scope.Constant(1.0, decay.type()), ops::Mul(scope, decay, 0.5));
    return ops::Mul(scope, share, options_.beta1);
  }
  Output MomentumNow(const Scope& scope) const { return Momentum(scope, decay_.value()); }

  const NadamOptions options_;
  BetaPowers powers_;
  ResourceVariable decay_, product_;
};

class Lamb : public DenseOptimizer {
 public:
  explicit Lamb(const LambOptions& options)
      : DenseOptimizer("Lamb"), options_(options), powers_(options.beta1, options.beta2) {}

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"m"}, {"v"}}; }
  void Prepare(const Scope& scope, const ResourceVariable& first) override { powers_.Make(scope, first); }
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    const Output m = UpdateMoment(scope, Slot(variable, "m"), options_.beta1, gradient);
    const Output v = UpdateMoment(scope, Slot(variable, "v"), options_.beta2, ops::Square(scope, gradient));
    const Output root = ops::Sqrt(scope, ops::RealDiv(scope, v, powers_.Correction2(scope)));
    Output update = ops::RealDiv(scope, ops::RealDiv(scope, m, powers_.Correction1(scope)),
                                 ops::AddV2(scope, root, options_.epsilon));
    const Output w = variable.Read(scope.WithControlDependencies(std::vector<Output>{gradient}));
    if (Decays(options_.weight_decay, variable)) {
      update = ops::AddV2(scope, update, ops::Mul(scope, w, options_.weight_decay.rate));
    }
    const Output step = ops::Mul(scope, update, ops::Mul(scope, Trust(scope, w, update), options_.learning_rate));
    return ops::AssignSubVariableOp(scope, variable.handle(), step);
  }
  std::vector<Operation> Finish(const Scope& scope) override { return powers_.Advance(scope); }

 private:
  static Output Norm(const Scope& scope, const Output& x) {
    return ops::Sqrt(scope, ops::Mul(scope, ops::L2Loss(scope, x), 2.0));
  }
  // |w| / |u|, or 1 if either is 0.
  static Output Trust(const Scope& scope, const Output& w, const Output& update) {
    const Output weight = Norm(scope, w), size = Norm(scope, update);
    const Output zero = scope.Constant(0.0, w.type()), one = scope.Constant(1.0, w.type());
    const Output both = ops::LogicalAnd(scope, ops::Greater(scope, weight, zero), ops::Greater(scope, size, zero));
    return ops::SelectV2(scope, both, ops::DivNoNan(scope, weight, size), one);
  }

  const LambOptions options_;
  BetaPowers powers_;
};

}  // namespace

std::unique_ptr<Optimizer> AdamaxOptimizer(const AdamaxOptions& options) { return std::make_unique<Adamax>(options); }
std::unique_ptr<Optimizer> NadamOptimizer(const NadamOptions& options) { return std::make_unique<Nadam>(options); }
std::unique_ptr<Optimizer> LambOptimizer(const LambOptions& options) { return std::make_unique<Lamb>(options); }

}  // namespace weir
