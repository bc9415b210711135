// Replays simulated schedules: commit_simulation [--seed N] [--bug NAME] [--schedules N]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "tests/simulation/commit_world.h"

int main(int argc, char** argv) {
  using weir::PlantedBug;
  std::optional<uint64_t> seed;
  uint64_t schedules = 10000;
  PlantedBug bug = PlantedBug::kNone;
  for (int i = 1; i < argc; i += 2) {
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    bool is_known = false;
    if (std::strcmp(argv[i], "--seed") == 0) is_known = seed.emplace(std::strtoull(value, nullptr, 10)) > 0;
    if (std::strcmp(argv[i], "--schedules") == 0) is_known = (schedules = std::strtoull(value, nullptr, 10)) > 0;
    for (int b = 0; std::strcmp(argv[i], "--bug") == 0 && b < static_cast<int>(PlantedBug::kCount); ++b) {
      if (std::strcmp(NameOf(static_cast<PlantedBug>(b)), value) != 0) continue;
      bug = static_cast<PlantedBug>(b);
      is_known = true;
    }
    if (is_known) continue;
    std::fprintf(stderr, "usage: commit_simulation [--seed N] [--bug NAME] [--schedules N], N from 1; bugs:\n");
    for (int b = 0; b < static_cast<int>(PlantedBug::kCount); ++b) {
      std::fprintf(stderr, "  %s\n", NameOf(static_cast<PlantedBug>(b)));
    }
    return 2;
  }
  int failed = 0;
  int64_t steps = 0, events = 0;
  for (uint64_t s = seed.value_or(1); s <= seed.value_or(schedules); ++s) {
    weir::CommitWorld world(s, bug, seed.has_value());
    const auto violations = world.Run();
    steps += world.steps();
    events += world.events();
    if (violations.empty()) continue;
    ++failed;
    if (failed <= 20) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(s), violations[0].what.c_str());
  }
  std::printf("%d schedules violate an invariant; %lld steps, %lld events\n", failed, static_cast<long long>(steps),
              static_cast<long long>(events));
  return failed == 0 ? 0 : 1;
}
