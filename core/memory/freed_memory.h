// Whether freed memory stays with the process.
#pragma once

namespace weir {

// Lets malloc keep freed blocks for later ones, so that large messages do not fault in their pages again. For a
// server's main program, before it starts threads; without it malloc's own thresholds hold.
void KeepFreedMemory();

// While one exists, freed memory goes back to the system. The destructor returns what was free before, except up to
// 64 MiB at the end of each heap but the main one: only freeing shortens those. Concerns the whole process;
// thread-safe.
class FreedMemoryReturn {
 public:
  FreedMemoryReturn();
  ~FreedMemoryReturn();  // takes up to some milliseconds
  FreedMemoryReturn(const FreedMemoryReturn&) = delete;
};

}  // namespace weir
