// Shared memory into which a sender on this host writes tensors for this process.
#pragma once

#include <memory>
#include <string>

#include "core/mutex.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "weir/shared_memory.pb.h"

namespace weir {

struct ArenaHeader;

// Anonymous memory (memfd): it disappears with the last process that maps it, however that ends. Thread-safe. Tensors
// taken from it share ownership.
class ReceivingArena : public std::enable_shared_from_this<ReceivingArena> {
 public:
  // Reserves address space; pages are allocated when the sender first writes to them.
  static absl::StatusOr<std::shared_ptr<ReceivingArena>> Create(size_t bytes);
  ~ReceivingArena();
  ReceivingArena(const ReceivingArena&) = delete;

  // A serialised google.protobuf.Any with the SharedMemoryOffer.
  const std::string& offer() const { return offer_; }
  // The tensor of a WRITTEN reply, without a copy; the last reference to its buffer returns the block to the sender.
  // InvalidArgument for a location outside the memory.
  absl::StatusOr<Tensor> Take(const SharedMemoryReply& reply);
  // Asks the sender to release the memory once its pending tensors are written.
  void Retire();

 private:
  class Block;
  ReceivingArena(int fd, char* base, size_t bytes) : fd_(fd), base_(base), bytes_(bytes) {}
  ArenaHeader* header() const;
  void MakeOffer();

  const int fd_;
  char* const base_;
  const size_t bytes_;
  std::string offer_;
};

// The arena currently offered to one sender. Thread-safe.
class SharedMemoryReceiver {
 public:
  // If not `enabled`, it never offers memory.
  explicit SharedMemoryReceiver(bool enabled) : enabled_(enabled) {}
  ~SharedMemoryReceiver();

  // nullptr: the tensor has to come in the message.
  std::shared_ptr<ReceivingArena> Offer();
  // Call this after a call with that offer has failed, or if another sender owns the memory: what was written there is
  // lost, and the next offer names new memory.
  void Retire(const std::shared_ptr<ReceivingArena>& arena);
  // Stops offering memory, because the sender cannot reach it.
  void Stop();

 private:
  Mutex mu_;
  bool enabled_ GUARDED_BY(mu_);
  std::shared_ptr<ReceivingArena> arena_ GUARDED_BY(mu_);
};

// True if "host:port" or "unix:path" is on this machine, as far as this can be determined locally.
bool IsOnThisHost(const std::string& address);

}  // namespace weir
