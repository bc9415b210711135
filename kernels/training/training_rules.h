// Optimizers' rules: what happens to one element of a variable and its slots, on whatever device. See training.h for
// what a rule is; those that check their scalars are in cpu_proximal.cc. For host compilers and for nvcc.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/device/device_code.h"

namespace weir::rules {

template <typename C>
WEIR_DEVICE_CODE C Sign(C x) {
  return static_cast<C>(C{0} < x) - static_cast<C>(x < C{0});
}

template <typename C>
struct GradientDescent {
  static constexpr int kVariables = 1;
  template <typename Args>
  WEIR_DEVICE_CODE explicit GradientDescent(const Args& args) : lr(args.template Get<C>(0)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var) const { var -= g * lr; }
  const C lr;
};

template <typename C>
struct Momentum {
  static constexpr int kVariables = 2;
  template <typename Args>
  WEIR_DEVICE_CODE explicit Momentum(const Args& args)
      : lr(args.template Get<C>(0)), momentum(args.template Get<C>(1)), nesterov(args.flag) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& accum) const {
    accum = accum * momentum + g;
    const C plain = accum * lr, ahead = g * lr + accum * momentum * lr;
    var -= nesterov ? ahead : plain;
  }
  const C lr, momentum;
  const bool nesterov;
};

// Keras scales by the learning rate before it accumulates.
template <typename C>
struct KerasMomentum {
  static constexpr int kVariables = 2;
  template <typename Args>
  WEIR_DEVICE_CODE explicit KerasMomentum(const Args& args)
      : lr(args.template Get<C>(0)), momentum(args.template Get<C>(1)), nesterov(args.flag) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& accum) const {
    accum = accum * momentum - g * lr;
    const C ahead = accum * momentum - g * lr;
    var += nesterov ? ahead : accum;
  }
  const C lr, momentum;
  const bool nesterov;
};

template <typename C>
struct AddSign {
  static constexpr int kVariables = 2;
  template <typename Args>
  WEIR_DEVICE_CODE explicit AddSign(const Args& args)
      : lr(args.template Get<C>(0)),
        alpha(args.template Get<C>(1)),
        sign_decay(args.template Get<C>(2)),
        beta(args.template Get<C>(3)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& m) const {
    m = m * beta + g * (C{1} - beta);
    var -= lr * (alpha + sign_decay * Sign(g) * Sign(m)) * g;
  }
  const C lr, alpha, sign_decay, beta;
};

template <typename C>
struct PowerSign {
  static constexpr int kVariables = 2;
  template <typename Args>
  WEIR_DEVICE_CODE explicit PowerSign(const Args& args)
      : lr(args.template Get<C>(0)),
        logbase(args.template Get<C>(1)),
        sign_decay(args.template Get<C>(2)),
        beta(args.template Get<C>(3)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& m) const {
    m = m * beta + g * (C{1} - beta);
    var -= lr * std::exp(logbase * sign_decay * Sign(g) * Sign(m)) * g;
  }
  const C lr, logbase, sign_decay, beta;
};

template <typename C>
struct Adam {
  static constexpr int kVariables = 3;
  template <typename Args>
  WEIR_DEVICE_CODE explicit Adam(const Args& args)
      : beta1(args.template Get<C>(3)),
        beta2(args.template Get<C>(4)),
        epsilon(args.template Get<C>(5)),
        of_gradient(args.flag ? C{1} - beta1 : C{0}),
        of_momentum(args.flag ? beta1 : C{1}),
        alpha(args.template Get<C>(2) * std::sqrt(C{1} - args.template Get<C>(1)) / (C{1} - args.template Get<C>(0))) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& m, C& v) const {
    m += (g - m) * (C{1} - beta1);
    v += (g * g - v) * (C{1} - beta2);
    var -= (g * of_gradient + of_momentum * m) * alpha / (std::sqrt(v) + epsilon);
  }
  const C beta1, beta2, epsilon;
  const C of_gradient, of_momentum;  // Nesterov's step looks ahead; a branch in the loop would keep it scalar
  const C alpha;
};

template <typename C>
struct AmsGrad {
  static constexpr int kVariables = 4;
  template <typename Args>
  WEIR_DEVICE_CODE explicit AmsGrad(const Args& args)
      : beta1(args.template Get<C>(3)),
        beta2(args.template Get<C>(4)),
        epsilon(args.template Get<C>(5)),
        alpha(Adam<C>(args).alpha) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& m, C& v, C& vhat) const {
    m += (g - m) * (C{1} - beta1);
    v += (g * g - v) * (C{1} - beta2);
    vhat = std::max(vhat, v);
    var -= m * alpha / (std::sqrt(vhat) + epsilon);
  }
  const C beta1, beta2, epsilon, alpha;
};

template <typename C>
struct AdaMax {
  static constexpr int kVariables = 3;
  template <typename Args>
  WEIR_DEVICE_CODE explicit AdaMax(const Args& args)
      : rate(args.template Get<C>(1) / (C{1} - args.template Get<C>(0))),
        beta1(args.template Get<C>(2)),
        beta2(args.template Get<C>(3)),
        epsilon(args.template Get<C>(4)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& m, C& v) const {
    m += (g - m) * (C{1} - beta1);
    v = std::max(beta2 * v, std::abs(g));
    var -= rate * (m / (v + epsilon));
  }
  const C rate, beta1, beta2, epsilon;
};

template <typename C>
struct Adagrad {
  static constexpr int kVariables = 2;
  template <typename Args>
  WEIR_DEVICE_CODE explicit Adagrad(const Args& args) : lr(args.template Get<C>(0)), update_slots(args.flag) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& accum) const {
    accum += update_slots ? g * g : C{0};
    var -= g * lr / std::sqrt(accum);
  }
  const C lr;
  const bool update_slots;
};

// The minimiser of rate * (l1 |x| + l2/2 x²) + (x - at)²/2.
template <typename C>
WEIR_DEVICE_CODE C Shrink(C at, C rate, C l1, C l2) {
  const C beyond = std::abs(at) - rate * l1;
  const C shrunk = l1 > C{0} ? Sign(at) * (beyond < C{0} ? C{0} : beyond) : at;
  return shrunk / (C{1} + l2 * rate);
}

template <typename C>
struct ProximalGradientDescent {
  static constexpr int kVariables = 1;
  template <typename Args>
  WEIR_DEVICE_CODE explicit ProximalGradientDescent(const Args& args)
      : lr(args.template Get<C>(0)), l1(args.template Get<C>(1)), l2(args.template Get<C>(2)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var) const { var = Shrink(var - g * lr, lr, l1, l2); }
  const C lr, l1, l2;
};

template <typename C>
struct ProximalAdagrad {
  static constexpr int kVariables = 2;
  template <typename Args>
  WEIR_DEVICE_CODE explicit ProximalAdagrad(const Args& args)
      : lr(args.template Get<C>(0)), l1(args.template Get<C>(1)), l2(args.template Get<C>(2)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& accum) const {
    accum += g * g;
    const C rate = lr / std::sqrt(accum);
    var = Shrink(var - g * rate, rate, l1, l2);
  }
  const C lr, l1, l2;
};

template <typename C>
struct AdagradDualAveraging {
  static constexpr int kVariables = 3;
  template <typename Args>
  WEIR_DEVICE_CODE explicit AdagradDualAveraging(const Args& args)
      : lr(args.template Get<C>(0)),
        l1(args.template Get<C>(1)),
        l2(args.template Get<C>(2)),
        step(args.template Get<C>(3)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& sum, C& squared) const {
    sum += g;
    squared += g * g;
    const C shrunk = l1 > C{0} ? Sign(sum) * std::max(std::abs(sum) - l1 * step, C{0}) : sum;
    var = -lr * shrunk / (l2 * step * lr + std::sqrt(squared));
  }
  const C lr, l1, l2, step;
};

template <typename C>
struct AdagradV2 {
  static constexpr int kVariables = 2;
  template <typename Args>
  WEIR_DEVICE_CODE explicit AdagradV2(const Args& args)
      : lr(args.template Get<C>(0)), epsilon(args.template Get<C>(1)), update_slots(args.flag) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& accum) const {
    accum += update_slots ? g * g : C{0};
    var -= g * lr / (std::sqrt(accum) + epsilon);
  }
  const C lr, epsilon;
  const bool update_slots;
};

template <typename C>
struct RmsProp {
  static constexpr int kVariables = 3;
  template <typename Args>
  WEIR_DEVICE_CODE explicit RmsProp(const Args& args)
      : lr(args.template Get<C>(0)),
        rho(args.template Get<C>(1)),
        momentum(args.template Get<C>(2)),
        epsilon(args.template Get<C>(3)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& ms, C& mom) const {
    ms += (g * g - ms) * (C{1} - rho);
    mom = mom * momentum + g * lr / std::sqrt(ms + epsilon);
    var -= mom;
  }
  const C lr, rho, momentum, epsilon;
};

template <typename C>
struct CenteredRmsProp {
  static constexpr int kVariables = 4;
  template <typename Args>
  WEIR_DEVICE_CODE explicit CenteredRmsProp(const Args& args)
      : lr(args.template Get<C>(0)),
        rho(args.template Get<C>(1)),
        momentum(args.template Get<C>(2)),
        epsilon(args.template Get<C>(3)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& mg, C& ms, C& mom) const {
    ms += (g * g - ms) * (C{1} - rho);
    mg += (g - mg) * (C{1} - rho);
    mom = mom * momentum + g * lr / std::sqrt(ms - mg * mg + epsilon);
    var -= mom;
  }
  const C lr, rho, momentum, epsilon;
};

template <typename C>
struct Adadelta {
  static constexpr int kVariables = 3;
  template <typename Args>
  WEIR_DEVICE_CODE explicit Adadelta(const Args& args)
      : lr(args.template Get<C>(0)), rho(args.template Get<C>(1)), epsilon(args.template Get<C>(2)) {}
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& accum, C& accum_update) const {
    accum = accum * rho + g * g * (C{1} - rho);
    const C update = std::sqrt(accum_update + epsilon) / std::sqrt(accum + epsilon) * g;
    var -= update * lr;
    accum_update = accum_update * rho + update * update * (C{1} - rho);
  }
  const C lr, rho, epsilon;
};

// The scalars of Ftrl, and of its second version.
struct FtrlScalars {
  template <typename Args>
  WEIR_DEVICE_CODE FtrlScalars(const Args& args, bool v2)
      : lr(args.template Get<double>(0)),
        l1(args.template Get<double>(1)),
        l2(args.template Get<double>(2)),
        l2_shrinkage(v2 ? args.template Get<double>(3) : 0),
        lr_power(args.template Get<double>(v2 ? 4 : 3)) {}
  const double lr, l1, l2, l2_shrinkage, lr_power;
};

// kSqrt: the power of the learning rate is the usual -1/2, for which there is a fast function.
template <typename C, bool kV2, bool kSqrt>
struct Ftrl {
  static constexpr int kVariables = 3;
  template <typename Args>
  WEIR_DEVICE_CODE explicit Ftrl(const Args& args) : Ftrl(FtrlScalars(args, kV2), args.flag) {}
  WEIR_DEVICE_CODE Ftrl(const FtrlScalars& s, bool multiply)
      : scale(multiply ? s.lr : 1),
        inverse(multiply ? 1 : 1 / s.lr),
        l1(multiply ? s.l1 * s.lr : s.l1),
        l2(multiply ? 2 * s.l2 * s.lr : 2 * s.l2),
        l2_shrinkage(2 * s.l2_shrinkage),
        power(-s.lr_power) {}

  WEIR_DEVICE_CODE C Power(C x) const { return kSqrt ? std::sqrt(x) : std::pow(x, power); }
  WEIR_DEVICE_CODE void operator()(C g, C& var, C& accum, C& linear) const {
    const C new_accum = accum + g * g;
    const C root = Power(new_accum);
    const C step = kV2 ? g + l2_shrinkage * var : g;
    linear += step * scale - (root - Power(accum)) * inverse * var;
    const C clipped = std::min(std::max(linear, -l1), l1);
    var = (clipped - linear) / (root * inverse + l2);
    accum = new_accum;
  }
  const C scale, inverse, l1, l2, l2_shrinkage, power;
};

}  // namespace weir::rules
