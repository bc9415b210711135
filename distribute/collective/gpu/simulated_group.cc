#include "distribute/collective/gpu/simulated_group.h"

#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "distribute/collective/reduction.h"

namespace weir {
namespace {

using Kind = GpuTransfer::Kind;

struct Part {
  GpuTransfer transfer;  // its pointers are meaningless here
  const char* input = nullptr;
  std::string output;
};
using Parts = std::vector<Part>;

bool IsPointToPoint(const GpuTransfer& t) { return t.kind == Kind::kSend || t.kind == Kind::kReceive; }

std::string Described(const GpuTransfer& t) {
  constexpr const char* kNames[] = {"all-reduce", "reduce", "reduce-scatter", "all-gather",
                                    "broadcast",  "send",   "receive"};
  return absl::StrCat(kNames[static_cast<int>(t.kind)], " ", Name(t.reduction), t.is_mean ? " mean" : "", " of ",
                      t.count, " ", DataTypeName(t.dtype), " with ", t.peer);
}

bool BelongTogether(const GpuTransfer& a, const GpuTransfer& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.reduction == b.reduction && a.is_mean == b.is_mean &&
         a.peer == b.peer && a.count == b.count;
}

absl::Status Differ(int a, const std::string& what_a, int b, const std::string& what_b) {
  return errors::InvalidArgument("Rank ", a, " has enqueued ", what_a, " where rank ", b, " has ", what_b);
}

absl::StatusOr<Parts> Decode(const std::string& group, int rank, int size) {
  Parts parts;
  for (size_t at = 0; at < group.size();) {
    Part part;
    if (group.size() - at < sizeof(GpuTransfer))
      return errors::InvalidArgument("Rank ", rank, " has sent half a group");
    std::memcpy(&part.transfer, group.data() + at, sizeof(GpuTransfer));
    at += sizeof(GpuTransfer);
    const size_t bytes = InputBytes(part.transfer, rank, size);
    if (part.transfer.count < 0 || bytes > group.size() - at) {
      return errors::InvalidArgument("Rank ", rank, " has sent half an input");
    }
    part.input = group.data() + at;
    part.output.resize(OutputBytes(part.transfer, rank, size));
    at += bytes;
    parts.push_back(std::move(part));
  }
  return parts;
}

absl::StatusOr<std::string> Reduced(const std::vector<Part*>& parts) {
  const GpuTransfer& t = parts[0]->transfer;
  const int size = static_cast<int>(parts.size());
  ASSIGN_OR_RETURN(const ReduceFunction reduce, ReduceFunctionFor(t.dtype, t.reduction));
  const int64_t count = t.kind == Kind::kReduceScatter ? t.count * size : t.count;
  const std::string first(parts[0]->input, count * DataTypeSize(t.dtype));
  std::string sum = first;
  for (int rank = 1; rank < size; ++rank) reduce(sum.data(), sum.data(), parts[rank]->input, count);
  if (t.is_mean) {
    ASSIGN_OR_RETURN(const DivideFunction divide, DivideFunctionFor(t.dtype));
    divide(sum.data(), size, count);
  }
  return sum;
}

// One operation; `parts` has each rank's side.
absl::Status RunCollective(const std::vector<Part*>& parts) {
  const GpuTransfer& t = parts[0]->transfer;
  const size_t bytes = t.count * DataTypeSize(t.dtype);
  if (t.kind == Kind::kBroadcast) {
    if (t.peer < 0 || t.peer >= parts.size()) return errors::InvalidArgument("There is no rank ", t.peer);
    for (Part* part : parts) part->output.assign(parts[t.peer]->input, bytes);
    return absl::OkStatus();
  }
  std::string all;
  if (t.kind == Kind::kAllGather) {
    for (const Part* part : parts) all.append(part->input, bytes);
  } else {
    ASSIGN_OR_RETURN(all, Reduced(parts));
  }
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    const size_t offset = t.kind == Kind::kReduceScatter ? rank * bytes : 0;
    parts[rank]->output = all.substr(offset, parts[rank]->output.size());
  }
  return absl::OkStatus();
}

absl::Status RunCollectives(std::vector<Parts>& ranks) {
  std::vector<std::vector<Part*>> own(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (Part& part : ranks[rank]) {
      if (!IsPointToPoint(part.transfer)) own[rank].push_back(&part);
    }
    if (own[rank].size() == own[0].size()) continue;
    return Differ(static_cast<int>(rank), absl::StrCat(own[rank].size(), " collectives"), 0,
                  absl::StrCat(own[0].size()));
  }
  for (size_t i = 0; i < own[0].size(); ++i) {
    std::vector<Part*> parts;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      parts.push_back(own[rank][i]);
      if (BelongTogether(parts[rank]->transfer, parts[0]->transfer)) continue;
      return Differ(static_cast<int>(rank), Described(parts[rank]->transfer), 0, Described(parts[0]->transfer));
    }
    RETURN_IF_ERROR(RunCollective(parts));
  }
  return absl::OkStatus();
}

absl::Status RunMessages(std::vector<Parts>& ranks) {
  std::map<std::pair<int, int>, std::deque<const Part*>> sent;  // by source and destination
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Part& part : ranks[rank]) {
      if (part.transfer.kind == Kind::kSend) sent[{static_cast<int>(rank), part.transfer.peer}].push_back(&part);
    }
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (Part& part : ranks[rank]) {
      if (part.transfer.kind != Kind::kReceive) continue;
      auto& from = sent[{part.transfer.peer, static_cast<int>(rank)}];
      const std::string got = from.empty() ? "nothing" : Described(from.front()->transfer);
      if (from.empty() || from.front()->transfer.count != part.transfer.count ||
          from.front()->transfer.dtype != part.transfer.dtype) {
        return Differ(static_cast<int>(rank), Described(part.transfer), part.transfer.peer, got);
      }
      part.output.assign(from.front()->input, part.output.size());
      from.pop_front();
    }
  }
  return absl::OkStatus();
}

}  // namespace

size_t InputBytes(const GpuTransfer& t, int rank, int size) {
  const size_t bytes = t.count * DataTypeSize(t.dtype);
  switch (t.kind) {
    case Kind::kReduceScatter:
      return bytes * size;
    case Kind::kBroadcast:
      return rank == t.peer ? bytes : 0;
    case Kind::kReceive:
      return 0;
    default:
      return bytes;
  }
}

size_t OutputBytes(const GpuTransfer& t, int rank, int size) {
  const size_t bytes = t.count * DataTypeSize(t.dtype);
  switch (t.kind) {
    case Kind::kAllGather:
      return bytes * size;
    case Kind::kReduce:
      return rank == t.peer ? bytes : 0;
    case Kind::kSend:
      return 0;
    default:
      return bytes;
  }
}

std::string EncodeGroup(absl::Span<const GpuTransfer> group, int rank, int size) {
  std::string encoded;
  for (const GpuTransfer& transfer : group) {
    encoded.append(reinterpret_cast<const char*>(&transfer), sizeof(transfer));
    if (const size_t bytes = InputBytes(transfer, rank, size); bytes > 0) {
      encoded.append(static_cast<const char*>(transfer.input), bytes);
    }
  }
  return encoded;
}

absl::StatusOr<std::vector<std::string>> RunGroups(const std::vector<std::string>& groups) {
  const int size = static_cast<int>(groups.size());
  std::vector<Parts> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ASSIGN_OR_RETURN(ranks.emplace_back(), Decode(groups[rank], rank, size));
  }
  RETURN_IF_ERROR(RunCollectives(ranks));
  RETURN_IF_ERROR(RunMessages(ranks));
  std::vector<std::string> results;
  for (const Parts& parts : ranks) {
    std::string& result = results.emplace_back();
    for (const Part& part : parts) result += part.output;
  }
  return results;
}

}  // namespace weir
