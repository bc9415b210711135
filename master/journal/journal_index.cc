#include "master/journal/journal_index.h"

#include <algorithm>

namespace weir {

absl::Status JournalIndex::Apply(const JournalRecord& record, JournalExtent extent) {
  if (header_.version() == 0 && !record.has_header()) return errors::DataLoss("The first record is no header");
  switch (record.change_case()) {
    case JournalRecord::kHeader:
      return ApplyHeader(record.header());
    case JournalRecord::kSession:
      return ApplySession(record.session(), extent);
    case JournalRecord::kExtension:
      return ApplyExtension(record.extension(), extent);
    case JournalRecord::kCallable:
      return ApplyCallable(record.callable(), extent);
    case JournalRecord::kCallableRelease:
      return ApplyRelease(record.callable_release());
    case JournalRecord::kSessionEnd:
      return ApplyEnd(record.session_end());
    case JournalRecord::CHANGE_NOT_SET:
      break;
  }
  return errors::DataLoss("A record of unknown kind");
}

absl::Status JournalIndex::ApplyHeader(const JournalRecord::Header& header) {
  if (header_.version() != 0) return errors::DataLoss("A second header");
  if (header.version() != kVersion) {
    return errors::Unimplemented("The journal has format version ", header.version(), ", but this build reads ",
                                 kVersion, ": use the build that wrote it, or move the file away to start without ",
                                 "its sessions");
  }
  header_ = header;
  return absl::OkStatus();
}

absl::StatusOr<JournalIndex::Session*> JournalIndex::Find(const std::string& handle) {
  const auto it = sessions_.find(handle);
  if (it == sessions_.end()) return errors::DataLoss("A record of session '", handle, "', which is not open");
  return &it->second;
}

absl::Status JournalIndex::ApplySession(const JournalRecord::Session& session, JournalExtent extent) {
  if (session.handle().empty()) return errors::DataLoss("A session without a handle");
  const auto [entry, added] = sessions_.try_emplace(session.handle());
  if (!added) return errors::DataLoss("Session '", session.handle(), "' is opened a second time");
  entry->second.graphs.push_back(extent);
  live_bytes_ += extent.size;
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyExtension(const JournalRecord::Extension& extension, JournalExtent extent) {
  ASSIGN_OR_RETURN(Session* const session, Find(extension.handle()));
  const int64_t version = static_cast<int64_t>(session->graphs.size()) - 1;
  if (extension.graph_version() != version) {
    return errors::DataLoss("Session '", extension.handle(), "' has graph version ", version,
                            ", but an extension is of version ", extension.graph_version());
  }
  session->graphs.push_back(extent);
  live_bytes_ += extent.size;
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyCallable(const JournalRecord::Callable& callable, JournalExtent extent) {
  ASSIGN_OR_RETURN(Session* const session, Find(callable.handle()));
  if (!session->callables.try_emplace(callable.callable(), extent).second) {
    return errors::DataLoss("Callable ", callable.callable(), " of session '", callable.handle(),
                            "' is made a second time");
  }
  live_bytes_ += extent.size;
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyRelease(const JournalRecord::CallableRelease& release) {
  ASSIGN_OR_RETURN(Session* const session, Find(release.handle()));
  const auto it = session->callables.find(release.callable());
  if (it == session->callables.end()) {
    return errors::DataLoss("Session '", release.handle(), "' has no callable ", release.callable(), " to release");
  }
  live_bytes_ -= it->second.size;
  session->callables.erase(it);
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyEnd(const JournalRecord::SessionEnd& end) {
  RETURN_IF_ERROR(Find(end.handle()).status());
  for (const JournalExtent& extent : RecordsOf(end.handle())) live_bytes_ -= extent.size;
  sessions_.erase(end.handle());
  return absl::OkStatus();
}

std::vector<std::string> JournalIndex::Handles() const {
  std::vector<std::string> handles;
  for (const auto& [handle, session] : sessions_) handles.push_back(handle);
  return handles;
}

std::vector<JournalExtent> JournalIndex::RecordsOf(const std::string& handle) const {
  const auto it = sessions_.find(handle);
  if (it == sessions_.end()) return {};
  std::vector<JournalExtent> records = it->second.graphs;
  for (const auto& [callable, extent] : it->second.callables) records.push_back(extent);
  return records;
}

std::vector<JournalExtent> JournalIndex::Live() const {
  std::vector<JournalExtent> live;
  for (const auto& [handle, session] : sessions_) {
    const std::vector<JournalExtent> records = RecordsOf(handle);
    live.insert(live.end(), records.begin(), records.end());
  }
  std::sort(live.begin(), live.end(),
            [](const JournalExtent& a, const JournalExtent& b) { return a.offset < b.offset; });
  return live;
}

JournalIndex JournalIndex::Compacted(const JournalRecord::Header& header, uint64_t header_bytes) const {
  std::map<uint64_t, uint64_t> moved;  // offsets
  uint64_t end = header_bytes;
  for (const JournalExtent& extent : Live()) {
    moved[extent.offset] = end;
    end += extent.size;
  }
  JournalIndex compacted = *this;
  compacted.header_ = header;
  for (auto& [handle, session] : compacted.sessions_) {
    for (JournalExtent& extent : session.graphs) extent.offset = moved[extent.offset];
    for (auto& [callable, extent] : session.callables) extent.offset = moved[extent.offset];
  }
  return compacted;
}

}  // namespace weir
