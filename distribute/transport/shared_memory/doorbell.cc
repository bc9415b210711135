#include "distribute/transport/shared_memory/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir {
namespace {

constexpr char kDoorbellKind[] = "weir-doorbell";
constexpr size_t kBytes = 4096 - SharedSegment::kDataOffset;

// Not FUTEX_PRIVATE: waiter and waker are in different processes.
int64_t Futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Doorbell>> Doorbell::Create() {
  ASSIGN_OR_RETURN(auto segment, SharedSegment::Create(kDoorbellKind, kBytes));
  return std::unique_ptr<Doorbell>(new Doorbell(std::move(segment)));
}

absl::StatusOr<std::unique_ptr<Doorbell>> Doorbell::Open(const SharedSegmentName& name) {
  ASSIGN_OR_RETURN(auto segment, SharedSegment::Open(kDoorbellKind, kBytes, name));
  return std::unique_ptr<Doorbell>(new Doorbell(std::move(segment)));
}

void Doorbell::Ring() {
  // The first ring wakes the owner; later ones need not.
  if (state()->is_armed.load() == 0 || state()->is_armed.exchange(0) == 0) return;
  WakeOne();
}

void Doorbell::WakeOne() {
  state()->rings.fetch_add(1);
  Futex(&state()->rings, FUTEX_WAKE, 1, nullptr);
}

void Doorbell::WakeAll() {
  state()->rings.fetch_add(1);
  Futex(&state()->rings, FUTEX_WAKE, INT32_MAX, nullptr);
}

void Doorbell::Sleep(uint32_t rings, absl::Duration at_most) {
  const timespec timeout = absl::ToTimespec(at_most);
  Futex(&state()->rings, FUTEX_WAIT, rings, &timeout);
}

}  // namespace weir
