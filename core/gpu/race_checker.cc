#include "core/gpu/race_checker.h"

#include <algorithm>

namespace weir {
namespace {

uint64_t Entry(const RaceChecker::Clock& clock, int actor) { return actor < clock.size() ? clock[actor] : 0; }

void JoinInto(RaceChecker::Clock* to, const RaceChecker::Clock& from) {
  if (to->size() < from.size()) to->resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] = std::max((*to)[i], from[i]);
}

bool ComesBefore(const RaceChecker::Operation& a, const RaceChecker::Operation& b) {
  return Entry(b.clock, a.actor) >= a.number;
}

std::string Describe(const RaceChecker::Operation& operation, bool writes) {
  return absl::StrCat(writes ? "write" : "read", " by '", operation.name, "' (", operation.actor_name, ", operation ",
                      operation.number, ")");
}

}  // namespace

RaceChecker::RaceChecker() { AddActor("host"); }

int RaceChecker::AddActor(std::string name) {
  const int actor = static_cast<int>(names_.size());
  names_.push_back(std::move(name));
  clocks_.emplace_back(actor + 1);
  clocks_.back()[actor] = 1;
  return actor;
}

RaceChecker::OperationRef RaceChecker::Issue(int actor, absl::string_view name, absl::Span<const GpuAccess> accesses) {
  // The host's clock advances after each operation it issues, so that its later actions are not ordered before that
  // operation.
  if (actor != kHost) {
    JoinInto(&clocks_[actor], clocks_[kHost]);
    ++clocks_[kHost][kHost];
    ++clocks_[actor][actor];
  }
  auto operation = std::make_shared<Operation>(
      Operation{std::string(name), names_[actor], actor, clocks_[actor][actor], clocks_[actor]});
  Access(operation, accesses);
  return operation;
}

void RaceChecker::Access(const OperationRef& operation, absl::Span<const GpuAccess> accesses) {
  for (const GpuAccess& access : accesses) {
    if (access.bytes == 0) continue;
    const auto begin = reinterpret_cast<uintptr_t>(access.data);
    const uintptr_t end = begin + access.bytes;
    auto it = SplitAt(begin);
    SplitAt(end);
    for (uintptr_t at = begin; at < end; ++it) {
      if (it == shadow_.end() || it->first > at) {  // never touched before
        const uintptr_t gap_end = it == shadow_.end() ? end : std::min(end, it->first);
        it = shadow_.emplace_hint(it, at, Segment{.end = gap_end});
      }
      AccessSegment(operation, it->first, &it->second, access.writes);
      at = it->second.end;
    }
  }
}

// The first segment that begins at or after `address`; splits a segment that contains it.
RaceChecker::Shadow::iterator RaceChecker::SplitAt(uintptr_t address) {
  auto next = shadow_.lower_bound(address);
  if (next == shadow_.begin()) return next;
  auto before = std::prev(next);
  if (before->second.end <= address) return next;
  Segment rest = before->second;
  before->second.end = address;
  return shadow_.emplace_hint(next, address, std::move(rest));
}

void RaceChecker::AccessSegment(const OperationRef& operation, uintptr_t begin, Segment* segment, bool writes) {
  const size_t bytes = segment->end - begin;
  if (segment->writer != nullptr) Compare(*segment->writer, true, *operation, writes, bytes);
  if (writes) {
    for (const OperationRef& reader : segment->readers) Compare(*reader, false, *operation, true, bytes);
    // An access reported late (by a callback) must not hide a later write.
    if (segment->writer == nullptr || !ComesBefore(*operation, *segment->writer) || segment->writer == operation) {
      segment->writer = operation;
      segment->readers.clear();
    }
    return;
  }
  // An actor's last read stands for all its earlier ones.
  for (OperationRef& reader : segment->readers) {
    if (reader->actor != operation->actor) continue;
    if (reader->number < operation->number) reader = operation;
    return;
  }
  segment->readers.push_back(operation);
}

void RaceChecker::Compare(const Operation& before, bool before_writes, const Operation& now, bool now_writes,
                          size_t bytes) {
  if (ComesBefore(before, now) || ComesBefore(now, before)) return;
  if (!seen_.insert(absl::StrCat(before.actor, "/", before.name, "/", now.actor, "/", now.name)).second) return;
  races_.push_back(absl::StrCat(Describe(before, before_writes), " and ", Describe(now, now_writes), " of the same ",
                                bytes, " bytes: neither waits for the other"));
}

void RaceChecker::Join(int actor, const Clock& clock) { JoinInto(&clocks_[actor], clock); }

void RaceChecker::Forget(const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  auto first = SplitAt(begin);
  auto last = SplitAt(begin + bytes);
  shadow_.erase(first, last);
}

}  // namespace weir
