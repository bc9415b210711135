// Runs bodies on the simulated device: for the files that compile a table of them for the host.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/device/gpu/bodies.h"
#include "kernels/device/gpu/element_simulated.h"

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
template <typename Body>
void SimulateRounds(const void* raw) {
  const Body body{*static_cast<const decltype(Body::args)*>(raw)};
  for (int64_t place = 0; place < body.args.count; ++place) {
    for (int64_t round = 0; round < body.rounds(); ++round) {
      auto folded = body.Identity();
      for (int64_t j = 0; j < body.length(); ++j) folded = body.Combine(folded, body.Take(place, round, j));
      body.Finish(place, round, folded);
    }
  }
}
template <typename Body>
void SimulateLanes(const void* raw) {
  const Body body{*static_cast<const decltype(Body::args)*>(raw)};
  for (int64_t place = 0; place < body.args.count; ++place) {
    auto total = body.Identity();
    for (int64_t j = 0; j < body.length(); ++j) {
      const auto before = total;
      total = body.Combine(total, body.Take(place, j));
      body.Put(place, j, body.exclusive() ? before : total);
    }
  }
}
constexpr int kTeam = 256;
template <typename Body>
class Team {
 public:
  template <typename F>
  void All(F f) {
    for (int thread = 0; thread < kTeam; ++thread) f(thread, own_[static_cast<size_t>(thread)]);
  }

 private:
  std::vector<typename Body::Own> own_ = std::vector<typename Body::Own>(kTeam);
};
template <typename Body>
void SimulateTeams(const void* raw) {
  const Body body{*static_cast<const decltype(Body::args)*>(raw)};
  Team<Body> team;
  const auto shared = std::make_unique<typename Body::Shared>();
  for (int64_t place = 0; place < body.args.count; ++place) body(place, team, *shared);
}
#define WEIR_BODY_CODE
#define WEIR_EACH(...) nullptr, &SimulateEach<__VA_ARGS__>
#define WEIR_ROWS(...) nullptr, &SimulateRows<__VA_ARGS__>
#define WEIR_ROUNDS(...) nullptr, &SimulateRounds<__VA_ARGS__>
#define WEIR_LANES(...) nullptr, &SimulateLanes<__VA_ARGS__>
#define WEIR_TEAMS(...) nullptr, &SimulateTeams<__VA_ARGS__>

}  // namespace
}  // namespace weir

#include "kernels/device/gpu/body_common.inc"
