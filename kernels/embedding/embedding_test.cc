// Embedding tables through their ops.
#include <cmath>
#include <ctime>
#include <future>
#include <optional>

#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/files/scratch_directory_testing.h"
#include "core/kernel/step_commit.h"
#include "kernels/embedding/key_hash.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

Tensor Keys(std::initializer_list<int64_t> keys) { return AsTensor<int64_t>(keys); }

Tensor Rows(std::initializer_list<float> values, int64_t width) {
  return AsTensor<float>(values, {static_cast<int64_t>(values.size()) / width, width});
}

// The inverse of KeyHash.
int64_t KeyOfHash(uint64_t hash) {
  const auto unshifted = [](uint64_t y, int shift) {
    uint64_t x = y;
    for (int known = shift; known < 64; known += shift) x = y ^ (x >> shift);
    return x;
  };
  const auto inverse = [](uint64_t odd) {
    uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  uint64_t x = unshifted(hash, 31) * inverse(0x94D049BB133111EB);
  x = unshifted(x, 27) * inverse(0xBF58476D1CE4E5B9);
  return static_cast<int64_t>(unshifted(x, 30) - 0x9E3779B97F4A7C15);
}

Tensor Step(int64_t step) { return AsScalar<int64_t>(step); }

// How many of the statistics are of what.
enum Statistic { kSize, kWidth, kValueBytes, kSlotBytes, kBytes, kPulled, kPushed, kFiltered, kRejected, kEvicted };

class EmbeddingTest : public OpTest {
 protected:
  static Attrs Table(const std::string& name, int64_t width, const std::string& optimizer = "sgd") {
    return Attrs().Set("width", width).Set("optimizer", optimizer).Set("shared_name", name);
  }
  Tensor Make(const Attrs& attrs, bool initialize = true) {
    absl::StatusOr<Tensor> table = RunOp1("EmbeddingTable", {}, attrs);
    EXPECT_THAT(table.status(), IsOk());
    if (initialize) {
      EXPECT_THAT(RunOp("EmbeddingTableInitialize", {*table}).status(), IsOk());
    }
    return *table;
  }
  std::vector<float> Pull(const Tensor& table, const Tensor& keys) {
    absl::StatusOr<std::vector<Tensor>> out = RunOp("EmbeddingTableGather", {table, keys});
    EXPECT_THAT(out.status(), IsOk());
    if (!out.ok()) return {};
    version_ = (*out)[1].scalar<int64_t>();
    return {(*out)[0].flat<float>().begin(), (*out)[0].flat<float>().end()};
  }
  // Subtracts `gradients`: gradient descent at the rate 1. Returns the number of rejected keys.
  absl::StatusOr<int64_t> Push(const Tensor& table, const Tensor& keys, const Tensor& gradients, int64_t step = 0,
                               int64_t version = -1, const Attrs& attrs = Attrs()) {
    ASSIGN_OR_RETURN(Tensor rejected,
                     RunOp1("EmbeddingTableApplyGradientDescent",
                            {table, AsScalar<float>(1), keys, gradients, Step(version), Step(step)}, attrs));
    return rejected.scalar<int64_t>();
  }
  int64_t Of(const Tensor& table, Statistic which) {
    absl::StatusOr<Tensor> statistics = RunOp1("EmbeddingTableStatistics", {table});
    EXPECT_THAT(statistics.status(), IsOk());
    return statistics->flat<int64_t>()[which];
  }

  int64_t version_ = -1;  // of the last pull
};

TEST_F(EmbeddingTest, RowsAreMadeByPushesAlone) {
  const Tensor table = Make(Table("t", 2).Set("initializer_params", std::vector<float>{5}));
  EXPECT_EQ(Pull(table, Keys({1, -7, INT64_MIN})), std::vector<float>(6, 5));
  EXPECT_EQ(Of(table, kSize), 0);
  EXPECT_THAT(Push(table, Keys({-7, INT64_MAX}), Rows({1, 2, 3, 4}, 2)).status(), IsOk());
  EXPECT_EQ(Pull(table, Keys({-7, 1, INT64_MAX, -7})), std::vector<float>({4, 3, 5, 5, 2, 1, 4, 3}));
  EXPECT_EQ(Of(table, kSize), 2);
  EXPECT_EQ(Of(table, kPushed), 2);
}

TEST_F(EmbeddingTest, DuplicatesOfAPushAddUpBeforeTheRule) {
  const Tensor table = Make(Table("t", 1, "adagrad"));
  const auto apply = [&](const Tensor& keys, const Tensor& gradients) {
    return RunOp("EmbeddingTableApplyAdagrad", {table, AsScalar<float>(1), keys, gradients, Step(-1), Step(0)});
  };
  EXPECT_THAT(apply(Keys({3, 4, 3}), Rows({1, 1, 2}, 1)).status(), IsOk());
  const std::vector<float> rows = Pull(table, Keys({3, 4}));
  EXPECT_NEAR(rows[0], -3 / std::sqrt(0.1f + 9), 1e-6);  // not -1/sqrt(1.1) - 2/sqrt(5.1)
  EXPECT_NEAR(rows[1], -1 / std::sqrt(0.1f + 1), 1e-6);
}

TEST_F(EmbeddingTest, AdamAndFtrlKeepTheirSlotsBesideTheRow) {
  const Tensor adam = Make(Table("adam", 1, "adam"));
  for (int step = 1; step <= 2; ++step) {
    EXPECT_THAT(RunOp("EmbeddingTableApplyAdam",
                      {adam, AsScalar<float>(std::pow(0.9f, step)), AsScalar<float>(std::pow(0.999f, step)),
                       AsScalar<float>(0.1f), AsScalar<float>(0.9f), AsScalar<float>(0.999f), AsScalar<float>(1e-8f),
                       Keys({1}), Rows({0.5f}, 1), Step(-1), Step(step)})
                    .status(),
                IsOk());
  }
  EXPECT_NEAR(Pull(adam, Keys({1}))[0], -0.2, 1e-5);  // a constant gradient: the rate at each step
  const Tensor ftrl = Make(Table("ftrl", 1, "ftrl"));
  EXPECT_THAT(RunOp("EmbeddingTableApplyFtrl", {ftrl, AsScalar<float>(1), AsScalar<float>(0), AsScalar<float>(0),
                                                AsScalar<float>(-0.5f), Keys({1}), Rows({3}, 1), Step(-1), Step(0)})
                  .status(),
              IsOk());
  EXPECT_NEAR(Pull(ftrl, Keys({1}))[0], -3 / std::sqrt(9.1), 1e-5);
  EXPECT_EQ(Of(ftrl, kSlotBytes), 8);
}

TEST_F(EmbeddingTest, InitialValuesDependOnSeedAndKeyAlone) {
  const auto uniform = [](const std::string& name, int64_t seed) {
    return Table(name, 5)
        .Set("initializer", "uniform")
        .Set("initializer_params", std::vector<float>{2, 3})
        .Set("seed", seed);
  };
  const Tensor a = Make(uniform("a", 1)), b = Make(uniform("b", 1)), c = Make(uniform("c", 2));
  const std::vector<float> first = Pull(a, Keys({10, 11}));
  for (float value : first) EXPECT_TRUE(value >= 2 && value < 3) << value;
  EXPECT_EQ(Pull(b, Keys({10, 11})), first);
  EXPECT_NE(Pull(c, Keys({10, 11})), first);
  EXPECT_NE(first[0], first[5]);
  const Tensor normal =
      Make(Table("n", 7).Set("initializer", "truncated_normal").Set("initializer_params", std::vector<float>{0, 0.5f}));
  for (float value : Pull(normal, Keys({1, 2, 3, 4, 5, 6, 7, 8}))) EXPECT_LT(std::abs(value), 1);
}

TEST_F(EmbeddingTest, ARareKeyIsNotLetIn) {
  const Tensor table = Make(Table("t", 1).Set("filter_freq", 3).Set("default_value_no_permission", 9.0f));
  for (int push = 1; push <= 2; ++push) EXPECT_THAT(Push(table, Keys({5}), Rows({1}, 1)).status(), IsOk());
  EXPECT_EQ(Of(table, kSize), 0);
  EXPECT_EQ(Of(table, kFiltered), 2);
  EXPECT_EQ(Pull(table, Keys({5}))[0], 9);
  EXPECT_THAT(Push(table, Keys({5}), Rows({1}, 1)).status(), IsOk());
  EXPECT_EQ(Pull(table, Keys({5}))[0], -1);
}

TEST_F(EmbeddingTest, AProbabilityLetsInItsPartOfKeys) {
  const Tensor table = Make(Table("t", 1).Set("filter_probability", 0.25f));
  Tensor keys(DT_INT64, TensorShape({4000})), gradients(DT_FLOAT, TensorShape({4000, 1}));
  for (int i = 0; i < 4000; ++i) keys.data<int64_t>()[i] = i, gradients.data<float>()[i] = 1;
  EXPECT_THAT(Push(table, keys, gradients).status(), IsOk());
  EXPECT_NEAR(Of(table, kSize), 1000, 150);
}

TEST_F(EmbeddingTest, RowsThatNobodyUsesExpire) {
  const Tensor table = Make(Table("t", 1).Set("steps_to_live", 10));
  EXPECT_THAT(Push(table, Keys({1, 2}), Rows({1, 1}, 1), 100).status(), IsOk());
  EXPECT_THAT(Push(table, Keys({2}), Rows({1}, 1), 105).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor none, RunOp1("EmbeddingTableEvict", {table, Step(110)}));
  EXPECT_EQ(none.scalar<int64_t>(), 0);
  ASSERT_OK_AND_ASSIGN(Tensor one, RunOp1("EmbeddingTableEvict", {table, Step(111)}));
  EXPECT_EQ(one.scalar<int64_t>(), 1);
  EXPECT_EQ(Pull(table, Keys({1, 2})), std::vector<float>({0, -2}));
  // Pushes of other keys find it in passing.
  for (int i = 0; i < 400; ++i) EXPECT_THAT(Push(table, Keys({1000 + i}), Rows({1}, 1), 116 + i).status(), IsOk());
  EXPECT_EQ(Pull(table, Keys({2}))[0], 0);
  EXPECT_LT(Of(table, kSize), 400);
}

TEST_F(EmbeddingTest, TheLeastFrequentRowsMakeRoom) {
  const Tensor table = Make(Table("t", 1).Set("max_element_size", 100));
  for (int push = 0; push < 3; ++push) EXPECT_THAT(Push(table, Keys({-1, -2}), Rows({1, 1}, 1)).status(), IsOk());
  for (int i = 0; i < 1000; ++i) EXPECT_THAT(Push(table, Keys({i}), Rows({1}, 1)).status(), IsOk());
  EXPECT_LE(Of(table, kSize), 100);
  EXPECT_GT(Of(table, kEvicted), 800);
  EXPECT_EQ(Pull(table, Keys({-1, -2})), std::vector<float>({-3, -3}));
}

TEST_F(EmbeddingTest, StaleGradientsAreRefusedBeyondTheBound) {
  const Attrs reject = Attrs().Set("conflict_policy", "reject").Set("staleness_bound", 1);
  const Tensor table = Make(Table("t", 1));
  EXPECT_THAT(Push(table, Keys({1, 2}), Rows({1, 1}, 1)).status(), IsOk());
  Pull(table, Keys({1, 2}));
  const int64_t seen = version_;
  ASSERT_OK_AND_ASSIGN(int64_t first, Push(table, Keys({1}), Rows({1}, 1), 0, seen, reject));
  ASSERT_OK_AND_ASSIGN(int64_t second, Push(table, Keys({1}), Rows({1}, 1), 0, seen, reject));
  EXPECT_EQ(first + second, 0);
  // By now 1 has changed twice.
  ASSERT_OK_AND_ASSIGN(int64_t third, Push(table, Keys({1, 2}), Rows({1, 1}, 1), 0, seen, reject));
  EXPECT_EQ(third, 1);
  EXPECT_EQ(Pull(table, Keys({1, 2})), std::vector<float>({-3, -2}));
  EXPECT_EQ(Of(table, kRejected), 1);
}

TEST_F(EmbeddingTest, InsertsOverwriteOrAddUp) {
  const Tensor table = Make(Table("t", 2, "none"));
  const auto insert = [&](const std::string& policy, const Tensor& keys, const Tensor& values) {
    return RunOp("EmbeddingTableInsert", {table, keys, values, Step(-1)}, Attrs().Set("conflict_policy", policy));
  };
  EXPECT_THAT(insert("last_writer", Keys({1, 1}), Rows({1, 2, 3, 4}, 2)).status(), IsOk());
  EXPECT_EQ(Pull(table, Keys({1})), std::vector<float>({3, 4}));
  EXPECT_THAT(insert("sum", Keys({1, 1}), Rows({1, 2, 3, 4}, 2)).status(), IsOk());
  EXPECT_EQ(Pull(table, Keys({1})), std::vector<float>({7, 10}));
  ASSERT_OK_AND_ASSIGN(Tensor removed, RunOp1("EmbeddingTableRemove", {table, Keys({1, 1, 2})}));
  EXPECT_EQ(removed.scalar<int64_t>(), 1);
  EXPECT_EQ(Pull(table, Keys({1})), std::vector<float>({0, 0}));
}

TEST_F(EmbeddingTest, AnExportImportsElsewhere) {
  const Tensor from = Make(Table("from", 2, "sgd")), to = Make(Table("to", 2, "sgd"));
  EXPECT_THAT(Push(from, Keys({1, 2, 3}), Rows({1, 2, 3, 4, 5, 6}, 2), 7).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> all, RunOp("EmbeddingTableExport", {from, Step(-1)}));
  EXPECT_EQ(all[0].NumElements(), 3);
  EXPECT_THAT(RunOp("EmbeddingTableImport", {to, all[0], all[1], all[2], all[3], all[4], all[5]}).status(), IsOk());
  EXPECT_EQ(Pull(to, Keys({1, 2, 3, 4})), Pull(from, Keys({1, 2, 3, 4})));

  const Tensor since = all[7];
  EXPECT_THAT(Push(from, Keys({2}), Rows({1, 1}, 2)).status(), IsOk());
  EXPECT_THAT(RunOp("EmbeddingTableRemove", {from, Keys({3})}).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> changes, RunOp("EmbeddingTableExport", {from, since}));
  ExpectTensorEqual(changes[0], Keys({2}));
  ExpectTensorEqual(changes[6], Keys({3}));
  // An import has rows with versions of their own.
  EXPECT_THAT(RunOp("EmbeddingTableExport", {to, Step(1)}), StatusIs(absl::StatusCode::kFailedPrecondition));
  // What has not been cannot be since when, and changes nothing.
  EXPECT_THAT(RunOp("EmbeddingTableExport", {from, Step(1000)}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RunOp("EmbeddingTableExport", {from, changes[7]}).status(), IsOk());
}

TEST_F(EmbeddingTest, WithoutInitializationNothingIsServed) {
  const Tensor table = Make(Table("t", 2), /*initialize=*/false);
  EXPECT_THAT(RunOp("EmbeddingTableGather", {table, Keys({1})}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Embedding table t is uninitialized")));
  EXPECT_THAT(Push(table, Keys({1}), Rows({1, 2}, 2)), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK_AND_ASSIGN(Tensor initialized, RunOp1("EmbeddingTableIsInitialized", {table}));
  EXPECT_FALSE(initialized.scalar<bool>());
}

TEST_F(EmbeddingTest, BadInputsAreRefused) {
  const Tensor table = Make(Table("t", 2));
  EXPECT_THAT(Push(table, Keys({1}), Rows({1, 2, 3}, 3)), StatusIs(kInvalid));
  EXPECT_THAT(Push(table, Keys({1, 2}), Rows({1, 2}, 2)), StatusIs(kInvalid));
  EXPECT_THAT(Push(table, Keys({1}), Rows({1, 2}, 2), -1), StatusIs(kInvalid, HasSubstr("global_step")));
  EXPECT_THAT(Push(table, AsTensor<int64_t>({1}, {1, 1}), Rows({1, 2}, 2)), StatusIs(kInvalid));
  EXPECT_THAT(
      RunOp("EmbeddingTableApplyAdagrad", {table, AsScalar<float>(1), Keys({1}), Rows({1, 2}, 2), Step(-1), Step(0)}),
      StatusIs(kInvalid, HasSubstr("another optimizer")));
  EXPECT_THAT(RunOp("EmbeddingTableExport", {table, Step(-2)}), StatusIs(kInvalid));
  EXPECT_THAT(RunOp("EmbeddingTableImport", {table, Keys({1}), Rows({1, 2}, 2), AsTensor<float>({}, {1, 0}),
                                             Keys({INT64_MAX}), Keys({1}), Keys({1})}),
              StatusIs(kInvalid, HasSubstr("versions")));
  EXPECT_THAT(Push(table, Keys({1}), Rows({1, 2}, 2), 0, -1, Attrs().Set("conflict_policy", "first")),
              StatusIs(kInvalid, HasSubstr("conflict_policy")));
  EXPECT_THAT(RunOp("EmbeddingTable", {}, Table("t", 3)), StatusIs(kInvalid, HasSubstr("other attributes")));
  EXPECT_THAT(RunOp("EmbeddingTable", {}, Table("w", int64_t{1} << 40)), StatusIs(kInvalid, HasSubstr("width")));
  EXPECT_THAT(RunOp("EmbeddingTable", {}, Table("f", 3).Set("filter_freq", 1 << 20)), StatusIs(kInvalid));
  EXPECT_THAT(RunOp("EmbeddingTable", {}, Table("e", 3).Set("steps_to_live", 1).Set("seconds_to_live", 1)),
              StatusIs(kInvalid));
  EXPECT_EQ(Of(table, kSize), 0);
}

TEST_F(EmbeddingTest, KeysAreDividedOnce) {
  const Tensor keys = Keys({7, 8, 7, 9, 10, 8});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("EmbeddingPartition", {keys}, Attrs().Set("num_partitions", 2)));
  std::vector<int64_t> together;
  for (int part = 0; part < 2; ++part) {
    for (int64_t key : out[part].flat<int64_t>()) {
      EXPECT_EQ(PartitionOf(KeyHash(key), 2), part);
      together.push_back(key);
    }
  }
  EXPECT_EQ(together.size(), 4);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(together[out[2].flat<int32_t>()[i]], keys.flat<int64_t>()[i]);
}

// Keys whose hashes have the same low half: a table that looks there goes through all of them for each.
TEST_F(EmbeddingTest, KeysThatWereMadeUpToCollideAreDividedInTime) {
  constexpr int kKeys = 200000;
  Tensor keys(DT_INT64, TensorShape({kKeys}));
  for (int i = 0; i < kKeys; ++i) keys.data<int64_t>()[i] = KeyOfHash(static_cast<uint64_t>(i) << 40);
  ASSERT_EQ(KeyHash(keys.data<int64_t>()[77]), uint64_t{77} << 40);
  const std::clock_t start = std::clock();  // counts no time in which the process does not run
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("EmbeddingPartition", {keys}, Attrs().Set("num_partitions", 1)));
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
  ExpectTensorEqual(out[0], keys);
}

TEST_F(EmbeddingTest, AStepFailsAsThePullDidThatItNeeds) {
  const auto assert_status = [&](bool holds, const Tensor& code) {
    return RunOp("Assert", {AsScalar<bool>(holds), code, AsScalar<tstring>("gone")}, Attrs().Set("_kernel", "status"))
        .status();
  };
  EXPECT_THAT(assert_status(true, AsScalar<int32_t>(0)), IsOk());
  EXPECT_THAT(assert_status(false, AsScalar<int32_t>(14)), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
  for (const int32_t code : {-1, 0, 17, 1 << 30}) {
    EXPECT_THAT(assert_status(false, AsScalar<int32_t>(code)), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(assert_status(false, AsTensor<int32_t>({1, 2})), StatusIs(absl::StatusCode::kInvalidArgument));
}

// One worker's push, which waits.
class EmbeddingBarrierTest : public EmbeddingTest {
 protected:
  struct Pending {
    std::unique_ptr<OpKernel> kernel;
    std::optional<absl::Status> status;
    std::promise<void> has_ended;
    std::future<void> ended = has_ended.get_future();
  };
  std::unique_ptr<Pending> Start(const Tensor& table, int worker, int workers, const Tensor& keys,
                                 const Tensor& gradients) {
    auto pending = std::make_unique<Pending>();
    const std::vector<TestInput> inputs = {table, AsScalar<float>(1), keys, gradients, Step(-1), Step(0)};
    auto kernel = MakeOp("EmbeddingTableApplyAdagrad", inputs,
                         Attrs().Set("_kernel", "together").Set("_weir_worker", worker).Set("_weir_workers", workers));
    if (!kernel.ok()) {
      pending->status = kernel.status();
      return pending;
    }
    pending->kernel = *std::move(kernel);
    RunKernelAsync(static_cast<AsyncOpKernel&>(*pending->kernel), inputs,
                   [p = pending.get()](const absl::StatusOr<std::vector<Tensor>>& out) {
                     p->status = out.status();
                     p->has_ended.set_value();
                   });
    return pending;
  }
};

TEST_F(EmbeddingBarrierTest, TheSumOfAllPushesIsAppliedOnce) {
  const Tensor table = Make(Table("together", 2, "adagrad")), once = Make(Table("once", 2, "adagrad"));
  const auto first = Start(table, 1, 3, Keys({1, 2}), Rows({1, 2, 3, 4}, 2));
  const auto second = Start(table, 0, 3, Keys({2}), Rows({5, 6}, 2));
  EXPECT_FALSE(first->status || second->status);
  const auto third = Start(table, 2, 3, Keys({}), Rows({}, 2));
  for (const auto* pending : {&first, &second, &third}) {
    ASSERT_TRUE((*pending)->status);
    EXPECT_THAT(*(*pending)->status, IsOk());
  }
  EXPECT_THAT(RunOp("EmbeddingTableApplyAdagrad",
                    {once, AsScalar<float>(1), Keys({1, 2}), Rows({1, 2, 8, 10}, 2), Step(-1), Step(0)})
                  .status(),
              IsOk());
  EXPECT_EQ(Pull(table, Keys({1, 2})), Pull(once, Keys({1, 2})));
}

TEST_F(EmbeddingBarrierTest, WhatEndsAWait) {
  const Tensor table = Make(Table("ended", 1, "adagrad"));
  const auto replaced = Start(table, 0, 2, Keys({1}), Rows({1}, 1));
  const auto other = Start(table, 1, 3, Keys({1}), Rows({1}, 1));
  ASSERT_TRUE(other->status);
  EXPECT_THAT(*other->status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as one of 3, others as of 2")));
  const auto initialized = Start(table, 0, 2, Keys({1}), Rows({1}, 1));
  ASSERT_TRUE(replaced->status);
  EXPECT_THAT(*replaced->status, StatusIs(absl::StatusCode::kAborted, HasSubstr("Worker 0 has pushed again")));
  ASSERT_THAT(RunOp("EmbeddingTableInitialize", {table}).status(), IsOk());
  ASSERT_TRUE(initialized->status);
  EXPECT_THAT(*initialized->status, StatusIs(absl::StatusCode::kAborted, HasSubstr("was initialized")));
  EXPECT_EQ(Of(table, kPushed), 0);
  const auto cancelled = Start(table, 1, 2, Keys({1}), Rows({1}, 1));
  cancellation().StartCancel(errors::DeadlineExceeded("too late"));
  ASSERT_TRUE(cancelled->status);
  EXPECT_THAT(*cancelled->status, StatusIs(absl::StatusCode::kDeadlineExceeded));
}

// As in a step that is committed.
class CommittedStep : public StepCommit {
 public:
  absl::Status Decide() override { return absl::OkStatus(); }
  absl::Status SetReady() override { return absl::OkStatus(); }
  void AwaitDecision(const std::string&, std::function<void(absl::Status)> done) override { done(absl::OkStatus()); }
  bool EndWaitsIfCommitted(const absl::Status&) override { return true; }
  CancellationManager* waits() override { return &waits_; }

 private:
  CancellationManager waits_;
};

TEST_F(EmbeddingBarrierTest, ACommittedPushIsAppliedEvenAlone) {
  const Tensor table = Make(Table("committed", 1, "adagrad")), alone = Make(Table("alone", 1, "adagrad"));
  const auto push = [&](const Tensor& keys) {
    EXPECT_THAT(RunOp("EmbeddingTableApplyAdagrad", {alone, AsScalar<float>(1), keys, Rows({1}, 1), Step(-1), Step(0)})
                    .status(),
                IsOk());
  };
  CommittedStep first_step, second_step;
  step().commit = &first_step;
  const auto replaced = Start(table, 0, 2, Keys({1}), Rows({1}, 1));
  EXPECT_FALSE(replaced->status);
  step().commit = &second_step;
  const auto cancelled = Start(table, 0, 2, Keys({2}), Rows({1}, 1));
  replaced->ended.wait();
  EXPECT_THAT(*replaced->status, IsOk());
  EXPECT_FALSE(cancelled->status);
  second_step.waits()->StartCancel(errors::Cancelled("the client has gone"));
  cancelled->ended.wait();
  EXPECT_THAT(*cancelled->status, IsOk());
  const auto late = Start(table, 1, 2, Keys({3}), Rows({1}, 1));
  late->ended.wait();
  EXPECT_THAT(*late->status, IsOk());
  step().commit = nullptr;
  for (const int64_t key : {1, 2, 3}) push(AsTensor<int64_t>({key}));
  EXPECT_EQ(Pull(table, Keys({1, 2, 3})), Pull(alone, Keys({1, 2, 3})));
}

TEST_F(EmbeddingBarrierTest, WorkersThatCannotBeAreRefused) {
  const Tensor table = Make(Table("refused", 1, "adagrad"));
  for (const auto& [worker, workers] : std::vector<std::pair<int, int>>{{2, 2}, {-1, 2}, {0, 0}, {0, 1 << 20}}) {
    const auto refused = Start(table, worker, workers, Keys({1}), Rows({1}, 1));
    ASSERT_TRUE(refused->status);
    EXPECT_THAT(*refused->status, StatusIs(absl::StatusCode::kInvalidArgument));
  }
  const auto misfit = Start(table, 0, 2, Keys({1, 2}), Rows({1}, 1));
  ASSERT_TRUE(misfit->status);
  EXPECT_THAT(*misfit->status, StatusIs(absl::StatusCode::kInvalidArgument));
}

class EmbeddingCheckpointTest : public EmbeddingTest {
 protected:
  Tensor Path(const std::string& name) { return AsScalar<tstring>(directory_.Path(name)); }
  absl::StatusOr<Tensor> Save(const Tensor& table, const std::string& file, const std::string& name,
                              const Tensor& since) {
    return RunOp1("EmbeddingTableSave", {table, Path(file), AsScalar<tstring>(name), since});
  }
  absl::Status Restore(const Tensor& table, const std::vector<std::string>& files, int partition = 0,
                       int partitions = 1) {
    std::vector<tstring> paths;
    for (const std::string& file : files) paths.push_back(Path(file).scalar<tstring>());
    return RunOp("EmbeddingTableRestore", {table, Tensor::Vector<tstring>(paths), AsScalar<tstring>("t")},
                 Attrs().Set("partition_id", partition).Set("partition_num", partitions))
        .status();
  }

  // Copies a checkpoint; the versions of its rows, not of the table, are greater there.
  void MakeRowsLater(const std::string& from, const std::string& to, int64_t by) {
    const auto files = NewPosixFileSystem();
    ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(files.get(), directory_.Path(from)));
    ASSERT_OK_AND_ASSIGN(const auto writer, BundleWriter::Create(files.get(), directory_.Path(to)));
    for (const BundleReader::Info& entry : reader->List()) {
      ASSERT_OK_AND_ASSIGN(Tensor tensor, reader->Read(entry.name));
      if (entry.name.ends_with("-versions")) {
        for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<int64_t>()[i] += by;
      }
      ASSERT_THAT(writer->Add(entry.name, tensor), IsOk());
    }
    ASSERT_THAT(writer->Finish(), IsOk());
  }

  const ScratchDirectory directory_;
};

TEST_F(EmbeddingCheckpointTest, ChangesFollowAWholeCheckpoint) {
  const Tensor table = Make(Table("t", 2));
  EXPECT_THAT(Push(table, Keys({1, 2, 3}), Rows({1, 2, 3, 4, 5, 6}, 2)).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor first, Save(table, "full", "t/part_0", Step(-1)));
  EXPECT_THAT(Push(table, Keys({3, 4}), Rows({1, 1, 1, 1}, 2)).status(), IsOk());
  EXPECT_THAT(RunOp("EmbeddingTableRemove", {table, Keys({1})}).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor second, Save(table, "delta1", "t/part_0", first));
  EXPECT_THAT(Push(table, Keys({1}), Rows({9, 9}, 2)).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor third, Save(table, "delta2", "t/part_0", second));
  const std::vector<float> expected = Pull(table, Keys({1, 2, 3, 4}));

  const Tensor other = Make(Table("other", 2), /*initialize=*/false);
  EXPECT_THAT(Restore(other, {"full", "delta1", "delta2"}), IsOk());
  EXPECT_EQ(Pull(other, Keys({1, 2, 3, 4})), expected);
  EXPECT_EQ(Of(other, kSize), 4);
  // It goes on from there.
  EXPECT_THAT(Push(other, Keys({2}), Rows({1, 1}, 2)).status(), IsOk());
  EXPECT_THAT(Save(other, "delta3", "t/part_0", third).status(), IsOk());
  EXPECT_THAT(Restore(table, {"full", "delta1", "delta2", "delta3"}), IsOk());
  EXPECT_EQ(Pull(table, Keys({1, 2, 3, 4})), Pull(other, Keys({1, 2, 3, 4})));

  EXPECT_THAT(Restore(other, {"full", "delta2"}), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("changes since")));
  EXPECT_THAT(Restore(other, {"missing"}), StatusIs(absl::StatusCode::kNotFound));
  // Neither has touched the table.
  EXPECT_EQ(Pull(other, Keys({1, 2, 3, 4})), Pull(table, Keys({1, 2, 3, 4})));
}

TEST_F(EmbeddingCheckpointTest, AGradientIsAsNewAsTheRowsThatWerePushedDuringTheSave) {
  const Tensor table = Make(Table("t", 1));
  EXPECT_THAT(Push(table, Keys({1, 2}), Rows({1, 1}, 1)).status(), IsOk());
  EXPECT_THAT(Save(table, "full", "t/part_0", Step(-1)).status(), IsOk());
  MakeRowsLater("full", "later", 1000);
  EXPECT_THAT(Restore(table, {"later"}), IsOk());
  Pull(table, Keys({1, 2}));
  ASSERT_OK_AND_ASSIGN(int64_t rejected, Push(table, Keys({1, 2}), Rows({1, 1}, 1), 0, version_,
                                              Attrs().Set("conflict_policy", "reject")));
  EXPECT_EQ(rejected, 0);
  MakeRowsLater("full", "absurd", int64_t{1} << 50);
  EXPECT_THAT(Restore(table, {"absurd"}), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(EmbeddingCheckpointTest, EveryPartMustBeThere) {
  const Tensor table = Make(Table("t", 1));
  EXPECT_THAT(Push(table, Keys({1, 2}), Rows({1, 2}, 1)).status(), IsOk());
  EXPECT_THAT(Save(table, "gap", "t/part_1", Step(-1)).status(), IsOk());
  EXPECT_THAT(Restore(table, {"gap"}), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("lacks t/part_0")));
  EXPECT_EQ(Of(table, kSize), 2);
}

TEST_F(EmbeddingCheckpointTest, ThePartsOfOneBecomeThePartsOfTwo) {
  const Tensor table = Make(Table("t", 1));
  EXPECT_THAT(Push(table, Keys({1, 2, 3, 4, 5, 6, 7, 8}), Rows({1, 2, 3, 4, 5, 6, 7, 8}, 1)).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor version, Save(table, "full", "t/part_0", Step(-1)));
  int64_t keys = 0;
  for (int part = 0; part < 2; ++part) {
    const Tensor half = Make(Table(absl::StrCat("half", part), 1), /*initialize=*/false);
    EXPECT_THAT(Restore(half, {"full"}, part, 2), IsOk());
    keys += Of(half, kSize);
    for (int64_t key = 1; key <= 8; ++key) {
      const bool is_here = PartitionOf(KeyHash(key), 2) == part;
      EXPECT_EQ(Pull(half, Keys({key}))[0], is_here ? -key : 0);
    }
    // Its changes would not follow what was saved.
    EXPECT_THAT(Save(half, "delta", "t/part_0", version), StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  EXPECT_EQ(keys, 8);
}

TEST_F(EmbeddingCheckpointTest, ManyKeysComeBack) {
  constexpr int kKeys = 20000;
  const Tensor table = Make(Table("t", 3, "sgd")), other = Make(Table("other", 3, "sgd"));
  Tensor keys(DT_INT64, TensorShape({kKeys})), gradients(DT_FLOAT, TensorShape({kKeys, 3}));
  for (int i = 0; i < kKeys; ++i) keys.data<int64_t>()[i] = int64_t{i} * i - 5;
  for (int i = 0; i < 3 * kKeys; ++i) gradients.data<float>()[i] = static_cast<float>(i);
  EXPECT_THAT(Push(table, keys, gradients).status(), IsOk());
  EXPECT_THAT(Save(table, "full", "t/part_0", Step(-1)).status(), IsOk());
  EXPECT_THAT(Restore(other, {"full"}), IsOk());
  EXPECT_EQ(Of(other, kSize), kKeys);
  EXPECT_EQ(Pull(other, keys), Pull(table, keys));
}

}  // namespace
}  // namespace weir
