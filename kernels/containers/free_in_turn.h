// Frees what objects hold that handles own.
#pragma once

#include <memory>

namespace weir {

// For the destructor of an object that may hold handles to others of its kind, and these to further ones: a step can
// make such a chain longer than a thread's stack is deep. What is given while the thread is freeing waits until it is
// its turn.
void FreeInTurn(std::shared_ptr<void> held);

}  // namespace weir
