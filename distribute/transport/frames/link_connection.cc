#include "distribute/transport/frames/link_connection.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/logging.h"

namespace weir {
namespace {

constexpr absl::Duration kPause = absl::Seconds(1);

// After these errors the task may accept a link later.
bool MayChange(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
         absl::IsResourceExhausted(status) || absl::IsAlreadyExists(status);
}

const char* WhatGoes(LinkUse use) {
  return use == LinkUse::CALLS ? "steps' calls and tensors" : "buffers of collectives";
}

}  // namespace

template <typename Requests>
LinkConnection<Requests>::LinkConnection(std::string task, std::vector<LinkOpener*> openers)
    : task_(std::move(task)),
      openers_(std::move(openers)),
      state_(openers_.empty() ? State::kRejected : State::kIdle) {}

template <typename Requests>
LinkConnection<Requests>::~LinkConnection() {
  std::shared_ptr<FrameLink> link;
  {
    MutexLock lock(mu_);
    link = std::move(link_);
  }
  if (link != nullptr) link->Break(errors::Unavailable("The task is shutting down"));
}

template <typename Requests>
std::shared_ptr<Requests> LinkConnection<Requests>::Current() {
  size_t opener = 0;
  {
    MutexLock lock(mu_);
    if (state_ == State::kOpen) {
      if (requests_->is_open()) return requests_;
      state_ = State::kIdle;
      requests_ = nullptr;
      link_ = nullptr;
      not_before_ = MonotonicNow() + kPause;
    }
    if (state_ != State::kIdle || MonotonicNow() < not_before_) return nullptr;
    state_ = State::kAsking;
    opener = opener_;
  }
  Ask(opener);
  return nullptr;
}

template <typename Requests>
void LinkConnection<Requests>::Ask(size_t opener) {
  auto requests = std::make_shared<std::shared_ptr<Requests>>();
  openers_[opener]->Open(
      Requests::kUse,
      [task = task_, requests](const std::shared_ptr<FrameLink>& link) {
        return *requests = std::make_shared<Requests>(task, link);
      },
      [this, opener, requests](const absl::StatusOr<std::shared_ptr<FrameLink>>& link) {
        Answered(opener, link, std::move(*requests));
      });
}

template <typename Requests>
void LinkConnection<Requests>::Answered(size_t opener, const absl::StatusOr<std::shared_ptr<FrameLink>>& link,
                                        std::shared_ptr<Requests> requests) {
  const absl::Status& status = link.status();
  const bool is_rejected = !status.ok() && !MayChange(status);
  const bool has_next = opener + 1 < openers_.size();
  {
    MutexLock lock(mu_);
    if (status.ok()) {
      state_ = State::kOpen;
      link_ = *link;
      requests_ = std::move(requests);
    } else if (!is_rejected) {
      state_ = State::kIdle;
      not_before_ = MonotonicNow() + kPause;
    } else if (has_next) {
      opener_ = opener + 1;
    } else {
      state_ = State::kRejected;
    }
  }
  if (status.ok()) {
    WEIR_LOG(INFO).With("task", task_) << WhatGoes(Requests::kUse) << " go through " << openers_[opener]->name();
  } else if (is_rejected) {
    WEIR_LOG(INFO).With("task", task_).With("reason", status.ToString())
        << WhatGoes(Requests::kUse) << " do not go through " << openers_[opener]->name()
        << (has_next ? "" : ", but go over gRPC");
    if (has_next) Ask(opener + 1);
  }
}

template class LinkConnection<BufferRequests>;
template class LinkConnection<CallRequests>;

}  // namespace weir
