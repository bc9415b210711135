#include "distribute/transport/membership/regroup_service.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "core/clock.h"
#include "core/device/device_name.h"
#include "distribute/transport/message_method.h"

namespace weir {
namespace {

// More generations than a training has.
constexpr int64_t kMostGenerations = int64_t{1} << 53;

absl::Status CheckMember(const TrainingMember& member) {
  const absl::StatusOr<DeviceName> name = DeviceName::Parse(member.task());
  if (name.ok() && name->job && name->task) return absl::OkStatus();
  return errors::InvalidArgument("A worker's note names '", absl::CEscape(member.task().substr(0, 100)),
                                 "', which is no task");
}

absl::Status CheckNote(const TrainingNote& note) {
  RETURN_IF_ERROR(CheckMember(note.self()));
  for (const TrainingGeneration* const generation : {&note.held(), &note.plan(), &note.prepared(), &note.abandoned()}) {
    if (generation->number() < 0 || generation->number() > kMostGenerations) {
      return errors::InvalidArgument("A worker's note has a generation ", generation->number());
    }
    for (const TrainingMember& member : generation->member()) RETURN_IF_ERROR(CheckMember(member));
  }
  return absl::OkStatus();
}

}  // namespace

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
  RETURN_IF_ERROR(CheckNote(request.note()));
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
