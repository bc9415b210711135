// Transfers between the devices of a task that takes part in a commit.
#pragma once

#include <memory>

#include "absl/strings/string_view.h"
#include "core/rendezvous/rendezvous.h"

namespace weir {

// A rendezvous that keeps transfers between devices of `task` to itself and passes all others to `others`.
// - The end of `others` does not end its own transfers: the master cleans up a failed step while a task may still wait
//   for the decision to make its updates, some of them on another device than the one that waits.
// - StartAbort aborts both.
std::shared_ptr<Rendezvous> NewOwnTransfers(absl::string_view task, std::shared_ptr<Rendezvous> others);

}  // namespace weir
