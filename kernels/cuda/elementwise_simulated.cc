// The element-wise ops for the simulated device.

#include <cstdint>
#include <iterator>

#include "core/numeric_types.h"
#include "kernels/cpu/binary_functors.h"
#include "kernels/cpu/unary_functors.h"
#include "kernels/cuda/elementwise_args.h"

namespace weir {
namespace {

template <typename Stored, typename Computed>
struct ElementOf {
  static Computed Load(const void* data, int64_t i) {
    return static_cast<Computed>(static_cast<const Stored*>(data)[i]);
  }
  static void Store(void* data, int64_t i, Computed value) {
    static_cast<Stored*>(data)[i] = static_cast<Stored>(value);
  }
};
template <typename Tag>
struct Element;
struct Float;
struct Double;
struct Int64;
struct Bool;
struct Half;
struct Bfloat16;
template <>
struct Element<Float> : ElementOf<float, float> {};
template <>
struct Element<Double> : ElementOf<double, double> {};
template <>
struct Element<Int64> : ElementOf<int64_t, int64_t> {};
template <>
struct Element<Bool> : ElementOf<bool, bool> {};
template <>
struct Element<Half> : ElementOf<half, float> {};
template <>
struct Element<Bfloat16> : ElementOf<bfloat16, float> {};

template <typename Body>
void Simulate(const void* raw) {
  const Body body{*static_cast<const ElementwiseArgs*>(raw)};
  for (int64_t i = 0; i < body.args.count; ++i) body(i);
}
#define WEIR_ELEMENTWISE_CODE
#define WEIR_ELEMENTWISE_RUN(...) nullptr, &Simulate<__VA_ARGS__>

}  // namespace
}  // namespace weir

#include "kernels/cuda/elementwise_table.inc"

namespace weir {

ElementwiseTable SimulatedElementwiseTable() { return {kElementwiseEntries, std::size(kElementwiseEntries)}; }

}  // namespace weir
