// Groups of GPUs for tests.
#pragma once

#include <memory>
#include <vector>

#include "core/gpu/gpu_device.h"
#include "distribute/collective/collective_conformance_testing.h"
#include "distribute/collective/communicator.h"
#include "distribute/collective/gpu/gpu_group_member.h"

namespace weir {

// One rank on each of `runtimes`, in one process. Inputs and outputs are in host memory; each call copies them to the
// GPU and back.
class GpuTestGroup : public CollectiveTestGroup {
 public:
  GpuTestGroup(std::vector<std::shared_ptr<GpuRuntime>> runtimes, std::shared_ptr<GpuCollectiveLibrary> library);
  ~GpuTestGroup() override;

  int size() const override { return static_cast<int>(devices_.size()); }
  using CollectiveTestGroup::Run;
  std::vector<absl::Status> Run(const std::vector<CollectiveCall>& calls, const std::vector<bool>& absent) override;

  // One rank's side. `done` runs when the output is on the host.
  void Start(int rank, const CollectiveCall& call, Collective::DoneCallback done);
  GpuGroupMember& member(int rank) { return *members_[rank]; }
  // As when a member that was idle is released and created again.
  void Recreate(int rank);

 private:
  const std::unique_ptr<WorkQueue> work_queue_;
  std::vector<std::unique_ptr<GpuDevice>> devices_;
  std::vector<std::shared_ptr<Communicator>> communicators_;
  std::vector<std::shared_ptr<GpuGroupMember>> members_;
};

}  // namespace weir
