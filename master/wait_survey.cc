#include "master/wait_survey.h"

#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "core/mutex.h"

namespace weir {
namespace {

// Destroyed with its last answer.
struct Survey {
  ~Survey() { done(std::move(waits)); }

  std::function<void(StepWaitsById)> done;
  Mutex mu;
  StepWaitsById waits GUARDED_BY(mu);
};

struct Call {
  std::shared_ptr<WorkerInterface> worker;
  GetStepWaitsRequest request;
  GetStepWaitsResponse response;
};

}  // namespace

void SurveyWaits(const std::vector<std::shared_ptr<Step>>& steps, absl::Time deadline,
                 std::function<void(StepWaitsById)> done) {
  auto survey = std::make_shared<Survey>();
  survey->done = std::move(done);
  absl::btree_map<std::string, std::shared_ptr<Call>> calls;
  for (const auto& step : steps) {
    for (const ClientGraph::Part& part : step->graph().parts()) {
      std::shared_ptr<Call>& call = calls[part.task];
      if (call == nullptr) call = std::make_shared<Call>();
      call->worker = part.worker;
      call->request.set_session_handle(step->session_handle());
      call->request.add_step_id(step->step_id());
    }
  }
  for (const auto& entry : calls) {
    const std::shared_ptr<Call>& call = entry.second;
    call->worker->GetStepWaitsAsync({.deadline = deadline}, &call->request, &call->response,
                                    [survey, call](const absl::Status& status) {
                                      if (!status.ok()) return;
                                      MutexLock lock(survey->mu);
                                      for (StepWait& wait : *call->response.mutable_wait()) {
                                        std::vector<StepWait>& of_step = survey->waits[wait.step_id()];
                                        of_step.push_back(std::move(wait));
                                      }
                                    });
  }
}

std::string DescribeWait(const StepWait& wait) {
  return absl::StrCat("node '", wait.node(), "' (", wait.op(), ") on ", wait.device(),
                      wait.shared_object().empty() ? "" : " at ", wait.shared_object());
}

}  // namespace weir
