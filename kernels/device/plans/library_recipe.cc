#include "kernels/device/plans/library_recipe.h"

#include "absl/strings/str_cat.h"

namespace weir {

std::string LibraryRecipe::ToString() const {
  std::string text = absl::StrCat(engine);
  const char* separator = " ";
  for (const auto& [kind, value] : knobs) {
    absl::StrAppend(&text, separator, kind, "=", value);
    separator = ",";
  }
  return text;
}

}  // namespace weir
