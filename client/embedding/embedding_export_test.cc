// Exports of a training embedding, and a process that follows them.
#include <filesystem>
#include <fstream>

#include "client/embedding/embedding_export_files.h"
#include "client/embedding/embedding_exporter.h"
#include "client/embedding/embedding_follower.h"
#include "client/embedding/embedding_saver.h"
#include "client/gradients.h"
#include "client/ops.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Time kStart = absl::FromUnixSeconds(1'000'000'000);

EmbeddingVariableOptions TrainingOptions(int devices) {
  EmbeddingVariableOptions options{.width = 2, .devices = std::vector<std::string>(devices)};
  options.optimizer = {.kind = EmbeddingOptimizer::Kind::kAdagrad, .learning_rate = 1};
  options.initializer = "constant";
  options.initializer_params = {0};
  return options;
}

class EmbeddingExportTest : public ::testing::Test {
 protected:
  // Trains on two devices and exports.
  struct Trainer {
    explicit Trainer(EmbeddingExportTest& test) {
      variable = EmbeddingVariable::Make(scope.WithName("users"), TrainingOptions(2));
      keys = ops::Placeholder(scope, DT_INT64);
      const EmbeddingPull pull = variable.Pull(scope, keys);
      rows = variable.Embed(scope, pull);
      const Output loss = ops::Neg(scope, ops::Sum(scope, rows, Tensor::Vector<int32_t>({0, 1})));
      push = variable.Push(scope, pull, Gradients(scope, {loss}, {pull.unique})[0],
                           scope.Constant(Tensor::Scalar<int64_t>(5)));
      for (int i = 0; i < 2; ++i) {
        removals.push_back(ops::EmbeddingTableRemove(variable.Beside(scope, i), variable.table(i), keys).op());
      }
      EmbeddingExporterOptions options{.full_every = 3, .keep_fulls = 2};
      options.now = options.wall_clock = [&test] { return test.now_; };
      exporter =
          std::make_unique<EmbeddingExporter>(scope, std::vector<EmbeddingVariable>{variable}, test.dir_, options);
      saver = std::make_unique<EmbeddingSaver>(scope, std::vector<EmbeddingVariable>{variable});
      EXPECT_THAT(scope.status(), IsOk());
      absl::StatusOr<std::unique_ptr<Session>> made = Session::Local(scope);
      EXPECT_THAT(made.status(), IsOk());
      session = *std::move(made);
      EXPECT_THAT(session->RunTargets({variable.initializer()}), IsOk());
    }
    void Push(std::vector<int64_t> which) {
      EXPECT_THAT(session->Run({{keys, Tensor::Vector<int64_t>(which)}}, {}, {push}).status(), IsOk());
    }
    void Remove(std::vector<int64_t> which) {
      EXPECT_THAT(session->Run({{keys, Tensor::Vector<int64_t>(which)}}, {}, removals).status(), IsOk());
    }
    std::vector<float> Get(const std::vector<int64_t>& which) { return Values(*session, keys, rows, which); }
    void Export() { EXPECT_THAT(exporter->Export(*session), IsOk()); }

    Scope scope = Scope::NewRoot();
    EmbeddingVariable variable;
    Output keys, rows;
    Operation push;
    std::vector<Operation> removals;
    std::unique_ptr<EmbeddingExporter> exporter;
    std::unique_ptr<EmbeddingSaver> saver;
    std::unique_ptr<Session> session;
  };

  // Serves on three.
  struct Server {
    explicit Server(EmbeddingExportTest& test) {
      variable = EmbeddingVariable::Make(
          scope.WithName("users"), EmbeddingFollower::ServingOptions(TrainingOptions(2), std::vector<std::string>(3)));
      keys = ops::Placeholder(scope, DT_INT64);
      rows = variable.Embed(scope, variable.Pull(scope, keys));
      EmbeddingFollowerOptions options{.batch_rows = 3};
      options.wall_clock = [&test] { return test.now_; };
      follower =
          std::make_unique<EmbeddingFollower>(scope, std::vector<EmbeddingVariable>{variable}, test.dir_, options);
      EXPECT_THAT(scope.status(), IsOk());
      absl::StatusOr<std::unique_ptr<Session>> made = Session::Local(scope);
      EXPECT_THAT(made.status(), IsOk());
      session = *std::move(made);
    }
    absl::Status Poll() { return follower->Poll(*session); }
    std::vector<float> Get(const std::vector<int64_t>& which) { return Values(*session, keys, rows, which); }
    int64_t Size() {
      const auto size = session->Run({variable.size()});
      return size.ok() ? (*size)[0].scalar<int64_t>() : -1;
    }

    Scope scope = Scope::NewRoot();
    EmbeddingVariable variable;
    Output keys, rows;
    std::unique_ptr<EmbeddingFollower> follower;
    std::unique_ptr<Session> session;
  };

  static std::vector<float> Values(Session& session, const Output& keys, const Output& rows,
                                   const std::vector<int64_t>& which) {
    const auto result = session.Run({{keys, Tensor::Vector<int64_t>(which)}}, {rows});
    EXPECT_THAT(result.status(), IsOk());
    if (!result.ok()) return {};
    return {(*result)[0].flat<float>().begin(), (*result)[0].flat<float>().end()};
  }
  std::string PathOf(int64_t number, bool full) const {
    return EmbeddingExportFile{.number = number, .is_full = full}.Path(dir_);
  }
  bool Exists(int64_t number, bool full) const { return std::filesystem::exists(PathOf(number, full) + ".index"); }

  const ScratchDirectory directory_;
  const std::string dir_ = directory_.Path("exports");
  absl::Time now_ = kStart;
};

const std::vector<int64_t> kSome = {1, 2, 3, 4, 5, 6, 7, 8, 100, -9};

TEST_F(EmbeddingExportTest, AServerHasTheRowsOfTheLastExport) {
  Trainer trainer(*this);
  Server server(*this);
  EXPECT_THAT(server.Poll(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir_)));
  EXPECT_THAT(server.session->Run({{server.keys, Tensor::Vector<int64_t>({1})}}, {server.rows}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  trainer.Push({1, 2, 3, 4, 5, 6});
  trainer.Export();
  ASSERT_THAT(server.Poll(), IsOk());
  EXPECT_EQ(server.Get(kSome), trainer.Get(kSome));
  // A delta has the rows that changed, and the removed keys.
  for (int round = 0; round < 8; ++round) {
    trainer.Push({round, 100 + round, 7});
    if (round % 2 == 1) trainer.Remove({2, 100 + round});
    trainer.Export();
    ASSERT_THAT(server.Poll(), IsOk()) << round;
    EXPECT_EQ(server.Get(kSome), trainer.Get(kSome)) << round;
    const auto size = trainer.session->Run({trainer.variable.size()});
    ASSERT_THAT(size.status(), IsOk());
    EXPECT_EQ(server.Size(), (*size)[0].scalar<int64_t>());
  }
  const EmbeddingFollowerState state = server.follower->state();
  EXPECT_EQ(state.number, 8);
  EXPECT_EQ(state.fulls, 1);
  EXPECT_EQ(state.deltas, 8);
  // A server that starts now needs the newest full export and what follows.
  Server late(*this);
  ASSERT_THAT(late.Poll(), IsOk());
  EXPECT_EQ(late.Get(kSome), trainer.Get(kSome));
  EXPECT_EQ(late.follower->state().deltas, 2);
  // Older ones are gone.
  EXPECT_FALSE(Exists(0, true));
  EXPECT_FALSE(Exists(2, false));
  EXPECT_TRUE(Exists(3, true));
}

TEST_F(EmbeddingExportTest, SecondsBehindAreTheAgeOfWhatIsServed) {
  Trainer trainer(*this);
  Server server(*this);
  const auto gauge = [&](const std::string& name) {
    std::vector<GaugeSample> samples;
    server.follower->Collect(&samples);
    for (const GaugeSample& sample : samples) {
      if (sample.name == name) return sample.value;
    }
    return -100.0;
  };
  EXPECT_EQ(server.follower->state().behind, absl::InfiniteDuration());
  EXPECT_EQ(gauge("weir_embedding_seconds_behind"), -100);
  EXPECT_EQ(gauge("weir_embedding_export_number"), -1);
  trainer.Push({1});
  trainer.Export();
  now_ += absl::Seconds(4);
  ASSERT_THAT(server.Poll(), IsOk());
  EXPECT_EQ(server.follower->state().behind, absl::Seconds(4));
  now_ += absl::Seconds(3);
  ASSERT_THAT(server.Poll(), IsOk());
  EXPECT_EQ(gauge("weir_embedding_seconds_behind"), 7);
  trainer.Export();
  ASSERT_THAT(server.Poll(), IsOk());
  EXPECT_EQ(gauge("weir_embedding_seconds_behind"), 0);
  EXPECT_EQ(gauge("weir_embedding_export_number"), 1);
}

TEST_F(EmbeddingExportTest, ExportsComeAtAnInterval) {
  Trainer trainer(*this);
  trainer.Push({1});
  const auto is_due = [&] {
    const absl::StatusOr<bool> exported = trainer.exporter->ExportIfDue(*trainer.session);
    EXPECT_THAT(exported.status(), IsOk());
    return exported.ok() && *exported;
  };
  EXPECT_TRUE(is_due());
  EXPECT_FALSE(is_due());
  now_ += absl::Milliseconds(9999);
  EXPECT_FALSE(is_due());
  now_ += absl::Milliseconds(1);
  EXPECT_TRUE(is_due());
  EXPECT_EQ(trainer.exporter->number(), 1);
}

TEST_F(EmbeddingExportTest, AfterAMissingDeltaAServerWaitsForAFullExport) {
  Trainer trainer(*this);
  Server server(*this);
  trainer.Push({1, 2, 3});
  trainer.Export();
  ASSERT_THAT(server.Poll(), IsOk());
  const std::vector<float> served = server.Get(kSome);
  trainer.Push({1});
  trainer.Remove({2});
  trainer.Export();
  std::filesystem::remove(PathOf(1, false) + ".index");
  trainer.Push({4});
  trainer.Export();
  const auto is_missing =
      StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(PathOf(1, false)), HasSubstr("missing")));
  for (int poll = 0; poll < 2; ++poll) {
    EXPECT_THAT(server.Poll(), is_missing);
    EXPECT_THAT(server.follower->state().problem, is_missing);
    EXPECT_EQ(server.follower->state().number, 0);
    EXPECT_EQ(server.Get(kSome), served);
  }
  trainer.Export();
  ASSERT_TRUE(trainer.exporter->last_was_full());
  ASSERT_THAT(server.Poll(), IsOk());
  EXPECT_THAT(server.follower->state().problem, IsOk());
  EXPECT_EQ(server.Get(kSome), trainer.Get(kSome));
  EXPECT_EQ(server.Size(), 3);  // 2 was removed, and the delta that said so is missing
  trainer.Push({5});
  trainer.Export();
  ASSERT_THAT(server.Poll(), IsOk());
  EXPECT_EQ(server.Get(kSome), trainer.Get(kSome));
}

TEST_F(EmbeddingExportTest, ADamagedDeltaIsNamedAndNotApplied) {
  Trainer trainer(*this);
  Server server(*this);
  trainer.Push({1, 2, 3});
  trainer.Export();
  ASSERT_THAT(server.Poll(), IsOk());
  const std::vector<float> served = server.Get(kSome);
  trainer.Push({1, 2, 3});
  trainer.Export();
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("rows-0000000001-delta.data", 0) != 0) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<int64_t>(std::filesystem::file_size(entry.path()));
    for (int64_t i = 0; i < size; ++i) {
      file.seekp(i);
      file.put('\x55');
    }
    ++damaged;
  }
  ASSERT_GT(damaged, 0);
  EXPECT_THAT(server.Poll(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(PathOf(1, false))));
  EXPECT_EQ(server.Get(kSome), served);
  trainer.Export();
  trainer.Export();
  ASSERT_TRUE(trainer.exporter->last_was_full());
  ASSERT_THAT(server.Poll(), IsOk());
  EXPECT_EQ(server.Get(kSome), trainer.Get(kSome));
}

TEST_F(EmbeddingExportTest, AnExporterThatBeginsAnewContinuesTheNumbers) {
  Server server(*this);
  {
    Trainer trainer(*this);
    trainer.Push({1, 2, 3});
    trainer.Export();
    ASSERT_THAT(server.Poll(), IsOk());
    trainer.Push({1});
    trainer.Export();
  }
  Trainer trainer(*this);
  trainer.Push({7});
  trainer.Export();
  EXPECT_EQ(trainer.exporter->number(), 2);
  EXPECT_TRUE(trainer.exporter->last_was_full());
  ASSERT_THAT(server.Poll(), IsOk());
  EXPECT_EQ(server.Get(kSome), trainer.Get(kSome));
  EXPECT_EQ(server.Size(), 1);
  // After rows went back, the next export has all.
  trainer.exporter->Reset();
  trainer.Export();
  EXPECT_TRUE(trainer.exporter->last_was_full());
  EXPECT_FALSE(Exists(3, false));
}

TEST_F(EmbeddingExportTest, CheckpointsOfChangesGoOnBesideExports) {
  Trainer trainer(*this);
  const auto save = [&](int number) {
    EXPECT_THAT(trainer.saver->Save(*trainer.session, directory_.Path(absl::StrCat("model-", number))), IsOk());
  };
  trainer.Push({1, 2, 3});
  save(0);
  trainer.Export();
  for (int i = 1; i < 3; ++i) {
    trainer.Remove({i});
    trainer.Export();
    trainer.Push({4});
    trainer.Export();
    save(i);
    EXPECT_TRUE(trainer.saver->last_was_delta()) << i;
  }
  const std::vector<float> saved = trainer.Get(kSome);
  ASSERT_THAT(trainer.saver->Restore(*trainer.session, directory_.Path("model-2")), IsOk());
  EXPECT_EQ(trainer.Get(kSome), saved);
}

TEST_F(EmbeddingExportTest, AServerThatLostItsRowsLoadsThemAgain) {
  Trainer trainer(*this);
  trainer.Push({1, 2, 3});
  trainer.Export();
  Server first(*this);
  ASSERT_THAT(first.Poll(), IsOk());
  // Another session of the process has tables of its own, as a restarted server has.
  absl::StatusOr<std::unique_ptr<Session>> restarted = Session::Local(first.scope);
  ASSERT_THAT(restarted.status(), IsOk());
  first.session = *std::move(restarted);
  ASSERT_THAT(first.Poll(), IsOk());
  EXPECT_EQ(first.Get(kSome), trainer.Get(kSome));
  EXPECT_EQ(first.follower->state().fulls, 2);
}

TEST_F(EmbeddingExportTest, AFollowerNeedsServingOptions) {
  const Scope scope = Scope::NewRoot();
  const EmbeddingVariable training = EmbeddingVariable::Make(scope.WithName("users"), TrainingOptions(1));
  const EmbeddingFollower follower(scope, {training}, dir_);
  EXPECT_THAT(scope.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ServingOptions")));
}

}  // namespace
}  // namespace weir
