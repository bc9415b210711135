// GPU collectives through a library such as NCCL.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "distribute/collective/collective.h"
#include "distribute/collective/communicator.h"
#include "distribute/collective/gpu/gpu_group_member.h"

namespace weir {

// One rank. Inputs and outputs are in the member's GPU memory. The collective runs after the work enqueued on its
// compute stream before RunAsync, and before the work enqueued there after `done`. After a failure the stream still
// uses the memory, as GpuAllocator::AddUse describes.
//
// The library moves the elements. Control messages over the host's communicator detect ranks that disagree, are missing
// or die, and end the call on all ranks:
// 1. every rank reports to rank 0 (the communicator compares signatures);
// 2. rank 0 assigns the call a turn and sends it to all ranks;
// 3. each rank enqueues in turn, and listens to the next rank until that has completed the call too.
// A rank that fails breaks its library communicator and notifies the others, which do the same; the next call creates a
// new one.
class GpuCollective : public Collective {
 public:
  struct Options {
    std::string shape;  // for messages and comparison; empty: "[count]"
  };
  GpuCollective(std::shared_ptr<Communicator> communicator, std::shared_ptr<GpuGroupMember> member, Options options)
      : communicator_(std::move(communicator)), member_(std::move(member)), options_(std::move(options)) {}

  int rank() const override { return communicator_->rank(); }
  int size() const override { return communicator_->size(); }
  // The object may be destroyed before `done`. Ranks compare the call's algorithm and wire format, but the library uses
  // its own.
  void RunAsync(const CollectiveCall& call, DoneCallback done) override;

 private:
  const std::shared_ptr<Communicator> communicator_;
  const std::shared_ptr<GpuGroupMember> member_;
  const Options options_;
};

}  // namespace weir
