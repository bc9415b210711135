#include "distribute/collective/gpu/gpu_transfers.h"

#include "distribute/collective/call_checks.h"
#include "distribute/collective/reduction.h"
#include "distribute/collective/schedule.h"

namespace weir {
namespace {

using Kind = GpuTransfer::Kind;

class Group {
 public:
  Group(const CollectiveCall& call, int rank, int size)
      : call_(call), rank_(rank), size_(size), element_bytes_(static_cast<int64_t>(DataTypeSize(call.dtype))) {}

  std::vector<GpuTransfer> Make() {
    switch (call_.kind) {
      case CollectiveKind::kAllReduce:
        Add(Kind::kAllReduce, 0, 0, 0, call_.count);
        break;
      case CollectiveKind::kReduce:
        Add(Kind::kReduce, call_.root, 0, 0, call_.count);
        break;
      case CollectiveKind::kBroadcast:
        Add(Kind::kBroadcast, call_.root, 0, 0, call_.count);
        break;
      case CollectiveKind::kAllGather:
        Add(Kind::kAllGather, 0, 0, 0, call_.count);
        break;
      case CollectiveKind::kReduceScatter:
        AddReduceScatter();
        break;
      case CollectiveKind::kAllToAll:
        for (int peer = 0; peer < size_; ++peer) {
          const int64_t block = call_.count / size_;
          Add(Kind::kSend, peer, peer * block, 0, block);
          Add(Kind::kReceive, peer, 0, peer * block, block);
        }
        break;
      case CollectiveKind::kPermute:
        Add(Kind::kSend, call_.permutation[rank_], 0, 0, call_.count);
        for (int peer = 0; peer < size_; ++peer) {
          if (call_.permutation[peer] == rank_) Add(Kind::kReceive, peer, 0, 0, call_.count);
        }
        break;
      case CollectiveKind::kBarrier:
        break;
    }
    return std::move(transfers_);
  }

 private:
  // Blocks of equal size are one operation; others are reduced one by one, each to its rank.
  void AddReduceScatter() {
    if (call_.count % size_ == 0) return Add(Kind::kReduceScatter, 0, 0, 0, call_.count / size_);
    for (int peer = 0; peer < size_; ++peer) {
      const Block block = BlockOf(call_.count, size_, peer);
      Add(Kind::kReduce, peer, block.offset, 0, block.count);
    }
  }

  // Offsets in elements.
  void Add(Kind kind, int peer, int64_t input, int64_t output, int64_t count) {
    if (count == 0) return;
    GpuTransfer transfer{.kind = kind, .dtype = call_.dtype, .reduction = call_.reduction};
    transfer.is_mean = Reduces(call_.kind) && call_.divisor != 1;
    transfer.peer = peer;
    transfer.count = count;
    if (call_.input != nullptr) transfer.input = static_cast<const char*>(call_.input) + input * element_bytes_;
    if (call_.output != nullptr) transfer.output = static_cast<char*>(call_.output) + output * element_bytes_;
    transfers_.push_back(transfer);
  }

  const CollectiveCall& call_;
  const int rank_, size_;
  const int64_t element_bytes_;
  std::vector<GpuTransfer> transfers_;
};

}  // namespace

absl::StatusOr<std::vector<GpuTransfer>> TransfersOf(const CollectiveCall& call, int rank, int size) {
  if (Reduces(call.kind)) {
    RETURN_IF_ERROR(ReduceFunctionFor(call.dtype, call.reduction).status());
    if (call.divisor != 1 && call.divisor != size) {
      return errors::Unimplemented(Name(call.kind), " that divides by ", call.divisor, " among ", size, " GPUs");
    }
  }
  return Group(call, rank, size).Make();
}

bool NeedsOwnInput(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kPermute ||
         kind == CollectiveKind::kReduceScatter;
}

}  // namespace weir
