// Clients that train while the cluster changes.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

inline constexpr char kPs0[] = "/job:ps/task:0", kWorker0[] = "/job:worker/task:0";
inline constexpr int64_t kWidth = 1000;

inline CallOptions Soon() { return {.deadline = MonotonicNow() + absl::Seconds(30)}; }

inline std::string Full(const std::string& job, int index) {
  return absl::StrCat("/job:", job, "/replica:0/task:", index);
}

// A client that trains a weight, with a slot that the same op updates, and counts its steps in a reference variable.
class Trainer {
 public:
  // `option` is one of RewriterConfig's custom_optimizers; empty: none.
  Trainer(const std::string& target, const std::string& prefix, const std::string& option = "") {
    const Scope ps = scope_.WithDevice(kPs0), worker = scope_.WithDevice(kWorker0);
    const TensorShape shape({kWidth});
    weight_ = ops::VarHandleOp(ps, DT_FLOAT, shape, {.shared_name = absl::StrCat(prefix, "weight")});
    slot_ = ops::VarHandleOp(ps, DT_FLOAT, shape, {.shared_name = absl::StrCat(prefix, "slot")});
    count_ = ops::VariableV2(ps, TensorShape(), DT_INT64, {.shared_name = absl::StrCat(prefix, "count")});
    const Output zeros = ops::Fill(ps, AsTensor<int32_t>({kWidth}), 0.0f);
    initialize_ = {ops::AssignVariableOp(ps, weight_, zeros), ops::AssignVariableOp(ps, slot_, zeros),
                   ops::Assign(ps, count_, AsScalar<int64_t>(0)).op()};
    // weight -= gradient * 1, slot += gradient squared: the gradient depends on the weight, which is pulled.
    read_ = ops::ReadVariableOp(worker, weight_, DT_FLOAT);
    const Output gradient = ops::Sub(worker, ops::Mul(worker, read_, 0.0f), 1.0f);
    train_ = {ops::ResourceApplyMomentum(ps, weight_, slot_, 1.0f, gradient, 0.0f),
              ops::AssignAdd(ps, count_, AsScalar<int64_t>(1)).op()};
    counted_ = ops::Identity(worker, count_);
    SessionOptions options;
    if (!option.empty()) {
      options.config->mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers()->set_name(option);
    }
    auto session = Session::Connect(target, scope_, options);
    EXPECT_THAT(session.status(), IsOk());
    if (session.ok()) session_ = *std::move(session);
  }

  absl::Status Initialize() { return session_->RunTargets(initialize_); }
  absl::Status Train(absl::Duration timeout = absl::ZeroDuration()) {
    RunOptions options;
    options->set_timeout_in_ms(absl::ToInt64Milliseconds(timeout));
    return session_->Run({}, {}, train_, options).status();
  }
  // The number of steps that took effect: on all elements of the weight, and by the count.
  absl::StatusOr<std::pair<std::vector<float>, int64_t>> Read() {
    ASSIGN_OR_RETURN(const std::vector<Tensor> values, session_->Run({read_, counted_}));
    const float* const weight = values[0].data<float>();
    return std::make_pair(std::vector<float>(weight, weight + kWidth), values[1].scalar<int64_t>());
  }

 private:
  Scope scope_ = Scope::NewRoot();
  Output weight_, slot_, count_, read_, counted_;
  std::vector<Operation> initialize_, train_;
  std::unique_ptr<Session> session_;
};

// Trains on a thread of its own until it is destroyed.
class Training {
 public:
  explicit Training(Trainer* trainer)
      : thread_([this, trainer] {
          while (!stops_) {
            const absl::Status status = trainer->Train();
            ++(status.ok() ? done_ : failed_);
            if (!status.ok() && failed_ <= 10) WEIR_LOG(WARNING) << status.ToString();
          }
        }) {}
  ~Training() { Stop(); }
  void Stop() {
    stops_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int done() const { return done_; }
  int failed() const { return failed_; }
  // Blocks until that many more steps are done, for a minute.
  bool Advance(int steps) const {
    const int until = done_ + steps;
    const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
    while (done_ < until && MonotonicNow() < deadline) std::this_thread::yield();
    return done_ >= until;
  }

 private:
  std::atomic<bool> stops_{false};
  std::atomic<int> done_{0}, failed_{0};
  std::thread thread_;
};

}  // namespace weir
