// Real numbers as text.
#pragma once

#include <string>

namespace weir {

// As many digits as it takes to read the same number again, out of two lengths; "nan", "inf" and "-inf".
std::string NumberText(float x);
std::string NumberText(double x);

}  // namespace weir
