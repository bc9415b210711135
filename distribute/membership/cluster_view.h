// The tasks of a cluster, as messages describe them.
#pragma once

#include <string>

#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"
#include "weir/membership.pb.h"

namespace weir {

// Of a view.
inline constexpr int kMaxMembers = 1'000;

// The view of tasks that were started with this cluster: epoch 0, all serving.
ClusterView ViewOf(const ClusterSpec& cluster);
// The task that makes changes: the lowest index of the job chief, else master, else worker, else of the first job.
// Empty for an empty cluster.
std::string RegistrarOf(const ClusterSpec& cluster);
// "/job:worker/replica:0/task:2".
std::string TaskNameOf(const Member& member);
// Null if there is no such member.
const Member* FindMember(const ClusterView& view, absl::string_view task);
// Whether a process of this incarnation was removed by request.
bool WasRemoved(const ClusterView& view, uint64_t incarnation);
// False for views of different clusters.
bool IsNewerView(const ClusterView& a, const ClusterView& b);

// The members that serve, draining ones too, and `self` in any state. InvalidArgument for a view that no registrar
// makes: with malformed names or addresses, two members of one name or address, without its registrar, or with an epoch
// that no cluster reaches.
absl::StatusOr<ClusterSpec> ClusterOf(const ClusterView& view, absl::string_view self);

}  // namespace weir
