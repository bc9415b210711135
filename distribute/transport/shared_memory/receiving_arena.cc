#include "distribute/transport/shared_memory/receiving_arena.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <google/protobuf/any.pb.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/memory/memory_info.h"
#include "distribute/cluster/address.h"
#include "distribute/transport/shared_memory/arena_layout.h"

namespace weir {
namespace {

// Of address space; a tensor in a message is smaller than 2 GiB.
constexpr size_t kMaxArenaBytes = size_t{16} << 30;

absl::Status ArenaError(absl::string_view call) {
  return errors::Unavailable("Shared memory: ", call, ": ", std::string(std::strerror(errno)));
}

size_t ArenaBytes() {
  constexpr size_t kUnit = size_t{2} << 20;
  return std::min(kMaxArenaBytes, static_cast<size_t>(PhysicalMemory()) / 4) / kUnit * kUnit;
}

std::array<char, kArenaTokenBytes> RandomArenaToken() {
  std::array<char, kArenaTokenBytes> token;
  std::random_device entropy;
  for (size_t i = 0; i < token.size(); i += sizeof(unsigned)) {
    const unsigned word = entropy();
    std::memcpy(&token[i], &word, sizeof(word));
  }
  return token;
}

}  // namespace

class ReceivingArena::Block : public TensorBuffer {
 public:
  Block(std::shared_ptr<ReceivingArena> arena, uint32_t block, void* data, size_t bytes)
      : TensorBuffer(data, bytes), arena_(std::move(arena)), block_(block) {}

 private:
  ~Block() override { arena_->header()->lent[block_].store(0, std::memory_order_release); }

  const std::shared_ptr<ReceivingArena> arena_;
  const uint32_t block_;
};

ArenaHeader* ReceivingArena::header() const { return reinterpret_cast<ArenaHeader*>(base_); }

absl::StatusOr<std::shared_ptr<ReceivingArena>> ReceivingArena::Create(size_t bytes) {
  const int fd = memfd_create(kArenaName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return ArenaError("memfd_create");
  // The seal prevents shrinking below what the sender has mapped.
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const absl::Status status = ArenaError("ftruncate");
    close(fd);
    return status;
  }
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) {
    const absl::Status status = ArenaError("mmap");
    close(fd);
    return status;
  }
  madvise(base, bytes, MADV_HUGEPAGE);
  std::shared_ptr<ReceivingArena> arena(new ReceivingArena(fd, static_cast<char*>(base), bytes));
  arena->MakeOffer();
  return arena;
}

ReceivingArena::~ReceivingArena() {
  Retire();
  munmap(base_, bytes_);
  close(fd_);
}

void ReceivingArena::MakeOffer() {
  header()->token = RandomArenaToken();
  SharedMemoryOffer offer;
  offer.set_pid(getpid());
  offer.set_fd(fd_);
  offer.set_bytes(bytes_);
  offer.set_token(header()->token.data(), header()->token.size());
  google::protobuf::Any any;
  any.PackFrom(offer);
  offer_ = any.SerializeAsString();
}

absl::StatusOr<Tensor> ReceivingArena::Take(const SharedMemoryReply& reply) {
  const DataType dtype = static_cast<DataType>(reply.dtype());
  if (reply.block() >= kArenaBlocks || !IsPlainType(dtype)) {
    return errors::InvalidArgument("A tensor in shared memory has block ", reply.block(), " and type ", reply.dtype());
  }
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::FromProto(reply.tensor_shape()));
  const int64_t bytes = MultiplyWithoutOverflow(shape.num_elements(), static_cast<int64_t>(DataTypeSize(dtype)));
  if (bytes <= 0 || reply.offset() < kArenaDataOffset || reply.offset() % kTensorAlignment != 0 ||
      reply.offset() > bytes_ || static_cast<uint64_t>(bytes) > bytes_ - reply.offset()) {
    return errors::InvalidArgument("A tensor of ", bytes, " bytes does not lie at offset ", reply.offset(), " of ",
                                   bytes_, " bytes of shared memory");
  }
  return Tensor::FromBuffer(dtype, shape, new Block(shared_from_this(), reply.block(), base_ + reply.offset(), bytes));
}

void ReceivingArena::Retire() { header()->retired.store(1, std::memory_order_release); }

SharedMemoryReceiver::~SharedMemoryReceiver() { Stop(); }

std::shared_ptr<ReceivingArena> SharedMemoryReceiver::Offer() {
  MutexLock lock(mu_);
  if (!enabled_ || arena_ != nullptr) return arena_;
  absl::StatusOr<std::shared_ptr<ReceivingArena>> arena = ReceivingArena::Create(ArenaBytes());
  if (arena.ok()) {
    arena_ = *std::move(arena);
  } else {
    enabled_ = false;  // the system has no shared memory left: tensors are sent in messages
  }
  return arena_;
}

void SharedMemoryReceiver::Retire(const std::shared_ptr<ReceivingArena>& arena) {
  arena->Retire();
  MutexLock lock(mu_);
  if (arena_ == arena) arena_ = nullptr;
}

void SharedMemoryReceiver::Stop() {
  MutexLock lock(mu_);
  enabled_ = false;
  if (arena_ != nullptr) arena_->Retire();
  arena_ = nullptr;
}

bool IsOnThisHost(const std::string& text) {
  const absl::StatusOr<Address> address = Address::Parse(text);
  if (!address.ok()) return false;
  if (address->is_unix() || address->IsLoopback()) return true;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return false;
  bool found = false;
  for (const ifaddrs* i = interfaces; i != nullptr && !found; i = i->ifa_next) {
    if (i->ifa_addr == nullptr) continue;
    const int family = i->ifa_addr->sa_family;
    char name[INET6_ADDRSTRLEN] = "";
    if (family == AF_INET) {
      inet_ntop(family, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, name, sizeof(name));
    } else if (family == AF_INET6) {
      inet_ntop(family, &reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr, name, sizeof(name));
    }
    found = address->host() == name;
  }
  freeifaddrs(interfaces);
  return found;
}

}  // namespace weir
