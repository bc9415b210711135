#include "distribute/transport/clients/client_leases.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/logging.h"

namespace weir {

void LeaseTable::Add(const std::string& session, absl::string_view connection, absl::Time now) {
  Session& added = sessions_[session];
  added.connections.emplace(connection);
  added.last_seen = now;
}

absl::Status LeaseTable::BeginCall(const std::string& session, absl::string_view connection, absl::Time now) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) {
    if (std::find(expired_.begin(), expired_.end(), session) == expired_.end()) return absl::OkStatus();
    return errors::Aborted("Session ", session, " has ended: its client was not connected for ",
                           absl::FormatDuration(lease_),
                           ". Create a new session, or start the server with a longer --session-lease");
  }
  if (!it->second.connections.contains(connection)) it->second.connections.emplace(connection);
  it->second.last_seen = now;
  ++it->second.calls;
  return absl::OkStatus();
}

void LeaseTable::EndCall(const std::string& session, absl::Time now) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return;
  --it->second.calls;
  it->second.last_seen = now;
}

LeaseTable::Expired LeaseTable::Expire(absl::Time now,
                                       const std::function<bool(absl::string_view connection)>& is_open) {
  Expired expired;
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    const auto current = it++;
    Session& session = current->second;
    absl::erase_if(session.connections, [&](const std::string& connection) { return !is_open(connection); });
    if (session.calls > 0 || !session.connections.empty()) {
      session.last_seen = now;
      session.is_disconnected = false;
    }
    const absl::Duration gone = now - session.last_seen;
    if (gone >= kPatience && !session.is_disconnected) {
      session.is_disconnected = true;
      expired.disconnected.push_back(current->first);
    }
    if (gone < lease_) continue;
    expired.sessions.push_back(current->first);
    expired_.push_back(current->first);
    if (expired_.size() > kRemembered) expired_.pop_front();
    sessions_.erase(current);
  }
  return expired;
}

void ClientLeases::Add(const std::string& session, absl::string_view connection) {
  MutexLock lock(mu_);
  table_.Add(session, connection, MonotonicNow());
}

void ClientLeases::Remove(const std::string& session) {
  MutexLock lock(mu_);
  table_.Remove(session);
}

ClientLeases::Call::Call(ClientLeases* leases, std::string session, std::string connection)
    : leases_(leases), session_(std::move(session)), connection_(std::move(connection)) {
  MutexLock lock(leases_->mu_);
  status_ = leases_->table_.BeginCall(session_, connection_, MonotonicNow());
  is_known_ = leases_->table_.Has(session_);
}

ClientLeases::Call::~Call() {
  if (!is_known_) return;
  MutexLock lock(leases_->mu_);
  leases_->table_.EndCall(session_, MonotonicNow());
}

void ClientLeases::Call::Succeeded() {
  if (!is_known_) leases_->Add(session_, connection_);
}

absl::Status ClientLeases::Start(Handlers handlers) {
  handlers_ = std::move(handlers);
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    return errors::ResourceExhausted("No thread for the leases of sessions (", error.what(),
                                     "): raise the limits (ulimit -a)");
  }
  return absl::OkStatus();
}

void ClientLeases::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool ClientLeases::AwaitNextCheck(absl::Duration interval, LeaseTable::Expired* expired) {
  MutexLock lock(mu_);
  const absl::Time next = MonotonicNow() + interval;
  while (!stopping_ && MonotonicNow() < next) lock.WaitUntil(stop_, ToSteady(next));
  if (!stopping_) *expired = table_.Expire(MonotonicNow(), handlers_.is_open);
  return !stopping_;
}

void ClientLeases::Run() {
  LeaseTable::Expired expired;
  while (AwaitNextCheck(std::min(lease_ / 4, absl::Seconds(30)), &expired)) {
    for (const std::string& session : expired.disconnected) handlers_.disconnected(session);
    for (const std::string& session : expired.sessions) {
      WEIR_LOG(WARNING).With("session", session)
          << "ending the session: its client was not connected for " << absl::FormatDuration(lease_);
      handlers_.end(session);
    }
  }
}

}  // namespace weir
