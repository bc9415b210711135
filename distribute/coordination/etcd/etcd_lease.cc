#include "distribute/coordination/etcd/etcd_lease.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"

namespace weir::coordination {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

EtcdLease::EtcdLease(EtcdClient* client, LeaseId id, absl::Duration ttl, Time granted)
    : client_(client), id_(id), ttl_(ttl), expiry_(granted + absl::ToChronoNanoseconds(ttl)), thread_([this] {
        Keep();
      }) {}

EtcdLease::~EtcdLease() {
  stop_.StartCancel(errors::Cancelled("The lease is no longer kept"));
  thread_.join();
}

void EtcdLease::Keep() {
  absl::Status last;
  for (;;) {
    const absl::Duration left = absl::FromChrono(expiry_ - Clock::now());
    if (left <= absl::ZeroDuration()) {
      lost_.StartCancel(errors::FailedPrecondition("Lease ", id_, " may have run out: it was not renewed for ",
                                                   absl::FormatDuration(ttl_), " (", last.message(), ")"));
      return;
    }
    // Retries a failed renewal soon.
    const absl::Duration pause =
        last.ok() ? std::max(left - ttl_ * 2 / 3, absl::ZeroDuration()) : std::min(left, ttl_ / 20);
    if (!SleepUntil(MonotonicNow() + pause, &stop_).ok()) return;
    // Leaves time to ask another member if one is silent.
    const bool are_more = client_->options().endpoints.size() > 1;
    Renewal renewal = Renew(are_more ? std::min(left, ttl_ / 4) : absl::FromChrono(expiry_ - Clock::now()));
    if (stop_.IsCancelled()) return;
    if (renewal.is_gone) {
      lost_.StartCancel(std::move(renewal.status));
      return;
    }
    // A deadline error says less than the error before it.
    const bool says_less = absl::IsDeadlineExceeded(renewal.status) && !last.ok();
    if (!says_less) last = std::move(renewal.status);
  }
}

EtcdLease::Renewal EtcdLease::Renew(absl::Duration patience) {
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(id_);
  etcdserverpb::LeaseKeepAliveResponse response;
  Time sent;
  const absl::Status status =
      client_->Call("Renewal of a lease", {.deadline = MonotonicNow() + patience, .cancellation = &stop_},
                    /*repeatable=*/true, [&](const EtcdClient::Member& member, grpc::ClientContext* context) {
                      sent = Clock::now();
                      auto stream = member.lease->LeaseKeepAlive(context);
                      const bool answered = stream->Write(request) && stream->Read(&response);
                      stream->WritesDone();
                      const grpc::Status ended = stream->Finish();
                      if (answered) return grpc::Status::OK;
                      return ended.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "it was not answered") : ended;
                    });
  if (!status.ok()) return {status};
  if (response.id() != id_) return {errors::Internal("etcd renewed lease ", response.id(), " instead of ", id_)};
  if (response.ttl() <= 0) {
    return {errors::FailedPrecondition("Lease ", id_, " was revoked or ran out"), /*is_gone=*/true};
  }
  expiry_ = sent + absl::ToChronoNanoseconds(std::min(ttl_, absl::Seconds(response.ttl())));
  return {};
}

}  // namespace weir::coordination
