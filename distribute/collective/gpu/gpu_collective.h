// Collectives of GPUs by a library, as NCCL.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "distribute/collective/collective.h"
#include "distribute/collective/communicator.h"
#include "distribute/collective/gpu/gpu_group_member.h"

namespace weir {

// One rank. Inputs and outputs are memory of the member's GPU: what is enqueued on its compute stream before RunAsync
// comes before the collective, and what is enqueued there after `done` comes behind it. After a failure the memory is
// still the stream's, as GpuAllocator::AddUse has it.
//
// The library moves the elements; the communicator, on the host, sees to it that ranks that disagree, are missing or
// die are named and end the call on all ranks:
//   1. every rank tells rank 0 that it is there (with what: the communicator compares signatures);
//   2. rank 0 gives the call its turn and tells all;
//   3. each rank enqueues in turn, and listens to the next rank until that is through with the call too.
// Whoever fails breaks the library's communicator on its rank and tells the others, who do so as well; the next call
// makes another one.
class GpuCollective : public Collective {
 public:
  struct Options {
    std::string shape;  // for messages and comparison; empty: "[count]"
  };
  GpuCollective(std::shared_ptr<Communicator> communicator, std::shared_ptr<GpuGroupMember> member, Options options)
      : communicator_(std::move(communicator)), member_(std::move(member)), options_(std::move(options)) {}

  int rank() const override { return communicator_->rank(); }
  int size() const override { return communicator_->size(); }
  // The object may go before `done`. Algorithm and wire format of the call are compared among ranks, and the library
  // has its own.
  void RunAsync(const CollectiveCall& call, DoneCallback done) override;

 private:
  const std::shared_ptr<Communicator> communicator_;
  const std::shared_ptr<GpuGroupMember> member_;
  const Options options_;
};

}  // namespace weir
