#include "tests/object_store/counting_run.h"

#include "client/initializers.h"
#include "client/training_loop.h"

namespace weir {

absl::StatusOr<CountingResult> RunCounting(const std::string& dir, int64_t max_steps) {
  const Scope scope = Scope::NewRoot();
  const ResourceVariable total =
      ResourceVariable::Make(scope.WithName("total"), TensorShape(), DT_INT64, initializers::Zeros());
  TrainingLoopOptions options;
  options.global_step = GlobalStep(scope);
  const Operation add = total.AssignAdd(scope, scope.Constant(Tensor::Scalar<int64_t>(1)));
  options.train = options.global_step.AssignAdd(scope.WithControlDependencies({add}), int64_t{1});
  options.checkpoint_dir = dir;
  options.checkpoint_steps = 2;
  options.max_steps = max_steps;
  const auto steps = std::make_shared<AtStep>(-1, [] {});
  options.hooks = {steps};
  TrainingLoop loop(scope, options);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Local(scope));
  CountingResult result;
  ASSIGN_OR_RETURN(result.last_step, loop.Run(*session));
  result.first_step = steps->first_step;
  ASSIGN_OR_RETURN(const std::vector<Tensor> value, session->Run({total.value()}));
  result.total = value[0].scalar<int64_t>();
  return result;
}

}  // namespace weir
