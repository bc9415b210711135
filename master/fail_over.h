// A session that has lost a task for which another stands by.
#pragma once

#include "absl/time/time.h"
#include "core/status.h"
#include "core/threads/cancellation.h"
#include "distribute/membership/cluster_membership.h"
#include "master/step.h"

namespace weir {

// Whether the error may be that a task was lost which has a standby, is one, or has just been replaced by it.
bool MayFailOver(const absl::Status& status, const ClusterMembership& membership);

// Reports the loss to the cluster's registrar, and waits until that has put a standby in the lost task's place or
// removed a lost standby, so that the cluster's standbys are not those of `epoch` (MovedState::standby_epoch) any more.
// False at the deadline. Blocks.
bool AwaitFailOver(const absl::Status& status, int64_t epoch, const ClusterMembership& membership, absl::Time deadline,
                   CancellationManager* cancellation);

// Of a step that has failed, and may have been committed: asks the task that decides, and the one that relays the
// decision. kUnknown at the deadline. Blocks.
Step::Updates AskForOutcome(const Step& step, const ClusterMembership& membership, absl::Time deadline,
                            CancellationManager* cancellation);

}  // namespace weir
