#include "master/journal/session_journal.h"

#include <algorithm>
#include <utility>

#include "core/checkpoint/tf_record.h"
#include "core/logging.h"
#include "core/random_bits.h"
#include "master/journal/journal_scan.h"

namespace weir {
namespace {

absl::StatusOr<std::string> Frame(const JournalRecord& record) {
  std::string data;
  if (!record.SerializeToString(&data)) {
    return errors::ResourceExhausted("A record of the journal has ", record.ByteSizeLong(),
                                     " bytes, more than a protocol buffer may have");
  }
  return TfRecord(data);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SessionJournal>> SessionJournal::Open(std::unique_ptr<JournalStore> store,
                                                                     Options options) {
  std::unique_ptr<SessionJournal> journal(new SessionJournal(std::move(store), std::move(options)));
  RETURN_IF_ERROR(journal->Read());
  return journal;
}

absl::Status SessionJournal::Read() {
  MutexLock lock(mu_);
  ASSIGN_OR_RETURN(JournalScan scan, ScanJournal(*store_));
  const bool is_new = scan.whole_bytes == 0;
  if (!is_new && scan.index.header().task() != options_.task) {
    return errors::FailedPrecondition("Journal ", store_->name(), " belongs to task ", scan.index.header().task(),
                                      ", not to ", options_.task, ": give each task its own");
  }
  if (scan.torn_bytes > 0) {
    WEIR_LOG(WARNING).With("journal", store_->name()).With("offset", scan.whole_bytes).With("bytes", scan.torn_bytes)
        << "the last record is torn and was cut off: it was being written at a crash";
  }
  index_ = std::move(scan.index);
  size_ = scan.whole_bytes;
  header_ = index_.header();
  header_.set_version(JournalIndex::kVersion);
  header_.set_task(options_.task);
  if (is_new) header_.set_id(RandomBits());
  header_.set_epoch(header_.epoch() + 1);
  const absl::Status begun = Compact();
  if (begun.ok()) return begun;
  if (is_new) return Annotate(begun, absl::StrCat("Journal ", store_->name(), " cannot be written"));
  WEIR_LOG(WARNING).With("journal", store_->name())
      << "sessions are read from the journal, but it cannot be written: " << begun.message();
  must_compact_ = true;
  return absl::OkStatus();
}

absl::Status SessionJournal::Compact() {
  JournalRecord record;
  *record.mutable_header() = header_;
  ASSIGN_OR_RETURN(const std::string head, Frame(record));
  RETURN_IF_ERROR(store_->Replace(head, index_.Live()));
  index_ = index_.Compacted(header_, head.size());
  size_ = head.size() + index_.live_bytes();
  must_compact_ = false;
  return absl::OkStatus();
}

absl::Status SessionJournal::Write(const JournalRecord& record) {
  const auto failed = [&](const absl::Status& status) {
    return Annotate(status, absl::StrCat("Journal ", store_->name(), " cannot be written"));
  };
  ASSIGN_OR_RETURN(const std::string frame, Frame(record));
  const uint64_t dropped = size_ - index_.live_bytes();
  if (must_compact_ || dropped > std::max(options_.min_dropped_bytes, index_.live_bytes())) {
    const absl::Status compacted = Compact();
    if (must_compact_) return failed(compacted);
  }
  JournalIndex changed = index_;
  RETURN_IF_ERROR(changed.Apply(record, {size_, frame.size()}));
  if (const absl::Status appended = store_->Append(frame); !appended.ok()) {
    if (!store_->Truncate(size_).ok()) must_compact_ = true;
    return failed(appended);
  }
  index_ = std::move(changed);
  size_ += frame.size();
  return absl::OkStatus();
}

void SessionJournal::Remove(const JournalRecord& record) {
  const absl::Status written = Write(record);
  if (written.ok()) return;
  WEIR_LOG(WARNING) << written.message() << ". A master that starts now would still know a closed session or callable";
  // Before the next record is written, Compact rewrites the file without the removed object.
  index_.Apply(record, {}).IgnoreError();
  must_compact_ = true;
}

absl::Status SessionJournal::AddSession(const std::string& handle, const tensorflow::CreateSessionRequest& request) {
  JournalRecord record;
  record.mutable_session()->set_handle(handle);
  *record.mutable_session()->mutable_request() = request;
  MutexLock lock(mu_);
  return Write(record);
}

absl::Status SessionJournal::AddExtension(const std::string& handle, int64_t graph_version,
                                          const tensorflow::GraphDef& graph) {
  JournalRecord record;
  record.mutable_extension()->set_handle(handle);
  record.mutable_extension()->set_graph_version(graph_version);
  *record.mutable_extension()->mutable_graph_def() = graph;
  MutexLock lock(mu_);
  return index_.Has(handle) ? Write(record) : absl::OkStatus();
}

absl::Status SessionJournal::AddCallable(const std::string& handle, int64_t callable,
                                         const tensorflow::CallableOptions& options) {
  JournalRecord record;
  record.mutable_callable()->set_handle(handle);
  record.mutable_callable()->set_callable(callable);
  *record.mutable_callable()->mutable_options() = options;
  MutexLock lock(mu_);
  return index_.Has(handle) ? Write(record) : absl::OkStatus();
}

void SessionJournal::RemoveCallable(const std::string& handle, int64_t callable) {
  JournalRecord record;
  record.mutable_callable_release()->set_handle(handle);
  record.mutable_callable_release()->set_callable(callable);
  MutexLock lock(mu_);
  if (index_.Has(handle)) Remove(record);
}

void SessionJournal::RemoveSession(const std::string& handle) {
  JournalRecord record;
  record.mutable_session_end()->set_handle(handle);
  MutexLock lock(mu_);
  if (index_.Has(handle)) Remove(record);
}

bool SessionJournal::Has(const std::string& handle) const {
  MutexLock lock(mu_);
  return index_.Has(handle);
}

std::vector<std::string> SessionJournal::Handles() const {
  MutexLock lock(mu_);
  return index_.Handles();
}

absl::StatusOr<RecordedSession> SessionJournal::Load(const std::string& handle) const {
  MutexLock lock(mu_);
  if (!index_.Has(handle)) return errors::NotFound("Journal ", store_->name(), " has no session ", handle);
  RecordedSession session;
  for (const JournalExtent& extent : index_.RecordsOf(handle)) {
    ASSIGN_OR_RETURN(JournalRecord record, ReadJournalRecord(*store_, extent));
    if (record.has_session()) session.request = std::move(*record.mutable_session()->mutable_request());
    if (record.has_extension())
      session.extensions.push_back(std::move(*record.mutable_extension()->mutable_graph_def()));
    if (record.has_callable()) {
      session.callables[record.callable().callable()] = std::move(*record.mutable_callable()->mutable_options());
    }
  }
  return session;
}

}  // namespace weir
