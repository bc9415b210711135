// Embedding tables of which a part is on disk: the same bits as in memory, and what the disk can do to them.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <map>
#include <random>

#include "absl/strings/match.h"
#include "core/files/scratch_directory_testing.h"
#include "kernels/embedding/embedding_table.h"
#include "kernels/embedding/key_hash.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kLimit = 64 << 10;

// How many of the statistics are of what.
enum Statistic { kSize = 0, kBytes = 4, kEvicted = 9, kHot, kCold, kHits, kMisses, kBytesRead, kBytesWritten };

class EmbeddingTiersTest : public OpTest {
 protected:
  struct Case {
    std::string optimizer = "sgd", dtype = "float";
    int64_t width = 16, max_element_size = 0, steps_to_live = 0, parts = 0;
  };

  Attrs Table(const std::string& name, const Case& c) const {
    return Attrs()
        .Set("width", c.width)
        .Set("optimizer", c.optimizer)
        .Set("initializer", "uniform")
        .Set("initializer_params", std::vector<float>{-1, 1})
        .Set("value_dtype", c.dtype == "int8"       ? DT_INT8
                            : c.dtype == "bfloat16" ? DT_BFLOAT16
                                                    : DT_FLOAT)
        .Set("max_element_size", c.max_element_size)
        .Set("steps_to_live", c.steps_to_live)
        .Set("shared_name", name);
  }
  Tensor Make(const Attrs& attrs) {
    absl::StatusOr<Tensor> table = RunOp1("EmbeddingTable", {}, attrs);
    EXPECT_THAT(table.status(), IsOk());
    EXPECT_THAT(RunOp("EmbeddingTableInitialize", {*table}).status(), IsOk());
    return *table;
  }
  Tensor MakeTiered(const std::string& name, const Case& c, int64_t limit = kLimit) {
    return Make(Table(name, c).Set("memory_limit_bytes", limit).Set("storage_path", folder_.path()));
  }
  int64_t Of(const Tensor& table, Statistic which) {
    absl::StatusOr<Tensor> statistics = RunOp1("EmbeddingTableStatistics", {table});
    EXPECT_THAT(statistics.status(), IsOk());
    return statistics->flat<int64_t>()[which];
  }

  static Tensor Number(int64_t number) { return AsScalar<int64_t>(number); }
  static Tensor Range(int64_t first, int64_t n) {
    Tensor keys(DT_INT64, TensorShape({n}));
    for (int64_t i = 0; i < n; ++i) keys.data<int64_t>()[i] = first + i;
    return keys;
  }
  static Tensor Filled(int64_t rows, int64_t width, float value) {
    Tensor tensor(DT_FLOAT, TensorShape({rows, width}));
    std::fill_n(tensor.data<float>(), rows * width, value);
    return tensor;
  }

  // The op that pushes with an optimizer, and its inputs.
  static std::pair<std::string, std::vector<TestInput>> PushOf(const Tensor& table, const std::string& optimizer,
                                                               const Tensor& keys, const Tensor& gradients,
                                                               int64_t version, int64_t step) {
    std::vector<TestInput> inputs = {table};
    std::string op = "EmbeddingTableApplyGradientDescent";
    std::vector<float> scalars = {0.5f};
    if (optimizer == "adagrad") op = "EmbeddingTableApplyAdagrad";
    if (optimizer == "adam") {
      op = "EmbeddingTableApplyAdam";
      scalars = {0.9f, 0.999f, 0.1f, 0.9f, 0.999f, 1e-8f};
    }
    if (optimizer == "ftrl") {
      op = "EmbeddingTableApplyFtrl";
      scalars = {1, 0, 0, -0.5f};
    }
    for (const float scalar : scalars) inputs.emplace_back(AsScalar<float>(scalar));
    for (const Tensor& tensor : {keys, gradients, Number(version), Number(step)}) inputs.emplace_back(tensor);
    return {op, inputs};
  }
  absl::StatusOr<int64_t> Push(const Tensor& table, const std::string& optimizer, const Tensor& keys,
                               const Tensor& gradients, int64_t version = -1, int64_t step = 0,
                               const Attrs& attrs = Attrs()) {
    auto [op, inputs] = PushOf(table, optimizer, keys, gradients, version, step);
    ASSIGN_OR_RETURN(Tensor rejected, RunOp1(op, inputs, attrs));
    return rejected.scalar<int64_t>();
  }

  // What an export has, by key: the row, its slots, version, frequency and last use.
  using Exported = std::map<int64_t, std::vector<double>>;
  static Exported ByKey(const std::vector<Tensor>& rows) {
    Exported result;
    for (int64_t i = 0; i < rows[0].NumElements(); ++i) {
      std::vector<double>& row = result[rows[0].data<int64_t>()[i]];
      for (const int matrix : {1, 2}) {
        const int64_t n = rows[matrix].dim_size(1);
        row.insert(row.end(), rows[matrix].data<float>() + i * n, rows[matrix].data<float>() + (i + 1) * n);
      }
      for (const int vector : {3, 4, 5}) row.push_back(static_cast<double>(rows[vector].data<int64_t>()[i]));
    }
    EXPECT_EQ(static_cast<int64_t>(result.size()), rows[0].NumElements()) << "a row came twice";
    return result;
  }
  void ExpectSameExport(const Tensor& a, const Tensor& b, int64_t since) {
    const auto first = RunOp("EmbeddingTableExport", {a, Number(since)});
    const auto second = RunOp("EmbeddingTableExport", {b, Number(since)});
    // More removals than rows are not remembered, in neither.
    EXPECT_EQ(first.status().code(), second.status().code());
    if (since >= 0 && absl::IsFailedPrecondition(second.status())) return;
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> x, first);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, second);
    EXPECT_EQ(ByKey(x), ByKey(y));
    const auto removed = [](const Tensor& keys) {
      std::vector<int64_t> sorted(keys.flat<int64_t>().begin(), keys.flat<int64_t>().end());
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    };
    EXPECT_EQ(removed(x[6]), removed(y[6]));
    EXPECT_EQ(x[7].scalar<int64_t>(), y[7].scalar<int64_t>());
    exported_ = x[7].scalar<int64_t>();
  }

  // Does the same to both, and compares what they answer.
  class Twins {
   public:
    Twins(EmbeddingTiersTest& test, const Case& c, uint32_t seed) : test_(test), case_(c), random_(seed) {
      const std::string name = absl::StrCat(c.optimizer, c.dtype, c.width, "_", c.max_element_size);
      tiered_ = test.MakeTiered(name + "tiered", c);
      plain_ = test.Make(test.Table(name + "plain", c));
    }
    void DoSomething() {
      switch (random_() % 10) {
        case 0:
          return Both("EmbeddingTableInsert", {Keys(40), Gradients(), Number(-1)},
                      Attrs().Set("conflict_policy", random_() % 2 == 0 ? "sum" : "last_writer"));
        case 1:
          return Both("EmbeddingTableRemove", {Keys(random_() % 30)});
        case 2:
        case 3:
        case 4:
          Both("EmbeddingTableGather", {Keys(random_() % 200)});
          version_ = last_[1].scalar<int64_t>();
          return;
        default: {
          const int64_t n = 1 + static_cast<int64_t>(random_() % 200);
          const bool rejects = random_() % 4 == 0;
          const Tensor keys = Keys(n);
          auto [op, inputs] = PushOf(tiered_, case_.optimizer, keys, Gradients(), rejects ? version_ : -1, ++step_);
          inputs.erase(inputs.begin());
          return Both(op, inputs,
                      rejects ? Attrs().Set("conflict_policy", "reject").Set("staleness_bound", 3) : Attrs());
        }
      }
    }
    const Tensor& tiered() const { return tiered_; }
    const Tensor& plain() const { return plain_; }

   private:
    Tensor Keys(int64_t n) {
      Tensor keys(DT_INT64, TensorShape({n}));
      // Some keys are frequent, and most are not.
      for (int64_t& key : keys.flat<int64_t>()) {
        key = static_cast<int64_t>(random_() % (random_() % 2 == 0 ? 100 : 3000)) - 50;
      }
      rows_ = n;
      return keys;
    }
    Tensor Gradients() {
      Tensor gradients(DT_FLOAT, TensorShape({rows_, case_.width}));
      std::normal_distribution<float> normal;
      for (float& value : gradients.flat<float>()) value = normal(random_);
      return gradients;
    }
    void Both(const std::string& op, const std::vector<TestInput>& others, const Attrs& attrs = Attrs()) {
      std::vector<TestInput> x = {tiered_}, y = {plain_};
      x.insert(x.end(), others.begin(), others.end());
      y.insert(y.end(), others.begin(), others.end());
      ASSERT_OK_AND_ASSIGN(last_, test_.RunOp(op, x, attrs));
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> expected, test_.RunOp(op, y, attrs));
      for (size_t i = 0; i < expected.size(); ++i) ExpectTensorEqual(last_[i], expected[i]);
    }

    EmbeddingTiersTest& test_;
    const Case case_;
    std::mt19937 random_;
    Tensor tiered_, plain_;
    std::vector<Tensor> last_;
    int64_t rows_ = 0, step_ = 0, version_ = -1;
  };

  const ScratchDirectory folder_;
  int64_t exported_ = -1;
};

TEST_F(EmbeddingTiersTest, RandomOperationsGiveTheBitsOfATableInMemory) {
  const Case cases[] = {{.optimizer = "sgd"},
                        {.optimizer = "adagrad"},
                        {.optimizer = "adam", .width = 5},
                        {.optimizer = "ftrl", .width = 3},
                        {.optimizer = "adagrad", .dtype = "bfloat16", .width = 7},
                        {.optimizer = "adagrad", .dtype = "int8", .width = 33},
                        // Wider than a slab or a block.
                        {.optimizer = "adagrad", .width = 9000},
                        // One shard in both tables, so that the same rows are evicted.
                        {.optimizer = "adagrad", .width = 40, .max_element_size = 500}};
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.optimizer, " ", c.dtype, " ", c.width));
    Twins twins(*this, c, 42);
    int64_t since = -1;
    const int rounds = c.width > 1000 ? 2 : 6;
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < (c.width > 1000 ? 4 : 40); ++i) twins.DoSomething();
      ExpectSameExport(twins.tiered(), twins.plain(), since);
      ExpectSameExport(twins.tiered(), twins.plain(), -1);
      since = exported_;
      if (HasFailure()) return;
    }
    EXPECT_GT(Of(twins.tiered(), kCold), 0);
    EXPECT_GT(Of(twins.tiered(), kHot), 0);
    EXPECT_EQ(Of(twins.tiered(), kHot) + Of(twins.tiered(), kCold), Of(twins.plain(), kSize));
    EXPECT_EQ(Of(twins.tiered(), kEvicted), Of(twins.plain(), kEvicted));
    EXPECT_EQ(Of(twins.plain(), kCold), 0);
  }
}

TEST_F(EmbeddingTiersTest, ACheckpointHasTheRowsOnDisk) {
  const Case c{.optimizer = "adagrad"};
  Twins twins(*this, c, 7);
  std::vector<tstring> prefixes;
  Tensor since = Number(-1);
  for (int link = 0; link < 3; ++link) {
    for (int i = 0; i < 40; ++i) twins.DoSomething();
    prefixes.push_back(folder_.Path(absl::StrCat("ckpt-", link)));
    ASSERT_OK_AND_ASSIGN(since, RunOp1("EmbeddingTableSave", {twins.tiered(), AsScalar<tstring>(prefixes.back()),
                                                              AsScalar<tstring>("e/part_0"), since}));
    // The other one counts an export too.
    ASSERT_THAT(RunOp("EmbeddingTableExport", {twins.plain(), Number(-1)}).status(), IsOk());
  }
  const Tensor restored = MakeTiered("restored", c);
  const Tensor in_memory = Make(Table("in_memory", c));
  for (const Tensor& table : {restored, in_memory}) {
    ASSERT_THAT(RunOp("EmbeddingTableRestore", {table, AsTensor<tstring>(prefixes), AsScalar<tstring>("e")}).status(),
                IsOk());
  }
  EXPECT_GT(Of(restored, kCold), 0);
  ExpectSameExport(restored, in_memory, -1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> x, RunOp("EmbeddingTableExport", {restored, Number(-1)}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, RunOp("EmbeddingTableExport", {twins.plain(), Number(-1)}));
  EXPECT_EQ(ByKey(x), ByKey(y));
}

TEST_F(EmbeddingTiersTest, ConcurrentPushesAndPullsLoseNothing) {
  const Case c{.width = 16};
  const Tensor table = MakeTiered("t", c, 256 << 10), plain = Make(Table("p", c));
  constexpr int kPushes = 60, kKeys = 500, kRange = 6000;
  // Whole gradients at the rate 0.5: sums do not depend on their order.
  std::mt19937 random(3);
  std::vector<std::vector<TestInput>> pushes;
  for (int i = 0; i < kPushes; ++i) {
    Tensor keys(DT_INT64, TensorShape({kKeys}));
    for (int64_t& key : keys.flat<int64_t>()) key = static_cast<int64_t>(random() % kRange);
    pushes.push_back(PushOf(table, "sgd", keys, Filled(kKeys, c.width, 2), -1, 0).second);
    std::vector<TestInput> of_plain = pushes.back();
    of_plain[0] = plain;
    ASSERT_THAT(RunOp("EmbeddingTableApplyGradientDescent", of_plain).status(), IsOk());
  }
  const Attrs waiting = Attrs().Set("_kernel", "waiting");
  struct Running {
    std::promise<absl::Status> ended;
    absl::Status Wait() { return ended.get_future().get(); }
  };
  const std::vector<TestInput> pulled = {table, Range(0, kRange)};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpKernel> pull, MakeOp("EmbeddingTableGather", pulled, waiting));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpKernel> push,
                       MakeOp("EmbeddingTableApplyGradientDescent", pushes[0], waiting));
  std::vector<std::unique_ptr<Running>> running;
  const auto start = [&](OpKernel& kernel, const std::vector<TestInput>& inputs) {
    running.push_back(std::make_unique<Running>());
    RunKernelAsync(static_cast<AsyncOpKernel&>(kernel), inputs,
                   [r = running.back().get()](const absl::StatusOr<std::vector<Tensor>>& out) {
                     r->ended.set_value(out.status());
                   });
  };
  for (int i = 0; i < kPushes; ++i) start(*push, pushes[i]);
  for (const std::unique_ptr<Running>& r : running) EXPECT_THAT(r->Wait(), IsOk());
  running.clear();
  // Pulls beside pulls, with which rows come from disk while others go there.
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpKernel> pull_again, MakeOp("EmbeddingTableGather", pulled, waiting));
  for (int i = 0; i < 8; ++i) start(*pull_again, pulled);
  for (const std::unique_ptr<Running>& r : running) EXPECT_THAT(r->Wait(), IsOk());
  EXPECT_GT(Of(table, kCold), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> x, RunOp("EmbeddingTableGather", {table, Range(0, kRange)}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, RunOp("EmbeddingTableGather", {plain, Range(0, kRange)}));
  ExpectTensorEqual(x[0], y[0]);
  EXPECT_EQ(Of(table, kSize), Of(plain, kSize));
}

TEST_F(EmbeddingTiersTest, RowsExpireOnDiskToo) {
  const Tensor table = MakeTiered("t", {.steps_to_live = 10});
  ASSERT_THAT(Push(table, "sgd", Range(0, 3000), Filled(3000, 16, 1), -1, 100).status(), IsOk());
  ASSERT_THAT(Push(table, "sgd", Range(0, 1000), Filled(1000, 16, 1), -1, 105).status(), IsOk());
  ASSERT_GT(Of(table, kCold), 2000);
  ASSERT_OK_AND_ASSIGN(const Tensor none, RunOp1("EmbeddingTableEvict", {table, Number(110)}));
  EXPECT_EQ(none.scalar<int64_t>(), 0);
  ASSERT_OK_AND_ASSIGN(const Tensor evicted, RunOp1("EmbeddingTableEvict", {table, Number(111)}));
  EXPECT_EQ(evicted.scalar<int64_t>(), 2000);
  EXPECT_EQ(Of(table, kSize), 1000);
  // Pushes of other keys find the rest in passing.
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(Push(table, "sgd", Range(5000, 100), Filled(100, 16, 1), -1, 116 + i).status(), IsOk());
  }
  EXPECT_EQ(Of(table, kSize), 100);
}

TEST_F(EmbeddingTiersTest, TheMemoryOfATableIsItsLimit) {
  const int64_t limit = 1 << 20;
  const Tensor table = MakeTiered("t", {.optimizer = "adagrad"}, limit);
  int64_t most = 0;
  for (int64_t first = 0; first < 40000; first += 2000) {
    ASSERT_THAT(Push(table, "adagrad", Range(first, 2000), Filled(2000, 16, 1)).status(), IsOk());
    most = std::max(most, Of(table, kBytes));
  }
  EXPECT_LE(most, limit + limit / 16);  // an index may have grown by a batch's last key
  EXPECT_EQ(Of(table, kSize), 40000);
  EXPECT_GT(Of(table, kHot), 1000);
  // Rows that are used often stay in memory, whatever else passes by.
  for (int round = 0; round < 20; ++round) {
    ASSERT_THAT(Push(table, "adagrad", Range(0, 500), Filled(500, 16, 1), -1, round).status(), IsOk());
    ASSERT_THAT(Push(table, "adagrad", Range(1000 + 1500 * round, 1500), Filled(1500, 16, 1), -1, round).status(),
                IsOk());
  }
  const int64_t misses = Of(table, kMisses), hits = Of(table, kHits);
  ASSERT_THAT(RunOp("EmbeddingTableGather", {table, Range(0, 500)}).status(), IsOk());
  EXPECT_LT(Of(table, kMisses) - misses, 125);
  EXPECT_GT(Of(table, kHits) - hits, 375);
  EXPECT_GT(Of(table, kBytesRead), 0);
  EXPECT_GT(Of(table, kBytesWritten), 0);
  // Nothing is left in the folder: the files have no names.
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(EmbeddingTiersTest, KeysBeyondTheLimitOfTheIndexAreRejected) {
  const Tensor table = MakeTiered("t", {.width = 1});
  absl::Status status;
  for (int64_t first = 0; status.ok() && first < 100000; first += 1000) {
    status = Push(table, "sgd", Range(first, 1000), Filled(1000, 1, 1)).status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("Embedding table t"), HasSubstr("memory_limit_bytes"))));
  // Rows that exist are served and trained.
  EXPECT_THAT(Push(table, "sgd", Range(0, 1000), Filled(1000, 1, 1)).status(), IsOk());
}

TEST_F(EmbeddingTiersTest, AFullDiskLosesNoRows) {
  const Tensor table = MakeTiered("t", {}), plain = Make(Table("p", {}));
  const auto push = [&](const Tensor& to, int64_t first) {
    return Push(to, "sgd", Range(first, 100), Filled(100, 16, 1)).status();
  };
  // A limit of the process on the size of files stands for a full disk: the same calls fail.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = 256 << 10, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  absl::Status status;
  int64_t pushed = 0;
  for (; pushed < 1000000; pushed += 100) {
    status = push(table, pushed);
    if (!status.ok()) break;
    ASSERT_THAT(push(plain, pushed), IsOk());
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("embedding table t"), HasSubstr(folder_.path()))));
  // Pulls go on.
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> x, RunOp("EmbeddingTableGather", {table, Range(0, pushed)}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, RunOp("EmbeddingTableGather", {plain, Range(0, pushed)}));
  ExpectTensorEqual(x[0], y[0]);
  // With space there, so do pushes.
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(push(table, 2000000), IsOk());
}

// Overwrites the open file of cold rows.
void DamageFileIn(const std::string& folder) {
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (error || !absl::StrContains(target, std::filesystem::path(folder).filename().string())) continue;
    const int fd = open(entry.path().c_str(), O_WRONLY);
    ASSERT_GE(fd, 0);
    const std::vector<char> zeros(1 << 20);
    ASSERT_GT(pwrite(fd, zeros.data(), zeros.size(), 0), 0);
    close(fd);
    ++damaged;
  }
  ASSERT_EQ(damaged, 1);
}

TEST_F(EmbeddingTiersTest, ADamagedFileIsNamed) {
  const Tensor table = MakeTiered("t", {});
  ASSERT_THAT(Push(table, "sgd", Range(0, 3000), Filled(3000, 16, 1)).status(), IsOk());
  DamageFileIn(folder_.path());
  const auto is_named = StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("embedding table t"),
                                                                    HasSubstr(folder_.path()), HasSubstr("damaged")));
  EXPECT_THAT(RunOp("EmbeddingTableGather", {table, Range(0, 3000)}), is_named);
  EXPECT_THAT(Push(table, "sgd", Range(0, 3000), Filled(3000, 16, 1)), is_named);
  EXPECT_THAT(RunOp("EmbeddingTableExport", {table, Number(-1)}), is_named);
  // New rows do not mind, and after initialisation nothing of the file counts.
  EXPECT_THAT(Push(table, "sgd", Range(5000, 10), Filled(10, 16, 1)).status(), IsOk());
  ASSERT_THAT(RunOp("EmbeddingTableInitialize", {table}).status(), IsOk());
  EXPECT_THAT(Push(table, "sgd", Range(0, 3000), Filled(3000, 16, 1)).status(), IsOk());
  EXPECT_THAT(RunOp("EmbeddingTableGather", {table, Range(0, 3000)}).status(), IsOk());
}

TEST_F(EmbeddingTiersTest, BadAttributesAreRejected) {
  const auto make = [&](int64_t limit, const std::string& folder) {
    return RunOp("EmbeddingTable", {}, Table("t", {}).Set("memory_limit_bytes", limit).Set("storage_path", folder));
  };
  EXPECT_THAT(make(1 << 20, ""), StatusIs(kInvalid, HasSubstr("storage_path")));
  EXPECT_THAT(make(0, folder_.path()), StatusIs(kInvalid, HasSubstr("memory_limit_bytes")));
  EXPECT_THAT(make(1000, folder_.path()), StatusIs(kInvalid, HasSubstr("65536")));
  EXPECT_THAT(make(1 << 20, "/proc/no/folder"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/proc/no/folder")));
  EXPECT_THAT(make(1 << 20, folder_.Path("made")).status(), IsOk());
}

TEST(EmbeddingTieredTableTest, PartsMoveWithTheirRowsOnDisk) {
  constexpr int64_t kParts = 4, kKeys = 4000, kWidth = 16, kMove = 7;
  const ScratchDirectory folder;
  const EmbeddingOptions options{
      .name = "t", .width = kWidth, .parts = kParts, .memory_limit_bytes = 128 << 10, .storage_path = folder.path()};
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<EmbeddingTable> from, EmbeddingTable::Create(options, CpuAllocator()));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<EmbeddingTable> to, EmbeddingTable::Create(options, CpuAllocator()));
  for (EmbeddingTable* table : {from.get(), to.get()}) ASSERT_THAT(table->Initialize(), IsOk());
  ASSERT_THAT(from->Own(std::vector<int32_t>(kParts, 0), 0, /*create=*/true), IsOk());
  std::vector<int64_t> keys(kKeys);
  std::vector<float> values(kKeys * kWidth);
  std::vector<std::vector<uint32_t>> positions(kParts);
  for (int64_t i = 0; i < kKeys; ++i) {
    keys[i] = i;
    std::fill_n(values.data() + i * kWidth, kWidth, static_cast<float>(i));
    positions[PartitionOf(KeyHash(i), kParts)].push_back(static_cast<uint32_t>(i));
  }
  const std::vector<int32_t> parts = {0, 1, 2, 3};
  for (const int32_t part : parts) {
    ASSERT_THAT(
        from->shard(part).Update({.keys = keys, .rows = values.data()}, absl::MakeSpan(positions[part])).status(),
        IsOk());
  }
  ASSERT_GT(from->counts().cold, kKeys / 2);

  int64_t version = 0;
  const std::vector<int64_t> everything(kParts, -1);
  ASSERT_OK_AND_ASSIGN(const std::vector<EmbeddingRows> rows,
                       from->Send(parts, everything, kMove, CpuAllocator(), &version));
  for (const int32_t part : parts) {
    ASSERT_THAT(to->Receive({part}, {-1}, kMove, rows[part]), IsOk());
  }
  ASSERT_THAT(to->Adopt(parts, kMove), IsOk());
  ASSERT_THAT(from->Own(std::vector<int32_t>(kParts, 1), 0, /*create=*/false), IsOk());
  EXPECT_EQ(from->counts().size, 0);
  EXPECT_EQ(to->counts().size, kKeys);
  EXPECT_GT(to->counts().cold, kKeys / 2);
  for (const int32_t part : parts) {
    std::vector<float> pulled(values.size(), -1);
    ASSERT_THAT(to->shard(part).Gather(keys, positions[part], pulled.data()), IsOk());
    for (const uint32_t i : positions[part]) EXPECT_EQ(pulled[i * kWidth], static_cast<float>(i));
  }
}

}  // namespace
}  // namespace weir
