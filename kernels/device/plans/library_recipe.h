// A library's name for one of its algorithms with its settings.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir {

// One of its engines, and how that is set: the same from run to run.
struct LibraryRecipe {
  int64_t engine = 0;
  std::vector<std::pair<int64_t, int64_t>> knobs;  // kind and value

  // "7 2=1,13=64"
  std::string ToString() const;
  friend bool operator==(const LibraryRecipe&, const LibraryRecipe&) = default;
};

}  // namespace weir
