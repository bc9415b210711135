// A master's sessions and steps, as status pages show them.
#include <algorithm>
#include <deque>
#include <utility>

#include "core/clock.h"
#include "core/threads/blocking_call.h"
#include "master/master.h"
#include "master/wait_survey.h"

namespace weir {
namespace {

// Younger steps are about to end.
constexpr absl::Duration kLong = absl::Milliseconds(100);

}  // namespace

SessionSummary MasterSession::Summary() const {
  SessionSummary summary{.number = options_.number, .age = MonotonicNow() - created_};
  {
    MutexLock lock(mu_);
    summary.nodes = placed_ != nullptr ? placed_->graph->num_nodes() : 0;
    summary.graph_version = graph_version_;
    summary.client_graphs = client_graphs_.size();
    summary.callables = callables_.size();
  }
  {
    MutexLock lock(steps_mu_);
    summary.steps = steps_started_;
    summary.running_steps = steps_.size();
  }
  for (const tensorflow::DeviceAttributes& device : tasks_.Devices()) {
    const auto name = DeviceName::ParseFull(device.name());
    if (!name.ok()) continue;
    std::string task = name->TaskName();
    if (summary.tasks.empty() || summary.tasks.back() != task) summary.tasks.push_back(std::move(task));
  }
  return summary;
}

std::shared_ptr<const Graph> MasterSession::graph() const {
  MutexLock lock(mu_);
  return placed_ == nullptr ? nullptr : std::shared_ptr<const Graph>(placed_, placed_->graph.get());
}

std::vector<SessionSummary> Master::Sessions() const {
  std::vector<SessionSummary> summaries;
  for (const auto& session : OpenSessions()) summaries.push_back(session->Summary());
  std::sort(summaries.begin(), summaries.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return summaries;
}

absl::StatusOr<std::shared_ptr<const Graph>> Master::SessionGraph(int64_t session) const {
  for (const auto& open : OpenSessions()) {
    if (open->number() != session) continue;
    if (std::shared_ptr<const Graph> graph = open->graph(); graph != nullptr) return graph;
  }
  return errors::NotFound("This task's master has no session ", session);
}

std::vector<StepSummary> Master::LongestSteps(size_t most, absl::Time deadline) const {
  struct Found {
    std::shared_ptr<MasterSession> session;
    std::vector<std::shared_ptr<Step>> steps;
  };
  const absl::Time now = MonotonicNow();
  std::vector<std::pair<absl::Time, Found>> found;
  for (const auto& session : OpenSessions()) {
    for (auto& step : session->RunningSteps(now - kLong)) found.push_back({step->start(), {session, {step}}});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (found.size() > most) found.resize(most);
  // A survey is of one session.
  std::vector<Found> by_session;
  for (const auto& entry : found) {
    const Found& step = entry.second;
    const auto of_session = std::find_if(by_session.begin(), by_session.end(),
                                         [&](const Found& known) { return known.session == step.session; });
    if (of_session == by_session.end()) {
      by_session.push_back(step);
    } else {
      of_session->steps.push_back(step.steps.front());
    }
  }
  std::deque<Awaited<StepWaitsById>> surveys;
  for (const Found& of_session : by_session) {
    Awaited<StepWaitsById>& survey = surveys.emplace_back();
    SurveyWaits(of_session.steps, deadline, [&survey](StepWaitsById waits) { survey.Set(std::move(waits)); });
  }
  StepWaitsById waits;
  for (Awaited<StepWaitsById>& survey : surveys) waits.merge(survey.Take());
  std::vector<StepSummary> summaries;
  for (const auto& [start, step] : found) {
    Step& running = *step.steps.front();
    summaries.push_back({.session = step.session->number(),
                         .age = now - start,
                         .running_on = running.RunningOn(),
                         .waits = std::move(waits[running.step_id()])});
  }
  return summaries;
}

}  // namespace weir
