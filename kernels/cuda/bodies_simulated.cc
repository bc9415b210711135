// The kernels of bodies.h for the simulated device.

#include "kernels/cuda/bodies.h"

#include <cmath>
#include <iterator>

#include "kernels/cuda/element_simulated.h"

namespace weir {
namespace {

using std::exp;
using std::log;
using std::sqrt;

template <typename Body>
void SimulateEach(const void* raw) {
  const Body body{*static_cast<const decltype(Body::args)*>(raw)};
  for (int64_t i = 0; i < body.args.count; ++i) body(i);
}
template <typename Body>
void SimulateRows(const void* raw) {
  const Body body{*static_cast<const decltype(Body::args)*>(raw)};
  for (int64_t place = 0; place < body.args.count; ++place) {
    auto folded = body.Identity();
    for (int64_t j = 0; j < body.length(); ++j) folded = body.Combine(folded, body.Take(place, j));
    body.Finish(place, folded);
  }
}
#define WEIR_BODY_CODE
#define WEIR_EACH(...) nullptr, &SimulateEach<__VA_ARGS__>
#define WEIR_ROWS(...) nullptr, &SimulateRows<__VA_ARGS__>

}  // namespace
}  // namespace weir

#include "kernels/cuda/body_table.inc"

namespace weir {

BodyTable SimulatedBodies() { return {kBodyEntries, static_cast<int>(std::size(kBodyEntries))}; }

}  // namespace weir
