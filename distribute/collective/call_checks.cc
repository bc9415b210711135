#include "distribute/collective/call_checks.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distribute/collective/algorithms.h"
#include "distribute/collective/reduction.h"

namespace weir {
namespace {

// Larger than any vector in memory; products of counts and sizes stay within 64 bits.
constexpr int64_t kMaxCount = int64_t{1} << 46;

bool IsRooted(CollectiveKind kind) { return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce; }

absl::Status CheckPermutation(const std::vector<int>& permutation, int size) {
  std::vector<bool> is_hit(size, false);
  bool is_one = permutation.size() == size;
  for (const int target : permutation) {
    is_one = is_one && target >= 0 && target < size && !is_hit[target];
    if (is_one) is_hit[target] = true;
  }
  if (is_one) return absl::OkStatus();
  return errors::InvalidArgument("permute needs a permutation of the group's ", size, " ranks");
}

}  // namespace

bool Reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

absl::Status CheckCall(const CollectiveCall& call, const Topology& topology) {
  const int size = topology.size();
  if (call.kind != CollectiveKind::kBarrier && !IsPlainType(call.dtype)) {
    return errors::Unimplemented(Name(call.kind), " of ", DataTypeName(call.dtype), " tensors");
  }
  if (call.count < 0 || call.count > kMaxCount / size) {
    return errors::InvalidArgument(Name(call.kind), " of ", call.count, " elements");
  }
  if (call.divisor < 1) return errors::InvalidArgument(Name(call.kind), " with divisor ", call.divisor);
  if (IsRooted(call.kind) && (call.root < 0 || call.root >= size)) {
    return errors::InvalidArgument(Name(call.kind), " with root ", call.root, " in a group of ", size);
  }
  if (call.kind == CollectiveKind::kAllToAll && call.count % size != 0) {
    return errors::InvalidArgument("all-to-all of ", call.count, " elements in a group of ", size);
  }
  if (call.kind == CollectiveKind::kPermute) RETURN_IF_ERROR(CheckPermutation(call.permutation, size));
  if (call.algorithm) {
    const std::vector<Algorithm> known = AlgorithmsFor(call.kind, topology);
    if (std::find(known.begin(), known.end(), *call.algorithm) == known.end()) {
      return errors::InvalidArgument("There is no ", Name(call.kind), " by ", Name(*call.algorithm), " among ", size,
                                     " ranks");
    }
  }
  return absl::OkStatus();
}

std::string DescribeCall(const CollectiveCall& call) {
  std::string text(Name(call.kind));
  if (Reduces(call.kind)) absl::StrAppend(&text, " ", Name(call.reduction));
  if (call.divisor != 1) absl::StrAppend(&text, " / ", call.divisor);
  if (IsRooted(call.kind)) absl::StrAppend(&text, " at ", call.root);
  if (call.algorithm) absl::StrAppend(&text, " by ", Name(*call.algorithm));
  if (call.wire.any()) absl::StrAppend(&text, " as ", call.wire.ToString());
  return text;
}

}  // namespace weir
