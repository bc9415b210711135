// Runs element-wise bodies on the simulated device: for the files that compile a table of them for the host.
#pragma once

#include "kernels/device/gpu/element_simulated.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/elementwise/device.h"
#include "kernels/elementwise/unary_functors.h"

namespace weir {
namespace {

template <typename Body>
void Simulate(const void* raw) {
  const Body body{*static_cast<const ElementwiseArgs*>(raw)};
  for (int64_t i = 0; i < body.args.count; ++i) body(i);
}
#define WEIR_ELEMENTWISE_CODE
#define WEIR_ELEMENTWISE_RUN(...) nullptr, &Simulate<__VA_ARGS__>

}  // namespace
}  // namespace weir

#include "kernels/elementwise/device_bodies.inc"
