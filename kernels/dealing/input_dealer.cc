#include "kernels/dealing/input_dealer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "kernels/data/index_shuffle.h"

namespace weir {
namespace {

constexpr double kNewShare = 0.3;      // of the last batch in a worker's rate
constexpr int64_t kKnownAdvances = 3;  // after so many batches a worker's rate says something
constexpr int kForgetAfterLeases = 10;

}  // namespace

absl::Status InputDealer::Check(const InputDealerOptions& options) {
  const auto error = [&options](const auto&... what) {
    return errors::InvalidArgument("Input dealer '", options.name, "': ", what...);
  };
  if (options.batch_size < 1) return error("batch_size must be positive, not ", options.batch_size);
  if (options.epochs == 0 || options.epochs < -1) return error("epochs must be positive, or -1, not ", options.epochs);
  if (options.lease <= absl::ZeroDuration()) return error("the lease must be positive");
  if (options.straggler_factor != 0 && !(options.straggler_factor > 1)) {
    return error("straggler_factor must be above 1, or 0 for none, not ", options.straggler_factor);
  }
  int64_t sum = 0, largest = 0;
  for (const int64_t size : options.chunk_sizes) {
    if (size < 0) return error("a chunk has ", size, " examples");
    if (__builtin_add_overflow(sum, size, &sum)) return error("the chunks have more than 2^63 examples");
    largest = std::max(largest, size);
  }
  if (largest < (options.drop_remainder ? options.batch_size : 1)) {
    return error("no chunk has a batch of ", options.batch_size, " examples");
  }
  return absl::OkStatus();
}

InputDealer::InputDealer(InputDealerOptions options) : options_(std::move(options)) {}

std::vector<int64_t> InputDealer::InitialProgress() const {
  std::vector<int64_t> table((1 + options_.chunk_sizes.size()) * DealtProgress::kColumns, 0);
  StartEpoch(DealtProgress(absl::MakeSpan(table)), 0);
  return table;
}

void InputDealer::StartEpoch(DealtProgress progress, int64_t epoch) const {
  progress.set_epoch(epoch);
  for (int64_t chunk = 0; chunk < progress.num_chunks(); ++chunk) {
    const int64_t size = Usable(options_.chunk_sizes[chunk]);
    progress.Set(chunk, 0, 0, size);
    progress.Set(chunk, 1, size, size);
  }
}

absl::Status InputDealer::CheckProgress(const DealtProgress& progress) const {
  const auto is_within = [&](int64_t chunk) {
    for (int64_t part = 0; part < 2; ++part) {
      const int64_t begin = progress.begin(chunk, part), end = progress.end(chunk, part);
      if (begin < 0 || begin > end || end > options_.chunk_sizes[chunk]) return false;
    }
    const bool overlap = progress.begin(chunk, 0) < progress.end(chunk, 1) &&
                         progress.begin(chunk, 1) < progress.end(chunk, 0) && progress.left(chunk, 0) > 0 &&
                         progress.left(chunk, 1) > 0;
    return !overlap;
  };
  const int64_t chunks = static_cast<int64_t>(options_.chunk_sizes.size());
  if (progress.num_chunks() != chunks) {
    return errors::FailedPrecondition("Input dealer '", options_.name, "' has ", chunks,
                                      " chunks, and its progress is that of ", progress.num_chunks());
  }
  bool ok = progress.epoch() >= 0 && (options_.epochs < 0 || progress.epoch() <= options_.epochs);
  for (int64_t chunk = 0; ok && chunk < chunks; ++chunk) ok = is_within(chunk);
  if (ok) return absl::OkStatus();
  return errors::FailedPrecondition("The progress of input dealer '", options_.name,
                                    "' is that of other chunks: was it restored from a checkpoint of other data?");
}

const std::vector<int64_t>& InputDealer::Order(int64_t epoch) {
  if (order_epoch_ == epoch) return order_;
  order_epoch_ = epoch;
  order_.resize(options_.chunk_sizes.size());
  std::iota(order_.begin(), order_.end(), 0);
  if (!options_.shuffle) return order_;
  const auto seed = static_cast<uint64_t>(options_.seed);
  const std::array<uint32_t, 3> key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                                       static_cast<uint32_t>(epoch)};
  for (size_t i = 0; i < order_.size(); ++i) {
    order_[i] = static_cast<int64_t>(IndexShuffle(i, key, order_.size() - 1));
  }
  return order_;
}

bool InputDealer::IsComplete(const DealtProgress& progress) const {
  for (int64_t chunk = 0; chunk < progress.num_chunks(); ++chunk) {
    if (progress.left(chunk, 0) > 0 || progress.left(chunk, 1) > 0) return false;
  }
  return true;
}

std::optional<InputDealer::Slot> InputDealer::OwnSlot(const DealtProgress& progress, const std::string& worker) {
  for (const auto& [slot, lease] : leases_) {
    if (lease.worker != worker || lease.epoch != progress.epoch() || IsPinned(slot)) continue;
    if (progress.left(slot.first, slot.second) > 0) return slot;
  }
  return std::nullopt;
}

std::optional<InputDealer::Slot> InputDealer::FreeSlot(const DealtProgress& progress, absl::Time now) {
  for (const int64_t chunk : Order(progress.epoch())) {
    for (int64_t part = 0; part < 2; ++part) {
      const Slot slot(chunk, part);
      if (progress.left(chunk, part) == 0 || IsPinned(slot)) continue;
      const auto lease = leases_.find(slot);
      if (lease == leases_.end()) return slot;
      const bool is_old = lease->second.epoch != progress.epoch();
      if (!is_old && lease->second.ends > now) continue;
      if (!is_old) ++num_expired_;
      leases_.erase(lease);
      return slot;
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<DealtRange>> InputDealer::Take(DealtProgress progress, const std::string& worker,
                                                            absl::Time now) {
  if (options_.epochs >= 0 && progress.epoch() >= options_.epochs) {
    return errors::OutOfRange("End of sequence: input dealer '", options_.name, "' has dealt ", options_.epochs,
                              " epochs");
  }
  ForgetWorkers(now);
  Pace& pace = workers_[worker];
  pace.last_seen = now;
  if (const std::optional<Slot> own = OwnSlot(progress, worker)) {
    Lease& lease = leases_[*own];
    DivideIfSlow(progress, *own, lease);
    return Renew(progress, *own, lease, now);
  }
  const std::optional<Slot> slot = FreeSlot(progress, now);
  if (!slot) return std::nullopt;
  Lease& lease = leases_[*slot];
  lease = {.number = next_lease_++, .epoch = progress.epoch(), .worker = worker, .dealt = now};
  pace.since = now;
  return Renew(progress, *slot, lease, now);
}

DealtRange InputDealer::Renew(DealtProgress progress, const Slot& slot, Lease& lease, absl::Time now) {
  lease.ends = now + options_.lease;
  const auto [chunk, part] = slot;
  return {.epoch = progress.epoch(),
          .chunk = chunk,
          .part = part,
          .begin = progress.begin(chunk, part),
          .count = std::min(batch(), progress.left(chunk, part)),
          .end = progress.end(chunk, part),
          .lease = lease.number};
}

// Leaves the worker as many batches as it makes while one of median speed makes the rest. The other part of the chunk
// must be done, or have never been: a chunk has two parts at most.
void InputDealer::DivideIfSlow(DealtProgress progress, const Slot& slot, const Lease& lease) {
  if (options_.straggler_factor == 0) return;
  const auto [chunk, part] = slot;
  const int64_t batches = (progress.left(chunk, part) + batch() - 1) / batch();
  const Slot other(chunk, 1 - part);
  if (batches < 2 || progress.left(chunk, 1 - part) > 0 || IsPinned(other)) return;
  std::vector<double> rates;
  for (const auto& [taken, active] : leases_) {
    const Pace& pace = workers_[active.worker];
    if (active.epoch == progress.epoch() && pace.advances >= kKnownAdvances) rates.push_back(pace.rate);
  }
  const Pace& own = workers_[lease.worker];
  if (rates.size() < 2 || own.advances < kKnownAdvances) return;
  // The upper one of two: with two workers the faster one.
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  const double median = rates[rates.size() / 2];
  if (own.rate * options_.straggler_factor >= median) return;
  const auto share = static_cast<int64_t>(static_cast<double>(batches) * own.rate / (own.rate + median));
  const int64_t middle = progress.begin(chunk, part) + std::clamp<int64_t>(share, 1, batches - 1) * batch();
  const int64_t end = progress.end(chunk, part);
  leases_.erase(other);
  progress.Set(chunk, part, progress.begin(chunk, part), middle);
  progress.Set(chunk, 1 - part, middle, end);
  ++num_divided_;
}

absl::Status InputDealer::Refused(const DealtRange& range, const std::string& why) {
  ++num_refused_;
  return errors::Aborted("Input dealer '", options_.name, "' refuses examples ", range.begin, " to ",
                         range.begin + range.count, " of chunk ", range.chunk, ", epoch ", range.epoch, ": ", why,
                         "; nothing was applied, run the step again");
}

absl::StatusOr<int64_t> InputDealer::Claim(DealtProgress progress, const DealtRange& range, absl::Time now) {
  if (range.chunk < 0 || range.chunk >= progress.num_chunks() || range.part < 0 || range.part > 1 || range.count < 1) {
    return errors::InvalidArgument("Input dealer '", options_.name, "' has dealt no such range: chunk ", range.chunk,
                                   ", part ", range.part, ", ", range.count, " examples");
  }
  const Slot slot(range.chunk, range.part);
  const auto found = leases_.find(slot);
  const bool is_own = found != leases_.end() && found->second.number == range.lease;
  if (range.epoch != progress.epoch()) {
    return Refused(range, absl::StrCat("this is epoch ", progress.epoch()));
  }
  if (!is_own) {
    return Refused(range, found == leases_.end()
                              ? "its lease has ended"
                              : absl::StrCat("its lease has ended, and the chunk is dealt to ", found->second.worker));
  }
  Pace& pace = workers_[found->second.worker];
  if (IsPinned(slot)) {
    ++pace.refused;
    return Refused(range, "another step claims them");
  }
  if (range.begin != progress.begin(range.chunk, range.part) || range.count > progress.left(range.chunk, range.part)) {
    ++pace.refused;
    return Refused(range, absl::StrCat("what is left begins at ", progress.begin(range.chunk, range.part)));
  }
  found->second.ends = now + options_.lease;
  pace.last_seen = now;
  const int64_t claim = next_claim_++;
  pins_[claim] = {.slot = slot, .range = range};
  pinned_[slot] = claim;
  return claim;
}

absl::Status InputDealer::Advance(DealtProgress progress, int64_t claim, absl::Time now) {
  const auto pin = pins_.find(claim);
  if (pin == pins_.end()) {
    return errors::FailedPrecondition("Input dealer '", options_.name, "' has no claim ", claim,
                                      ": InputDealerAdvance belongs into the step of its InputDealerClaim");
  }
  const auto [slot, range] = pin->second;
  pins_.erase(pin);
  pinned_.erase(slot);
  const auto [chunk, part] = slot;
  if (progress.epoch() != range.epoch || progress.begin(chunk, part) != range.begin ||
      progress.left(chunk, part) < range.count) {
    return errors::FailedPrecondition("The progress of input dealer '", options_.name,
                                      "' was replaced during a step: its examples will be dealt again");
  }
  progress.Set(chunk, part, range.begin + range.count, progress.end(chunk, part));
  if (const auto lease = leases_.find(slot); lease != leases_.end()) {
    Pace& pace = workers_[lease->second.worker];
    const double seconds = std::max(absl::ToDoubleSeconds(now - pace.since), 1e-6);
    const double rate = static_cast<double>(range.count) / seconds;
    pace.rate = pace.advances == 0 ? rate : kNewShare * rate + (1 - kNewShare) * pace.rate;
    ++pace.advances;
    pace.examples += range.count;
    pace.since = pace.last_seen = now;
    lease->second.ends = now + options_.lease;
    if (progress.left(chunk, part) == 0) leases_.erase(lease);
  }
  if (!IsComplete(progress)) return absl::OkStatus();
  if (options_.epochs < 0 || progress.epoch() + 1 < options_.epochs) {
    StartEpoch(progress, progress.epoch() + 1);
  } else {
    progress.set_epoch(options_.epochs);
  }
  return absl::OkStatus();
}

void InputDealer::Release(int64_t claim) {
  const auto pin = pins_.find(claim);
  if (pin == pins_.end()) return;
  pinned_.erase(pin->second.slot);
  pins_.erase(pin);
}

absl::Time InputDealer::NextLeaseEnd(absl::Time now) const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [slot, lease] : leases_) {
    if (lease.ends > now && !IsPinned(slot)) next = std::min(next, lease.ends);
  }
  return next;
}

void InputDealer::ForgetWorkers(absl::Time now) {
  absl::erase_if(workers_, [&](const auto& entry) {
    return now - entry.second.last_seen > kForgetAfterLeases * options_.lease &&
           std::none_of(leases_.begin(), leases_.end(),
                        [&](const auto& lease) { return lease.second.worker == entry.first; });
  });
}

std::vector<InputDealer::Worker> InputDealer::Workers(absl::Time now) const {
  std::vector<Worker> workers;
  for (const auto& [name, pace] : workers_) {
    Worker& worker = workers.emplace_back(
        Worker{.name = name, .examples = pace.examples, .rate = pace.rate, .refused = pace.refused});
    for (const auto& [slot, lease] : leases_) {
      if (lease.worker != name) continue;
      worker.chunk = slot.first;
      worker.age = now - lease.dealt;
    }
  }
  return workers;
}

}  // namespace weir
