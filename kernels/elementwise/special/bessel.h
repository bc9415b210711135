// Bessel functions of order 0 and 1.
#pragma once

namespace weir::functor {

// Each for double; float is computed in double.
#define WEIR_SPECIAL_FUNCTION(Name)                                                                 \
  struct Name {                                                                                     \
    double operator()(double x) const;                                                              \
    float operator()(float x) const { return static_cast<float>((*this)(static_cast<double>(x))); } \
  };
WEIR_SPECIAL_FUNCTION(BesselI0)
WEIR_SPECIAL_FUNCTION(BesselI1)
WEIR_SPECIAL_FUNCTION(BesselI0e)  // times exp(-|x|)
WEIR_SPECIAL_FUNCTION(BesselI1e)
WEIR_SPECIAL_FUNCTION(BesselK0)
WEIR_SPECIAL_FUNCTION(BesselK1)
WEIR_SPECIAL_FUNCTION(BesselK0e)  // times exp(x)
WEIR_SPECIAL_FUNCTION(BesselK1e)
WEIR_SPECIAL_FUNCTION(BesselJ0)
WEIR_SPECIAL_FUNCTION(BesselJ1)
WEIR_SPECIAL_FUNCTION(BesselY0)
// Dawson's integral, the exponential integral, Fresnel's integrals and the dilogarithm of 1 - x.
WEIR_SPECIAL_FUNCTION(Dawsn)
WEIR_SPECIAL_FUNCTION(Expint)
WEIR_SPECIAL_FUNCTION(FresnelCos)
WEIR_SPECIAL_FUNCTION(FresnelSin)
WEIR_SPECIAL_FUNCTION(Spence)
#undef WEIR_SPECIAL_FUNCTION

// At 0 the double is -infinity and the float NaN, as in TensorFlow.
struct BesselY1 {
  double operator()(double x) const;
  float operator()(float x) const;
};

}  // namespace weir::functor
