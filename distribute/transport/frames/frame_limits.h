// Limits that both ends of a link enforce.
#pragma once

#include <cstddef>

namespace weir {

constexpr size_t kMaxChannels = 4096;         // open at once
constexpr size_t kMaxRequestBytes = 8 << 10;  // of a buffer request frame
constexpr size_t kMaxCallBytes = 64 << 10;    // of a call frame

}  // namespace weir
