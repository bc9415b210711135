// The chief's updates of synchronous training in a training loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "client/session.h"
#include "client/strategy/chief_thread.h"
#include "client/training_hook.h"

namespace weir {

// For the loop of worker 0: runs a ChiefThread while the loop steps. There is none during a recovery, because
// Strategy::Resume() drops the gradients that were handed in, which a waiting update would take.
class ChiefHook : public TrainingHook {
 public:
  using MakeSession = std::function<absl::StatusOr<std::unique_ptr<Session>>()>;

  // `connect` opens a session of the loop's graph, once at the beginning and after each recovery; `steps` are
  // ParameterServerStrategy::chief_steps(). Other workers need updates until they have ended: destroy this after that.
  ChiefHook(MakeSession connect, std::vector<Operation> steps)
      : connect_(std::move(connect)), steps_(std::move(steps)) {}

  absl::Status Begin(Session& session, int64_t global_step) override;
  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override;
  void Failed(const absl::Status& cause, int64_t global_step) override;

 private:
  absl::Status Start();

  const MakeSession connect_;
  const std::vector<Operation> steps_;
  std::unique_ptr<Session> session_;
  std::optional<ChiefThread> thread_;  // none during a recovery
};

}  // namespace weir
