// What both ends of a link hold each other to.
#pragma once

#include <cstddef>

namespace weir {

constexpr size_t kMaxChannels = 4096;         // in use at once
constexpr size_t kMaxRequestBytes = 8 << 10;  // of a frame that asks for a buffer
constexpr size_t kMaxCallBytes = 64 << 10;    // of a frame that is a call

}  // namespace weir
