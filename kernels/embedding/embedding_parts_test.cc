// Parts of embedding tables that move: against a table that stays whole, and at the map that says who may move what.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "core/mutex.h"
#include "kernels/embedding/embedding_table.h"
#include "kernels/embedding/key_hash.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr int kParts = 8, kTables = 3;
constexpr int64_t kKeys = 80, kLife = 1000;

// What a table knows of a row, but for its version, which is the table's own.
struct Row {
  std::vector<float> numbers;  // values and slots
  int64_t frequency = 0, used = 0;
  friend bool operator==(const Row&, const Row&) = default;
};

class EmbeddingPartsTest : public OpTest {
 protected:
  Tensor MakeTable(const std::string& name, int64_t parts) {
    const Attrs attrs = Attrs()
                            .Set("width", int64_t{2})
                            .Set("optimizer", "adagrad")
                            .Set("initializer_params", std::vector<float>{0.5f})
                            .Set("steps_to_live", kLife)
                            .Set("parts", parts)
                            .Set("shared_name", name);
    absl::StatusOr<Tensor> table = RunOp1("EmbeddingTable", {}, attrs);
    EXPECT_THAT(table.status(), IsOk());
    EXPECT_THAT(RunOp("EmbeddingTableInitialize", {*table}).status(), IsOk());
    return *table;
  }
  absl::Status Own(const Tensor& table, const std::vector<int32_t>& owners, int32_t self, bool create = false) {
    return RunOp("EmbeddingTableOwn", {table, Tensor::Vector<int32_t>(owners), AsScalar<int32_t>(self)},
                 Attrs().Set("create", create))
        .status();
  }
  absl::Status Push(const Tensor& table, const std::vector<int64_t>& keys, float gradient, int64_t step) {
    Tensor rows(DT_FLOAT, TensorShape({static_cast<int64_t>(keys.size()), 2}));
    for (float& value : rows.flat<float>()) value = gradient;
    return RunOp("EmbeddingTableApplyAdagrad", {table, AsScalar<float>(0.1f), Tensor::Vector<int64_t>(keys), rows,
                                                AsScalar<int64_t>(-1), AsScalar<int64_t>(step)})
        .status();
  }
  absl::Status Remove(const Tensor& table, const std::vector<int64_t>& keys) {
    return RunOp("EmbeddingTableRemove", {table, Tensor::Vector<int64_t>(keys)}).status();
  }
  absl::Status Evict(const Tensor& table, int64_t step) {
    return RunOp("EmbeddingTableEvict", {table, AsScalar<int64_t>(step)}).status();
  }
  // All rows, and their versions.
  std::map<int64_t, Row> Export(const Tensor& table, std::map<int64_t, int64_t>* versions = nullptr) {
    const auto out = RunOp("EmbeddingTableExport", {table, AsScalar<int64_t>(-1)});
    EXPECT_THAT(out.status(), IsOk());
    std::map<int64_t, Row> rows;
    for (int64_t i = 0; out.ok() && i < (*out)[0].NumElements(); ++i) {
      Row row{.frequency = (*out)[4].flat<int64_t>()[i], .used = (*out)[5].flat<int64_t>()[i]};
      for (int which : {1, 2}) {
        for (int k = 0; k < 2; ++k) row.numbers.push_back((*out)[which].flat<float>()[2 * i + k]);
      }
      const int64_t key = (*out)[0].flat<int64_t>()[i];
      EXPECT_TRUE(rows.emplace(key, row).second) << key;
      if (versions != nullptr) (*versions)[key] = (*out)[3].flat<int64_t>()[i];
    }
    return rows;
  }

  // As if the runs that follow were of another step. What the one before has left goes.
  void BeginStep() {
    container_.reset();
    container_ = std::make_unique<StepContainer>(++step_id_, device());
    step().step_id = step_id_;
    step().step_container = container_.get();
  }

  absl::StatusOr<int64_t> Send(const Tensor& from, const Tensor& to, const std::vector<int32_t>& parts,
                               const std::vector<int64_t>& since, int64_t move, bool freeze) {
    const Tensor which = Tensor::Vector<int32_t>(parts), known = Tensor::Vector<int64_t>(since);
    ASSIGN_OR_RETURN(
        std::vector<Tensor> sent,
        RunOp("EmbeddingTableSend", {from, which, known, AsScalar<int64_t>(move)}, Attrs().Set("freeze", freeze)));
    RETURN_IF_ERROR(RunOp("EmbeddingTableReceive", {to, which, known, AsScalar<int64_t>(move), sent[0], sent[1],
                                                    sent[2], sent[3], sent[4], sent[5], sent[6], sent[8]})
                        .status());
    return sent[7].scalar<int64_t>();
  }
  absl::Status Adopt(const Tensor& table, const std::vector<int32_t>& parts, int64_t move) {
    return RunOp("EmbeddingTableAdopt", {table, Tensor::Vector<int32_t>(parts), AsScalar<int64_t>(move)}).status();
  }

  int64_t step_id_ = 1;
  std::unique_ptr<StepContainer> container_;
};

// A move of one part between two tables, a little at a time.
struct Moving {
  int32_t part = 0, to = 0;
  int64_t name = 0, since = -1;
};

TEST_F(EmbeddingPartsTest, NothingIsLostOrChangedByMovesAmongPushes) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&random](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    const Tensor whole = MakeTable(absl::StrCat("whole", seed), 0);
    std::vector<int32_t> owners(kParts, 0);
    std::vector<Tensor> tables;
    for (int i = 0; i < kTables; ++i) {
      tables.push_back(MakeTable(absl::StrCat("table", seed, "_", i), kParts));
      ASSERT_THAT(Own(tables[i], owners, i, /*create=*/true), IsOk());
    }
    const auto owner_of = [&](int64_t key) { return owners[PartitionOf(KeyHash(key), kParts)]; };
    std::optional<Moving> moving;
    int moved = 0;
    for (int64_t step = 0; step < 400; ++step) {
      BeginStep();
      std::vector<int64_t> keys;
      std::map<int32_t, std::vector<int64_t>> divided;
      for (int64_t i = draw(6); i >= 0; --i) {
        keys.push_back(draw(kKeys));
        divided[owner_of(keys.back())].push_back(keys.back());
      }
      const int64_t what = draw(12);
      if (what < 6) {
        const float gradient = static_cast<float>(draw(100)) / 64;
        ASSERT_THAT(Push(whole, keys, gradient, step), IsOk());
        for (const auto& [i, own] : divided) ASSERT_THAT(Push(tables[i], own, gradient, step), IsOk());
      } else if (step % 23 == 22) {
        // A step of the far future, so that it is not pushes that evict: which of the rows they look at depends on how
        // the rows are divided.
        ASSERT_THAT(Evict(whole, step + kLife - 30), IsOk());
        for (const Tensor& table : tables) ASSERT_THAT(Evict(table, step + kLife - 30), IsOk());
      } else if (what < 8) {
        ASSERT_THAT(Remove(whole, keys), IsOk());
        for (const auto& [i, own] : divided) ASSERT_THAT(Remove(tables[i], own), IsOk());
      } else if (!moving.has_value()) {
        moving =
            Moving{.part = static_cast<int32_t>(draw(kParts)), .to = static_cast<int32_t>(draw(kTables)), .name = step};
        if (moving->to == owners[moving->part]) moving.reset();
      } else if (what < 10) {  // copies
        const Tensor& from = tables[owners[moving->part]];
        ASSERT_OK_AND_ASSIGN(moving->since,
                             Send(from, tables[moving->to], {moving->part}, {moving->since}, moving->name, false));
      } else if (what == 10) {  // gives up, at the last moment
        const Tensor& from = tables[owners[moving->part]];
        ASSERT_THAT(Send(from, tables[moving->to], {moving->part}, {moving->since}, moving->name, true).status(),
                    IsOk());
        if (draw(2) == 0) {  // the very last: what has come there goes before another comes
          ASSERT_THAT(Adopt(tables[moving->to], {moving->part}, moving->name), IsOk());
          EXPECT_THAT(Send(from, tables[moving->to], {moving->part}, {-1}, step + 1, false).status(),
                      ::testing::Not(IsOk()));
          ASSERT_THAT(Own(tables[moving->to], owners, moving->to), IsOk());
        }
        moving.reset();
      } else {
        const Tensor& from = tables[owners[moving->part]];
        std::map<int64_t, int64_t> before, after;
        const std::map<int64_t, Row> rows = Export(from, &before);
        ASSERT_THAT(Send(from, tables[moving->to], {moving->part}, {moving->since}, moving->name, true).status(),
                    IsOk());
        for (int64_t key = 0; key < kKeys; ++key) {
          if (PartitionOf(KeyHash(key), kParts) == moving->part) {
            EXPECT_THAT(Push(from, {key}, 1, step), StatusIs(absl::StatusCode::kAborted));
            EXPECT_THAT(Push(tables[moving->to], {key}, 1, step), StatusIs(absl::StatusCode::kAborted));
          }
        }
        ASSERT_THAT(Adopt(tables[moving->to], {moving->part}, moving->name), IsOk());
        owners[moving->part] = moving->to;
        for (int i = 0; i < kTables; ++i) ASSERT_THAT(Own(tables[i], owners, i), IsOk());
        Export(tables[moving->to], &after);
        for (const auto& [key, row] : rows) {
          if (PartitionOf(KeyHash(key), kParts) == moving->part) {
            EXPECT_EQ(after[key], before[key]);
          }
        }
        moving.reset();
        ++moved;
      }
    }
    BeginStep();
    EXPECT_GT(moved, 3);
    std::map<int64_t, Row> all;
    for (const Tensor& table : tables) {
      for (const auto& [key, row] : Export(table)) EXPECT_TRUE(all.emplace(key, row).second) << key;
    }
    EXPECT_TRUE(all == Export(whole)) << seed;
    EXPECT_FALSE(all.empty());
  }
}

TEST_F(EmbeddingPartsTest, AnotherMoveOrARestartEndsOneThatIsUnderWay) {
  const Tensor a = MakeTable("a", kParts), b = MakeTable("b", kParts);
  const std::vector<int32_t> owners(kParts, 0);
  ASSERT_THAT(Own(a, owners, 0, true), IsOk());
  ASSERT_THAT(Own(b, owners, 1, true), IsOk());
  BeginStep();
  ASSERT_OK_AND_ASSIGN(int64_t since, Send(a, b, {3}, {-1}, 100, false));
  ASSERT_THAT(Send(a, b, {3}, {-1}, 200, false).status(), IsOk());
  EXPECT_THAT(Send(a, b, {3}, {since}, 100, false).status(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(Adopt(b, {3}, 100), StatusIs(absl::StatusCode::kAborted));
  ASSERT_THAT(Own(b, owners, 1), IsOk());  // what comes at the end of any move
  EXPECT_THAT(Adopt(b, {3}, 200), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(Own(b, std::vector<int32_t>(kParts, 1), 1),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("never came")));
  EXPECT_THAT(Send(b, a, {3}, {-1}, 300, false).status(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(Send(a, b, {3, 3}, {-1, -1}, 1, false).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Send(a, b, {kParts}, {-1}, 1, false).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Send(a, b, {1}, {-1, -1}, 1, false).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  const Tensor plain = MakeTable("plain", 0);
  EXPECT_THAT(Send(plain, b, {0}, {-1}, 1, false).status(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(EmbeddingPartsTest, AMoveThatIsTooLateDropsNothing) {
  const Tensor a = MakeTable("a", kParts), b = MakeTable("b", kParts);
  ASSERT_THAT(Own(a, std::vector<int32_t>(kParts, 0), 0, true), IsOk());
  ASSERT_THAT(Own(b, std::vector<int32_t>(kParts, 0), 1, true), IsOk());
  std::vector<int64_t> keys(kKeys);
  std::iota(keys.begin(), keys.end(), 0);
  BeginStep();
  ASSERT_THAT(Push(a, keys, 1, 1), IsOk());
  std::vector<int32_t> all(kParts);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int64_t> since(kParts, -1);
  ASSERT_THAT(Send(a, b, all, since, 100, true).status(), IsOk());
  ASSERT_THAT(Adopt(b, all, 100), IsOk());
  BeginStep();  // which frees what `a` had frozen: it has not heard of the end
  const auto rows = Export(b);
  EXPECT_EQ(rows.size(), kKeys);
  EXPECT_THAT(Send(a, b, all, since, 200, false).status(), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_TRUE(Export(b) == rows);
  ASSERT_THAT(Own(b, std::vector<int32_t>(kParts, 0), 1), IsOk());
  EXPECT_THAT(Send(a, b, all, since, 200, false).status(), IsOk());
}

// Whoever asks for changes makes removals before it forgotten, which is not to be missed by who has asked between.
TEST(EmbeddingTableTest, AnExportBesideAMoveMissesNoRemoval) {
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<EmbeddingTable> made,
                       EmbeddingTable::Create({.name = "t", .width = 1, .parts = 1}, CpuAllocator()));
  EmbeddingTable& table = *made;
  ASSERT_THAT(table.Initialize(), IsOk());
  ASSERT_THAT(table.Own(std::vector<int32_t>{0}, 0, true), IsOk());
  const std::vector<int64_t> keys = {1, 2}, all = {-1};
  const std::vector<float> values = {1, 2};
  std::vector<uint32_t> positions = {0, 1};
  const std::vector<int32_t> parts = {0};
  EmbeddingShard& shard = table.shard(0);
  ASSERT_THAT(shard.Update({.keys = keys, .rows = values.data()}, absl::MakeSpan(positions)).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const int64_t saved, table.BeginExport(-1));
  ASSERT_THAT(table.ExportShard(0, -1, saved, /*keep_removals=*/false, CpuAllocator()).status(), IsOk());
  ASSERT_THAT(shard.Remove(keys, std::vector<uint32_t>{0}).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const int64_t version, table.BeginExport(saved));
  int64_t sent = 0;
  ASSERT_THAT(table.Send(parts, all, std::nullopt, CpuAllocator(), &sent).status(), IsOk());
  ASSERT_THAT(table.Send(parts, std::vector<int64_t>{sent}, std::nullopt, CpuAllocator(), &sent).status(), IsOk());
  EXPECT_THAT(table.ExportShard(0, saved, version, /*keep_removals=*/false, CpuAllocator()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("all rows have to be taken")));
}

TEST_F(EmbeddingPartsTest, KeysGoToTheOwnersOfTheirParts) {
  const std::vector<int32_t> owners = {2, 0, 0, 2};
  const Tensor keys = AsTensor<int64_t>({5, -1, 5, 77, 1000, -1});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, RunOp("EmbeddingPartitionBy", {keys, Tensor::Vector<int32_t>(owners)},
                                                      Attrs().Set("num_partitions", int64_t{3})));
  EXPECT_EQ(out[1].NumElements(), 0);
  std::vector<int64_t> all;
  for (int i = 0; i < 3; ++i) {
    for (const int64_t key : out[i].flat<int64_t>()) {
      EXPECT_EQ(owners[PartitionOf(KeyHash(key), 4)], i);
      all.push_back(key);
    }
  }
  EXPECT_EQ(all.size(), 4);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(all[out[3].flat<int32_t>()[i]], keys.flat<int64_t>()[i]);
  EXPECT_THAT(
      RunOp("EmbeddingPartitionBy", {keys, AsTensor<int32_t>({0, 3})}, Attrs().Set("num_partitions", int64_t{3}))
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument));
}

// Counts what was done, across threads.
class Done {
 public:
  KernelTest::DoneCallback Callback() {
    return [this](const absl::StatusOr<std::vector<Tensor>>& out) {
      MutexLock lock(mu_);
      status_ = out.status();
      ++count_;
      changed_.notify_all();
    };
  }
  absl::Status Wait() {
    MutexLock lock(mu_);
    while (count_ == 0) lock.Wait(changed_);
    return status_;
  }
  bool is_done() {
    MutexLock lock(mu_);
    return count_ > 0;
  }

 private:
  Mutex mu_;
  std::condition_variable changed_;
  int count_ GUARDED_BY(mu_) = 0;
  absl::Status status_ GUARDED_BY(mu_);
};

class EmbeddingMapTest : public EmbeddingPartsTest {
 protected:
  void SetUp() override {
    EmbeddingPartsTest::SetUp();
    ASSERT_OK_AND_ASSIGN(map_, RunOp1("EmbeddingMap", {}, Attrs().Set("parts", int64_t{2}).Set("shared_name", "m")));
  }
  absl::Status Set(std::initializer_list<int32_t> owners) {
    return RunOp("EmbeddingMapSet", {map_, AsTensor<int32_t>(owners), AsTensor<tstring>({"a", "b"})}).status();
  }
  int64_t Epoch() {
    const auto read = RunOp("EmbeddingMapRead", {map_});
    EXPECT_THAT(read.status(), IsOk());
    return (*read)[2].scalar<int64_t>();
  }
  // Makes the runs that follow those of step `id`; its container goes with End.
  void Enter(int64_t id) {
    if (containers_.count(id) == 0) containers_[id] = std::make_unique<StepContainer>(id, device());
    step().step_id = id;
    step().step_container = containers_[id].get();
  }
  void End(int64_t id) { containers_.erase(id); }
  absl::StatusOr<std::vector<Tensor>> Route(const std::vector<std::string>& tasks) {
    return RunOp("EmbeddingRoute", {map_}, Attrs().Set("tasks", tasks));
  }
  absl::StatusOr<std::vector<Tensor>> Commit(std::initializer_list<int32_t> owners) {
    return RunOp("EmbeddingMapCommit", {map_, AsTensor<int32_t>(owners), AsTensor<tstring>({"a", "b"})});
  }

  Tensor map_;
  std::map<int64_t, std::unique_ptr<StepContainer>> containers_;
};

TEST_F(EmbeddingMapTest, RoutesAreInTheOrderOfTheGraphsTasks) {
  Enter(1);
  EXPECT_THAT(Route({"a", "b"}).status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("uninitialized")));
  ASSERT_THAT(Set({1, 0}), IsOk());
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, Route({"c", "b", "a"}));
  ExpectTensorEqual(out[0], AsTensor<int32_t>({1, 2}));
  EXPECT_THAT(Route({"a"}).status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("does not know")));
  EXPECT_THAT(Set({0, 2}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Set({0}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(EmbeddingMapTest, AMoveWaitsForStepsUnderWayAndStepsWaitForTheMove) {
  ASSERT_THAT(Set({0, 0}), IsOk());
  const int64_t epoch = Epoch();
  Enter(1);
  ASSERT_THAT(Route({"a", "b"}).status(), IsOk());
  Enter(2);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<OpKernel> seal, MakeOp("EmbeddingMapSeal", {map_, AsScalar<int64_t>(epoch)}));
  Done sealed;
  RunKernelAsync(static_cast<AsyncOpKernel&>(*seal), {map_, AsScalar<int64_t>(epoch)}, sealed.Callback());
  EXPECT_FALSE(sealed.is_done());
  Enter(1);  // the same step may ask again
  ASSERT_THAT(Route({"a", "b"}).status(), IsOk());
  Enter(3);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<OpKernel> route,
                       MakeOp("EmbeddingRoute", {map_}, Attrs().Set("tasks", std::vector<std::string>{"a", "b"})));
  Done routed;
  RunKernelAsync(static_cast<AsyncOpKernel&>(*route), {map_}, routed.Callback());
  EXPECT_FALSE(routed.is_done());
  End(1);
  EXPECT_THAT(sealed.Wait(), IsOk());
  EXPECT_FALSE(routed.is_done());
  EXPECT_THAT(Commit({1, 1}).status(), StatusIs(absl::StatusCode::kFailedPrecondition));  // step 3 has not sealed
  Enter(2);
  ASSERT_THAT(Commit({1, 1}).status(), IsOk());
  EXPECT_THAT(routed.Wait(), IsOk());
  EXPECT_EQ(Epoch(), epoch + 1);
  EXPECT_THAT(Commit({0, 0}).status(), StatusIs(absl::StatusCode::kFailedPrecondition));
  End(3);
  End(2);
  Enter(4);
  EXPECT_THAT(RunOp("EmbeddingMapSeal", {map_, AsScalar<int64_t>(epoch)}).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("planned for epoch")));
}

TEST_F(EmbeddingMapTest, StepsThatWaitForEachOtherAreNotParted) {
  ASSERT_THAT(Set({0, 0}), IsOk());
  const Tensor epoch = AsScalar<int64_t>(Epoch());
  const Attrs together = Attrs().Set("tasks", std::vector<std::string>{"a", "b"}).Set("_weir_workers", int64_t{2});
  Enter(1);
  ASSERT_THAT(RunOp("EmbeddingRoute", {map_}, together).status(), IsOk());
  Enter(2);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<OpKernel> seal, MakeOp("EmbeddingMapSeal", {map_, epoch}));
  Done sealed;
  RunKernelAsync(static_cast<AsyncOpKernel&>(*seal), {map_, epoch}, sealed.Callback());
  Enter(3);  // for this one the first may be waiting
  ASSERT_THAT(RunOp("EmbeddingRoute", {map_}, together).status(), IsOk());
  End(1);
  EXPECT_FALSE(sealed.is_done());
  End(3);
  Enter(4);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<OpKernel> route, MakeOp("EmbeddingRoute", {map_}, together));
  Done routed;
  RunKernelAsync(static_cast<AsyncOpKernel&>(*route), {map_}, routed.Callback());
  EXPECT_THAT(sealed.Wait(), IsOk());
  EXPECT_FALSE(routed.is_done());
  Enter(2);
  ASSERT_THAT(Commit({1, 1}).status(), IsOk());
  EXPECT_THAT(routed.Wait(), IsOk());
}

TEST_F(EmbeddingMapTest, AMoveThatEndsEarlyLetsStepsGoOn) {
  ASSERT_THAT(Set({0, 0}), IsOk());
  const Tensor epoch = AsScalar<int64_t>(Epoch());
  Enter(2);
  ASSERT_THAT(RunOp("EmbeddingMapSeal", {map_, epoch}).status(), IsOk());
  Enter(3);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<OpKernel> route,
                       MakeOp("EmbeddingRoute", {map_}, Attrs().Set("tasks", std::vector<std::string>{"a", "b"})));
  Done routed;
  RunKernelAsync(static_cast<AsyncOpKernel&>(*route), {map_}, routed.Callback());
  EXPECT_FALSE(routed.is_done());
  End(2);
  EXPECT_THAT(routed.Wait(), IsOk());
  // A map that is set anew while it is sealed is not that of the move.
  End(3);
  Enter(4);
  ASSERT_THAT(RunOp("EmbeddingMapSeal", {map_, epoch}).status(), IsOk());
  ASSERT_THAT(Set({1, 0}), IsOk());
  EXPECT_THAT(Commit({1, 1}).status(), StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace weir
