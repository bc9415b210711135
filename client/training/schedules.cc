#include "client/training/schedules.h"

#include <cmath>

#include "client/ops.h"

namespace weir::schedules {
namespace {

constexpr double kPi = 3.14159265358979323846;

Output AsFloat(const Scope& scope, const Output& step) {
  return step.type() == DT_FLOAT ? step : ops::Cast(scope, step, DT_FLOAT);
}

Output Quotient(const Scope& scope, const Output& step, double decay_steps, bool staircase) {
  const Output quotient = ops::Div(scope, AsFloat(scope, step), decay_steps);
  return staircase ? ops::Floor(scope, quotient) : quotient;
}

// One at 0, zero at 1.
Output HalfCosine(const Scope& scope, const Output& fraction) {
  return ops::Mul(scope, ops::AddV2(scope, ops::Cos(scope, ops::Mul(scope, fraction, kPi)), 1.0), 0.5);
}

Output InvalidSchedule(const Scope& scope, const char* what) {
  scope.UpdateStatus(errors::InvalidArgument("A learning rate schedule: ", what));
  return Output();
}

// The current period of a schedule with restarts, and the fraction of it that has passed.
struct Period {
  Output number, fraction;
};

Period PeriodOf(const Scope& scope, const Output& completed, double t_mul) {
  if (t_mul == 1) {
    const Output number = ops::Floor(scope, completed);
    return {number, ops::Sub(scope, completed, number)};
  }
  // Periods of lengths 1, t, t², … begin at (t^n - 1) / (t - 1).
  const Output grown = ops::AddV2(scope, ops::Mul(scope, completed, t_mul - 1), 1.0);
  const Output number = ops::Floor(scope, ops::Div(scope, ops::Log(scope, grown), std::log(t_mul)));
  const Output length = ops::Pow(scope, t_mul, number);
  const Output begin = ops::Div(scope, ops::Sub(scope, length, 1.0), t_mul - 1);
  return {number, ops::Div(scope, ops::Sub(scope, completed, begin), length)};
}

}  // namespace

Schedule ExponentialDecay(double initial, double decay_steps, double decay_rate, bool staircase) {
  return [=](const Scope& scope, const Output& step) {
    return ops::Mul(scope, ops::Pow(scope, decay_rate, Quotient(scope, step, decay_steps, staircase)), initial);
  };
}

Schedule PolynomialDecay(double initial, double decay_steps, double end, double power, bool cycle) {
  return [=](const Scope& scope, const Output& step) {
    const Output quotient = Quotient(scope, step, decay_steps, false);
    // Within a cycle its end is the next whole number; at step 0 the first.
    const Output fraction = cycle ? ops::Div(scope, quotient, ops::Maximum(scope, ops::Ceil(scope, quotient), 1.0))
                                  : ops::Minimum(scope, quotient, 1.0);
    const Output left = ops::Pow(scope, ops::Sub(scope, 1.0, fraction), power);
    return ops::AddV2(scope, ops::Mul(scope, left, initial - end), end);
  };
}

Schedule PiecewiseConstant(std::vector<int64_t> boundaries, std::vector<double> values) {
  return [boundaries = std::move(boundaries), values = std::move(values)](const Scope& scope, const Output& step) {
    if (values.size() != boundaries.size() + 1)
      return InvalidSchedule(scope, "expected one value more than boundaries");
    const std::vector<float> rates(values.begin(), values.end());
    const Output passed = ops::Greater(scope, ops::Cast(scope, step, DT_INT64), Tensor::Vector<int64_t>(boundaries));
    const Output index = ops::Sum(scope, ops::Cast(scope, passed, DT_INT32), Tensor::Scalar<int32_t>(0));
    return ops::GatherV2(scope, Tensor::Vector<float>(rates), index, Tensor::Scalar<int32_t>(0));
  };
}

Schedule InverseTimeDecay(double initial, double decay_steps, double decay_rate, bool staircase) {
  return [=](const Scope& scope, const Output& step) {
    const Output decay = ops::Mul(scope, Quotient(scope, step, decay_steps, staircase), decay_rate);
    return ops::Div(scope, initial, ops::AddV2(scope, decay, 1.0));
  };
}

Schedule CosineDecay(double initial, double decay_steps, double alpha) {
  return [=](const Scope& scope, const Output& step) {
    const Output fraction = ops::Minimum(scope, Quotient(scope, step, decay_steps, false), 1.0);
    const Output decayed = ops::AddV2(scope, ops::Mul(scope, HalfCosine(scope, fraction), 1 - alpha), alpha);
    return ops::Mul(scope, decayed, initial);
  };
}

Schedule CosineDecayRestarts(double initial, double first_decay_steps, double t_mul, double m_mul, double alpha) {
  return [=](const Scope& scope, const Output& step) {
    if (t_mul < 1) return InvalidSchedule(scope, "t_mul must be at least 1");
    const Period period = PeriodOf(scope, Quotient(scope, step, first_decay_steps, false), t_mul);
    const Output height = ops::Pow(scope, m_mul, period.number);
    const Output cosine = ops::Mul(scope, height, HalfCosine(scope, period.fraction));
    return ops::Mul(scope, ops::AddV2(scope, ops::Mul(scope, cosine, 1 - alpha), alpha), initial);
  };
}

Schedule LinearWarmup(double start, double target, double warmup_steps, Schedule after) {
  return [=, after = std::move(after)](const Scope& scope, const Output& step) {
    const Output now = AsFloat(scope, step);
    const Output fraction = ops::Div(scope, now, warmup_steps);
    const Output rising = ops::AddV2(scope, ops::Mul(scope, fraction, target - start), start);
    const Output later = after(scope, ops::Maximum(scope, ops::Sub(scope, now, warmup_steps), 0.0));
    return ops::SelectV2(scope, ops::Less(scope, now, warmup_steps), rising, later);
  };
}

Output LearningRate(const Scope& scope, const Schedule& schedule, const ResourceVariable& global_step) {
  return schedule(scope.SubScope("learning_rate"), global_step.value());
}

}  // namespace weir::schedules
