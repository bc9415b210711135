// Numbers that tell the lives of a task apart.
#pragma once

#include <cstdint>

namespace weir {

// The incarnation of a device or task that starts now: greater than those of earlier starts, as far as the wall clock
// goes forward. Never 0. Marked as ordered by its upper bits, unlike TensorFlow's, which are random. Thread-safe.
uint64_t NewIncarnation();

// True if both are ordered and `a` started before `b`. The mark is eight bits long, so two random incarnations look
// ordered in one of 65,536 cases.
bool IsEarlierIncarnation(uint64_t a, uint64_t b);

}  // namespace weir
