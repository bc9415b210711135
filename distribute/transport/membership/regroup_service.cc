#include "distribute/transport/membership/regroup_service.h"

#include <algorithm>

#include "core/clock.h"
#include "distribute/transport/message_method.h"

namespace weir {

std::vector<ServerMethod> RegroupService::Methods() {
  return {{kPutNoteMethod,
           [this](ServerCall* call) {
             ServeMessage<PutNoteRequest, PutNoteResponse>(
                 call, [this](const CallOptions&, auto messages, auto done) { done(Put(messages->request)); });
           }},
          {kGetNoteMethod, [this](ServerCall* call) {
             ServeMessage<GetNoteRequest, GetNoteResponse>(call, [this](const CallOptions&, auto messages, auto done) {
               done(Get(messages->request, &messages->response));
             });
           }}};
}

absl::Status RegroupService::Put(const PutNoteRequest& request) {
  if (request.ByteSizeLong() > kMaxNoteBytes) {
    return errors::ResourceExhausted("The note of training '", request.training().substr(0, 100), "' has ",
                                     request.ByteSizeLong(), " bytes; at most ", kMaxNoteBytes);
  }
  MutexLock lock(mu_);
  if (!notes_.contains(request.training()) && notes_.size() >= kMaxTrainings) {
    // Of a training that is over, most likely.
    notes_.erase(std::min_element(notes_.begin(), notes_.end(),
                                  [](const auto& a, const auto& b) { return a.second.put < b.second.put; }));
  }
  notes_[request.training()] = {.note = request.note(), .put = MonotonicNow()};
  return absl::OkStatus();
}

absl::Status RegroupService::Get(const GetNoteRequest& request, GetNoteResponse* response) {
  MutexLock lock(mu_);
  const auto found = notes_.find(request.training());
  if (found == notes_.end()) {
    return errors::NotFound("No worker of this task takes part in training '", request.training().substr(0, 100), "'");
  }
  *response->mutable_note() = found->second.note;
  response->set_age_micros(absl::ToInt64Microseconds(MonotonicNow() - found->second.put));
  return absl::OkStatus();
}

}  // namespace weir
