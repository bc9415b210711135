#include "distribute/coordination/in_process_store.h"

#include <utility>

#include "distribute/coordination/caller_wait.h"

namespace weir::coordination {
namespace {

constexpr size_t kMaxEvents = 1024;  // approximate limit of Next

}  // namespace

class InProcessStore::WatchHandle : public Watch {
 public:
  WatchHandle(InProcessStore* store, Keys keys, int64_t from) : store_(store), keys_(std::move(keys)), next_(from) {
    MutexLock lock(store_->mu_);
    store_->watches_.insert(this);
  }
  ~WatchHandle() override {
    MutexLock lock(store_->mu_);
    store_->watches_.erase(this);
  }

  absl::StatusOr<std::vector<Event>> Next(const CallOptions& options) override {
    CallerWait wait(options, store_->mu_, changed_);
    MutexLock lock(store_->mu_);
    for (;;) {
      const KeyTable& table = store_->table_;
      if (next_ < table.compacted()) return CompactedError(keys_, next_, table.compacted());
      std::vector<Event> events = table.EventsFrom(keys_, kMaxEvents, &next_);
      if (!events.empty()) return events;
      if (absl::Status status = wait.Next(lock); !status.ok()) {
        return Annotate(std::move(status), absl::StrCat("Watch of ", keys_.ToString()));
      }
    }
  }

  const Keys& keys() const { return keys_; }
  void Wake() { changed_.notify_all(); }

 private:
  InProcessStore* const store_;
  const Keys keys_;
  int64_t next_;  // guarded by the store's lock
  std::condition_variable changed_;
};

class InProcessStore::LeaseHandle : public Lease {
 public:
  LeaseHandle(InProcessStore* store, LeaseId id, absl::Duration ttl, std::shared_ptr<CancellationManager> lost)
      : store_(store), id_(id), ttl_(ttl), lost_(std::move(lost)) {}
  ~LeaseHandle() override { store_->Abandon(id_, ttl_); }

  LeaseId id() const override { return id_; }
  absl::Duration ttl() const override { return ttl_; }
  CancellationManager& lost() override { return *lost_; }

 private:
  InProcessStore* const store_;
  const LeaseId id_;
  const absl::Duration ttl_;
  const std::shared_ptr<CancellationManager> lost_;
};

InProcessStore::InProcessStore(Options options)
    : clock_(options.clock != nullptr ? std::move(options.clock) : std::make_shared<SystemAlarmClock>()),
      table_(options.max_history_bytes) {}

InProcessStore::~InProcessStore() {
  absl::flat_hash_map<LeaseId, AlarmClock::Token> alarms;
  {
    MutexLock lock(mu_);
    alarms.swap(alarms_);
  }
  for (const auto& [id, token] : alarms) clock_->Cancel(token);
}

absl::StatusOr<TransactionResult> InProcessStore::Commit(const CallOptions& options, const Transaction& transaction) {
  RETURN_IF_ERROR(CheckTransaction(transaction));
  RETURN_IF_ERROR(CheckCaller(options));
  MutexLock lock(mu_);
  const int64_t before = table_.revision();
  absl::StatusOr<TransactionResult> result = table_.Commit(transaction);
  Notify(before);
  return result;
}

absl::StatusOr<std::unique_ptr<Watch>> InProcessStore::NewWatch(Keys keys, int64_t from) {
  RETURN_IF_ERROR(CheckWatch(keys, from));
  return std::make_unique<WatchHandle>(this, std::move(keys), from);
}

absl::StatusOr<std::unique_ptr<Lease>> InProcessStore::GrantLease(const CallOptions& options, absl::Duration ttl) {
  ASSIGN_OR_RETURN(const int64_t seconds, CheckedSeconds(ttl));
  RETURN_IF_ERROR(CheckCaller(options));
  auto lost = std::make_shared<CancellationManager>();
  MutexLock lock(mu_);
  const LeaseId id = next_lease_++;
  table_.AddLease(id);
  lost_.emplace(id, lost);
  return std::make_unique<LeaseHandle>(this, id, absl::Seconds(seconds), std::move(lost));
}

absl::Status InProcessStore::RevokeLease(const CallOptions& options, LeaseId id) {
  RETURN_IF_ERROR(CheckCaller(options));
  const std::optional<AlarmClock::Token> alarm = End(id, errors::FailedPrecondition("Lease ", id, " was revoked"));
  if (alarm) clock_->Cancel(*alarm);
  return absl::OkStatus();
}

absl::Status InProcessStore::Compact(const CallOptions& options, int64_t revision) {
  RETURN_IF_ERROR(CheckCaller(options));
  MutexLock lock(mu_);
  return table_.Compact(revision);
}

void InProcessStore::Abandon(LeaseId id, absl::Duration ttl) {
  MutexLock lock(mu_);
  lost_.erase(id);
  if (!table_.HasLease(id)) return;
  alarms_[id] = clock_->Schedule(clock_->Now() + ttl,
                                 [this, id] { End(id, errors::FailedPrecondition("Lease ", id, " ran out")); });
}

std::optional<AlarmClock::Token> InProcessStore::End(LeaseId id, absl::Status reason) {
  std::shared_ptr<CancellationManager> lost;
  std::optional<AlarmClock::Token> alarm;
  {
    MutexLock lock(mu_);
    const int64_t before = table_.revision();
    if (!table_.RemoveLease(id)) return std::nullopt;
    Notify(before);
    // The alarm does not use this object after unlocking, so a running alarm is not waited for.
    if (auto found = alarms_.extract(id); !found.empty()) alarm = found.mapped();
    if (auto found = lost_.extract(id); !found.empty()) lost = std::move(found.mapped());
  }
  if (lost != nullptr) lost->StartCancel(std::move(reason));
  return alarm;
}

void InProcessStore::Notify(int64_t before) {
  if (table_.revision() == before) return;
  for (WatchHandle* watch : watches_) {
    int64_t next = before + 1;
    if (!table_.EventsFrom(watch->keys(), 1, &next).empty()) watch->Wake();
  }
}

}  // namespace weir::coordination
