#include "distribute/strategy/chief_thread.h"

namespace weir {

ChiefThread::ChiefThread(Session* session, const Operation& update)
    : session_(session), thread_([this, update] {
        do {
          status_ = session_->RunTargets({update});
        } while (status_.ok());
      }) {}

ChiefThread::~ChiefThread() { Stop().IgnoreError(); }

absl::Status ChiefThread::Stop() {
  if (!thread_.joinable()) return status_;
  const absl::Status closed = session_->Close();
  thread_.join();
  const bool by_closing = absl::IsCancelled(status_) || absl::IsAborted(status_);
  if (by_closing) status_ = closed;
  return status_;
}

}  // namespace weir
