#include "distribute/collective/gpu/gpu_collective.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "distribute/collective/call_checks.h"
#include "distribute/collective/gpu/gpu_transfers.h"

namespace weir {
namespace {

// Rounds of a call's control messages; schedules on the host use others.
enum Round : int32_t { kPresent, kTurn, kThrough };

// One call, from RunAsync to `done`: until nothing of it is pending, except what a broken communicator may still do to
// memory.
class Run : public std::enable_shared_from_this<Run> {
 public:
  Run(std::shared_ptr<Communicator> communicator, std::shared_ptr<GpuGroupMember> member, const CollectiveCall& call,
      Collective::DoneCallback done)
      : communicator_(std::move(communicator)),
        sequence_(call.sequence),
        cancellation_(call.cancellation),
        owner_(call.owner),
        done_(std::move(done)),
        member_(std::move(member)) {}

  void Start(const CallSignature& signature, absl::StatusOr<std::vector<GpuTransfer>> group) {
    communicator_->Begin(sequence_, signature);
    absl::Status status = group.status();
    if (status.ok()) {
      group_ = *std::move(group);
      status = Prepare();
    }
    if (status.ok()) {
      if (communicator_->rank() == 0) {
        Gather();
      } else {
        Tell();
      }
    }
    Release(status);
  }

 private:
  int size() const { return communicator_->size(); }
  MessageTag Tag(Round round) const { return {.sequence = sequence_, .lane = 0, .round = round}; }
  template <typename T>
  static absl::Span<const char> BytesOf(const T& value) {
    return absl::MakeConstSpan(reinterpret_cast<const char*>(&value), sizeof(T));
  }

  absl::Status Prepare() {
    broken_ = member_->broken();
    if (!group_.empty()) {
      GpuDevice& gpu = *member_->options().device;
      ASSIGN_OR_RETURN(ready_, gpu.runtime().CreateEvent());
      RETURN_IF_ERROR(gpu.compute().Record(ready_.get()));
    }
    if (cancellation_ == nullptr) return absl::OkStatus();
    token_ = cancellation_->Register([weak = weak_from_this(), cancellation = cancellation_] {
      if (auto self = weak.lock()) self->Fail(cancellation->status());
    });
    return token_ == CancellationManager::kInvalidToken ? cancellation_->status() : absl::OkStatus();
  }

  // Rank 0: all ranks are present once each has reported.
  void Gather() {
    untold_ = size() - 1;
    if (size() == 1) return GiveTurn();
    for (int peer = 1; peer < size(); ++peer) {
      Receive(peer, kPresent, sizeof(broken_), [this](const ReceivedBytes& reported) {
        int64_t broken = 0;
        std::memcpy(&broken, reported.bytes().data(), sizeof(broken));
        {
          MutexLock lock(mu_);
          broken_ = std::max(broken_, broken);
          if (--untold_ > 0) return;
        }
        GiveTurn();
      });
    }
  }
  void GiveTurn() {
    if (!group_.empty()) {
      const absl::StatusOr<GpuGroupMember::Turn> turn = member_->NextTurn(broken_);
      if (!turn.ok()) return Fail(turn.status());
      SetTurn(*turn);
    }
    for (int peer = 1; peer < size(); ++peer) Send(peer, kTurn, BytesOf(turn_));
    Enqueue();
  }

  // Other ranks.
  void Tell() {
    Send(0, kPresent, BytesOf(broken_));
    Receive(0, kTurn, sizeof(turn_), [this](const ReceivedBytes& given) {
      GpuGroupMember::Turn turn;
      std::memcpy(&turn, given.bytes().data(), sizeof(turn));
      SetTurn(turn);
      Enqueue();
    });
  }

  // If this rank no longer takes a turn, the turn is useless to the others.
  void SetTurn(const GpuGroupMember::Turn& turn) {
    absl::Status status;
    {
      MutexLock lock(mu_);
      turn_ = turn;
      status = status_;
    }
    if (!status.ok() && !group_.empty()) member_->Break(turn.generation, status);
  }

  void Enqueue() {
    if (group_.empty()) return;
    {
      MutexLock lock(mu_);
      if (!status_.ok()) return;
      is_on_gpu_ = true;
    }
    if (size() > 1) {
      // While the GPUs work, no other message reports a failure of the next rank; so each rank learns of all failures
      // in turn.
      Receive((communicator_->rank() + 1) % size(), kThrough, sizeof(kSign), [](const ReceivedBytes&) {});
    }
    member_->Run(turn_, group_, std::move(ready_),
                 [self = shared_from_this()](const absl::Status& status) { self->Computed(status); });
  }
  void Computed(const absl::Status& status) {
    {
      MutexLock lock(mu_);
      if (!std::exchange(is_on_gpu_, false) || member_ == nullptr) return;  // it has ended already
      ++held_;
    }
    if (status.ok() && size() > 1) Send((communicator_->rank() + size() - 1) % size(), kThrough, BytesOf(kSign));
    Release(status);
  }

  void Send(int peer, Round round, absl::Span<const char> bytes) {
    Hold();
    communicator_->Send(peer, Tag(round), bytes,
                        [self = shared_from_this()](const absl::Status& status) { self->Release(status); });
  }
  void Receive(int peer, Round round, int64_t num_bytes, std::function<void(const ReceivedBytes&)> received) {
    Hold();
    communicator_->Receive(
        peer, Tag(round), num_bytes,
        [self = shared_from_this(), received = std::move(received)](const absl::StatusOr<ReceivedBytes>& bytes) {
          if (bytes.ok()) received(*bytes);
          self->Release(bytes.status());
        });
  }

  void Hold() {
    MutexLock lock(mu_);
    ++held_;
  }
  // One pending operation has ended.
  void Release(const absl::Status& status) {
    if (!status.ok()) Fail(status);
    absl::Status end;
    {
      MutexLock lock(mu_);
      if (--held_ > 0 || (is_on_gpu_ && status_.ok())) return;
      end = status_;
      member_ = nullptr;  // this may be its thread: another thread must destroy it
    }
    Finish(end);
  }

  // Ends what is pending. Others may rely on this rank's participation, whether it knows of that or not.
  void Fail(const absl::Status& status) {
    int64_t generation = 0;
    std::shared_ptr<GpuGroupMember> member;
    {
      MutexLock lock(mu_);
      if (member_ == nullptr || !status_.ok()) return;
      status_ = status;
      generation = turn_.generation;
      member = member_;
      ++held_;
    }
    if (!group_.empty() && size() > 1) member->Break(generation, status);
    member = nullptr;
    communicator_->Abort(sequence_, status);
    Release(absl::OkStatus());
  }

  void Finish(const absl::Status& status) {
    if (cancellation_ != nullptr && token_ != CancellationManager::kInvalidToken) cancellation_->TryDeregister(token_);
    communicator_->End(sequence_);
    std::exchange(done_, nullptr)(status);
  }

  static constexpr char kSign = 1;

  const std::shared_ptr<Communicator> communicator_;
  const int64_t sequence_;
  CancellationManager* const cancellation_;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
  const std::shared_ptr<const void> owner_;
  Collective::DoneCallback done_;
  std::vector<GpuTransfer> group_;
  std::unique_ptr<GpuEvent> ready_;
  Mutex mu_;
  // Changed under the lock. The two after the first are read without by what comes after their last change.
  std::shared_ptr<GpuGroupMember> member_;  // until the end
  GpuGroupMember::Turn turn_;
  int64_t broken_ = 0;
  int untold_ GUARDED_BY(mu_) = 0;
  int held_ GUARDED_BY(mu_) = 1;  // pending operations on the host, including Start
  bool is_on_gpu_ GUARDED_BY(mu_) = false;
  absl::Status status_ GUARDED_BY(mu_);
};

}  // namespace

void GpuCollective::RunAsync(const CollectiveCall& call, DoneCallback done) {
  auto run = std::make_shared<Run>(communicator_, member_, call, std::move(done));
  absl::StatusOr<std::vector<GpuTransfer>> group;
  if (const absl::Status status = CheckCall(call, communicator_->topology()); !status.ok()) {
    group = status;
  } else if (NeedsOwnInput(call.kind) && call.input == call.output && call.count > 0) {
    group = errors::InvalidArgument(Name(call.kind), " on GPUs needs an output beside its input");
  } else {
    group = TransfersOf(call, rank(), size());
  }
  run->Start({.collective = absl::StrCat(DescribeCall(call), " on GPUs"),
              .dtype = call.kind == CollectiveKind::kBarrier ? DT_UINT8 : call.dtype,
              .shape = options_.shape.empty() ? absl::StrCat("[", call.count, "]") : options_.shape},
             std::move(group));
}

}  // namespace weir
