// Training that saves checkpoints: weir_save_stall MIB DIR background|in_steps|none [dense|rows]
// Trains MIB MiB of variables and saves them in DIR, or, with "none", only before the first step and after the last.
// - dense (the default): layers whose weights all change in each step; saved every 20 steps.
// - rows: tables of which each step changes 1,024 rows of 256 numbers; saved every 400 steps.
// Prints "ready"; then each line N on standard input runs N steps and prints by how many seconds the longest one
// exceeds the median, saves included.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "client/initializers.h"
#include "client/layers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/training_loop.h"
#include "core/clock.h"

namespace weir::bench {
namespace {

constexpr int kWidth = 2048, kBatch = 16;
constexpr int kLayerMib = kWidth * kWidth * 4 >> 20;
constexpr int kRowWidth = 256, kTableMib = 512, kRowsInAStep = 1024;

// Times from the end of a step to the end of the next, and stops after some.
class Stopwatch : public TrainingHook {
 public:
  void Restart(int steps) {
    left_ = steps;
    seconds_.clear();
  }
  absl::Status Begin(Session&, int64_t) override {
    last_ = MonotonicNow();
    return absl::OkStatus();
  }
  absl::StatusOr<bool> AfterStep(Session&, const StepReport&) override {
    const absl::Time now = MonotonicNow();
    seconds_.push_back(absl::ToDoubleSeconds(now - last_));
    last_ = now;
    return --left_ <= 0;
  }
  double LongestOverMedian() {
    std::sort(seconds_.begin(), seconds_.end());
    const double median = seconds_[seconds_.size() / 2];
    std::fprintf(stderr, "median %.1f ms, longest %.1f ms, %zu steps\n", median * 1e3, seconds_.back() * 1e3,
                 seconds_.size());
    return seconds_.back() - median;
  }

 private:
  int left_ = 0;
  absl::Time last_;
  std::vector<double> seconds_;
};

Output DenseLoss(const Scope& scope, int mib) {
  Tensor batch(DT_FLOAT, TensorShape({kBatch, kWidth}));
  for (int64_t i = 0; i < batch.NumElements(); ++i) batch.data<float>()[i] = static_cast<float>(i % 7) / 7;
  Output value = scope.Constant(batch);
  for (int i = 0; i < std::max(1, mib / kLayerMib); ++i) {
    value = layers::Dense(scope, kWidth, kWidth, layers::Activation::kRelu)(scope, value);
  }
  return ops::Mean(scope, ops::Square(scope, value), Tensor::Vector<int32_t>({0, 1}));
}

// Of random rows of each table.
Output RowsLoss(const Scope& scope, int mib) {
  Output loss;
  for (int left = mib; left > 0; left -= kTableMib) {
    const int64_t rows = (int64_t{std::min(left, kTableMib)} << 20) / (kRowWidth * 4);
    const ResourceVariable table =
        ResourceVariable::Make(scope, TensorShape({rows, kRowWidth}), DT_FLOAT, initializers::Zeros());
    const Output indices = ops::RandomUniformInt(scope, Tensor::Vector<int32_t>({kRowsInAStep}),
                                                 Tensor::Scalar<int64_t>(0), Tensor::Scalar<int64_t>(rows));
    const Output taken = ops::ResourceGather(scope, table.handle(), indices, DT_FLOAT);
    const Output part = ops::Mean(scope, ops::Square(scope, ops::Sub(scope, taken, Tensor::Scalar<float>(1))),
                                  Tensor::Vector<int32_t>({0, 1}));
    loss = loss.valid() ? Output(ops::AddV2(scope, loss, part)) : part;
  }
  return loss;
}

absl::Status Train(int mib, const std::string& dir, absl::string_view mode, bool rows) {
  const Scope scope = Scope::NewRoot();
  const Output loss = rows ? RowsLoss(scope, mib) : DenseLoss(scope, mib);
  const int steps_between_saves = rows ? 400 : 20;
  const ResourceVariable step = GlobalStep(scope);
  const auto stopwatch = std::make_shared<Stopwatch>();
  TrainingLoopOptions options;
  options.train = GradientDescentOptimizer(0.01)->Minimize(scope, loss, step);
  options.global_step = step;
  options.hooks = {stopwatch};
  options.checkpoint_dir = dir;
  options.checkpoint_steps = mode == "none" ? 0 : steps_between_saves;
  options.max_to_keep = 2;
  options.saves_in_background = mode == "background";
  TrainingLoop loop(scope, options);
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Local(scope));
  stopwatch->Restart(steps_between_saves + 1);
  RETURN_IF_ERROR(loop.Run(*session).status());
  std::cout << "ready" << std::endl;
  for (int steps; std::cin >> steps;) {
    stopwatch->Restart(steps);
    RETURN_IF_ERROR(loop.Run(*session).status());
    std::cout << stopwatch->LongestOverMedian() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  const absl::string_view variables = argc == 5 ? argv[4] : "dense";
  if (argc < 4 || argc > 5 || std::atoi(argv[1]) <= 0 || (variables != "dense" && variables != "rows")) {
    std::fprintf(stderr, "usage: %s MIB DIR background|in_steps|none [dense|rows]\n", argv[0]);
    return 2;
  }
  const absl::Status status = weir::bench::Train(std::atoi(argv[1]), argv[2], argv[3], variables == "rows");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
