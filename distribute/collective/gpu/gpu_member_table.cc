#include "distribute/collective/gpu/gpu_member_table.h"

#include <utility>

namespace weir {
namespace {

// Beyond this many, released places are forgotten. Should a group among them still be in use, its next call fails,
// and the one after that creates its communicator again.
constexpr size_t kMaxPlaces = 1 << 16;

}  // namespace

absl::StatusOr<std::shared_ptr<GpuGroupMember>> GpuMemberTable::Find(const Key& key, uint64_t formation,
                                                                     GpuGroupMember::Options options) {
  Members unused;  // destroyed with no lock held
  MutexLock lock(mu_);
  if (places_.size() >= kMaxPlaces) {
    absl::erase_if(places_, [](const auto& entry) { return entry.second.member == nullptr; });
  }
  Place& place = places_[{key.leader, key.group, key.device}];
  place.last_use = ++num_uses_;
  if (place.formation != formation) {
    if (place.member != nullptr) {
      retired_.push_back(std::exchange(place.member, nullptr));
      --num_members_;
    }
    place.generation = 0;
    place.formation = formation;
  }
  if (place.member == nullptr) {
    options.broken = place.generation;
    ASSIGN_OR_RETURN(place.member, GpuGroupMember::Create(std::move(options)));
    ++num_members_;
  }
  const std::shared_ptr<GpuGroupMember> member = place.member;
  Release(&unused);
  return member;
}

size_t GpuMemberTable::size() const {
  MutexLock lock(mu_);
  return num_members_ + retired_.size();
}

void GpuMemberTable::Release(Members* unused) {
  std::erase_if(retired_, [unused](std::shared_ptr<GpuGroupMember>& retired) {
    if (retired.use_count() > 1) return false;
    unused->push_back(std::move(retired));
    return true;
  });
  while (num_members_ > max_members_) {
    std::shared_ptr<GpuGroupMember> idle = TakeIdle();
    if (idle == nullptr) return;
    unused->push_back(std::move(idle));
  }
}

std::shared_ptr<GpuGroupMember> GpuMemberTable::TakeIdle() {
  Place* oldest = nullptr;
  for (auto& [key, place] : places_) {
    // Callers get members under the lock: nobody begins to use one that is unused.
    if (place.member == nullptr || place.member.use_count() > 1) continue;
    if (oldest == nullptr || place.last_use < oldest->last_use) oldest = &place;
  }
  if (oldest == nullptr) return nullptr;
  oldest->generation = oldest->member->generation();
  --num_members_;
  return std::exchange(oldest->member, nullptr);
}

}  // namespace weir
