#include "kernels/containers/free_in_turn.h"

#include <utility>
#include <vector>

namespace weir {

void FreeInTurn(std::shared_ptr<void> held) {
  static thread_local std::vector<std::shared_ptr<void>>* waiting = nullptr;  // set while the thread is freeing
  if (waiting != nullptr) return waiting->push_back(std::move(held));
  std::vector<std::shared_ptr<void>> turns;
  waiting = &turns;
  held.reset();
  while (!turns.empty()) {
    std::shared_ptr<void> next = std::move(turns.back());
    turns.pop_back();
    next.reset();
  }
  waiting = nullptr;
}

}  // namespace weir
