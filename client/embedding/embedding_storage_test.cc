// Embeddings whose rows are on disk, or stored in fewer bits, in training.
#include <cmath>
#include <random>

#include "client/embedding/embedding_saver.h"
#include "client/embedding/embedding_variable.h"
#include "client/gradients.h"
#include "client/ops.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

// Matrix factorisation: learns scores of users and items of which the factors are known.
class Factorization {
 public:
  static constexpr int64_t kUsers = 300, kItems = 200, kWidth = 8, kBatch = 256;

  explicit Factorization(const EmbeddingVariableOptions& storage) {
    EmbeddingVariableOptions options = storage;
    if (options.width == 0) options.width = kWidth;
    options.optimizer = {.kind = EmbeddingOptimizer::Kind::kAdagrad, .learning_rate = 0.2};
    options.initializer = "truncated_normal";
    options.initializer_params = {0, 0.3f};
    users_ = EmbeddingVariable::Make(scope_.WithName("users"), options);
    options.seed = 1;
    items_ = EmbeddingVariable::Make(scope_.WithName("items"), options);
    for (Output* keys : {&user_keys_, &item_keys_, &step_}) *keys = ops::Placeholder(scope_, DT_INT64);
    scores_ = ops::Placeholder(scope_, DT_FLOAT);
    const EmbeddingPull user = users_.Pull(scope_, user_keys_), item = items_.Pull(scope_, item_keys_);
    const Output product = ops::Mul(scope_, users_.Embed(scope_, user), items_.Embed(scope_, item));
    const Output error = ops::Sub(scope_, ops::Sum(scope_, product, Tensor::Vector<int32_t>({1})), scores_);
    loss_ = ops::Mean(scope_, ops::Square(scope_, error), Tensor::Vector<int32_t>({0}));
    const Output sum = ops::Sum(scope_, ops::Square(scope_, error), Tensor::Vector<int32_t>({0}));
    const std::vector<Gradient> gradients = Gradients(scope_, {sum}, {user.unique, item.unique});
    statistics_ = ops::EmbeddingTableStatistics(scope_, users_.table(0));
    pushes_ = {users_.Push(scope_, user, gradients[0], step_), items_.Push(scope_, item, gradients[1], step_)};
    EXPECT_THAT(scope_.status(), IsOk());
    auto made = Session::Local(scope_);
    EXPECT_THAT(made.status(), IsOk());
    session_ = *std::move(made);
    EXPECT_THAT(session_->RunTargets({users_.initializer(), items_.initializer()}), IsOk());
  }

  int64_t UsersOnDisk() {
    const auto statistics = session_->Run({statistics_});
    EXPECT_THAT(statistics.status(), IsOk());
    constexpr int kCold = 11;
    return statistics.ok() ? (*statistics)[0].flat<int64_t>()[kCold] : -1;
  }
  // The mean loss of the last steps.
  double Train(int64_t steps) {
    std::mt19937 random(17);
    std::normal_distribution<float> normal(0, 0.6f);
    std::vector<float> of_users(kUsers * kWidth), of_items(kItems * kWidth);
    for (std::vector<float>* factors : {&of_users, &of_items}) {
      for (float& factor : *factors) factor = normal(random);
    }
    double sum = 0;
    constexpr int64_t kLast = 50;
    for (int64_t step = 0; step < steps; ++step) {
      std::vector<int64_t> users(kBatch), items(kBatch);
      std::vector<float> scores(kBatch);
      for (int64_t i = 0; i < kBatch; ++i) {
        users[i] = static_cast<int64_t>(random() % kUsers);
        items[i] = static_cast<int64_t>(random() % kItems);
        for (int64_t k = 0; k < kWidth; ++k)
          scores[i] += of_users[users[i] * kWidth + k] * of_items[items[i] * kWidth + k];
      }
      const auto loss = session_->Run({{user_keys_, Tensor::Vector<int64_t>(users)},
                                       {item_keys_, Tensor::Vector<int64_t>(items)},
                                       {scores_, Tensor::Vector<float>(scores)},
                                       {step_, Tensor::Scalar(step)}},
                                      {loss_}, pushes_);
      EXPECT_THAT(loss.status(), IsOk());
      if (!loss.ok()) return -1;
      if (step >= steps - kLast) sum += (*loss)[0].scalar<float>() / kLast;
    }
    return sum;
  }

 private:
  Scope scope_ = Scope::NewRoot();
  EmbeddingVariable users_, items_;
  Output user_keys_, item_keys_, step_, scores_, loss_, statistics_;
  std::vector<Operation> pushes_;
  std::unique_ptr<Session> session_;
};

TEST(EmbeddingStorageTest, SmallRowsTrainNearlyAsFloatRowsDo) {
  const double first = Factorization({}).Train(50);
  const double exact = Factorization({}).Train(1200);
  ASSERT_LT(exact, first / 10) << first;
  const double bf16 = Factorization({.value_dtype = DT_BFLOAT16}).Train(1200);
  const double int8 = Factorization({.value_dtype = DT_INT8}).Train(1200);
  // The scores' mean square is about 1; rounding adds to the error what it adds to the numbers.
  EXPECT_NEAR(bf16, exact, 0.002);
  EXPECT_NEAR(int8, exact, 0.02);
  RecordProperty("loss", absl::StrCat("float ", exact, ", bfloat16 ", bf16, ", int8 ", int8));
}

TEST(EmbeddingStorageTest, TrainingWithRowsOnDiskIsTheSame) {
  const ScratchDirectory folder;
  Factorization tiers({.width = 64, .memory_limit_bytes = 64 << 10, .storage_path = folder.path()});
  EXPECT_EQ(tiers.Train(200), Factorization({.width = 64}).Train(200));
  EXPECT_GT(tiers.UsersOnDisk(), 0);
}

TEST(EmbeddingStorageTest, CheckpointsAreReadByTablesOfOtherTypes) {
  const ScratchDirectory folder;
  const auto make = [&](DataType dtype, const Scope& scope) {
    EmbeddingVariableOptions options{.width = 4, .value_dtype = dtype};
    options.optimizer = {.kind = EmbeddingOptimizer::Kind::kAdagrad, .learning_rate = 0.1};
    return EmbeddingVariable::Make(scope.WithName("e"), options);
  };
  std::vector<std::vector<float>> values;
  for (const DataType dtype : {DT_BFLOAT16, DT_BFLOAT16, DT_FLOAT}) {
    const Scope scope = Scope::NewRoot();
    const EmbeddingVariable variable = make(dtype, scope);
    const Output keys = ops::Placeholder(scope, DT_INT64);
    const EmbeddingPull pull = variable.Pull(scope, keys);
    const Output rows = variable.Embed(scope, pull);
    const Output loss = ops::Sum(scope, rows, Tensor::Vector<int32_t>({0, 1}));
    const Operation push = variable.Push(scope, pull, Gradients(scope, {loss}, {pull.unique})[0],
                                         scope.Constant(Tensor::Scalar<int64_t>(0)));
    EmbeddingSaver saver(scope, {variable});
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Local(scope));
    const Tensor some = Tensor::Vector<int64_t>({1, 2, 3, 4, 5, 6, 7});
    if (values.empty()) {
      ASSERT_THAT(saver.Initialize(*session), IsOk());
      for (int i = 0; i < 5; ++i) ASSERT_THAT(session->Run({{keys, some}}, {}, {push}).status(), IsOk());
      ASSERT_THAT(saver.Save(*session, folder.Path("model-1")), IsOk());
    } else {
      ASSERT_THAT(saver.Restore(*session, folder.Path("model-1")), IsOk());
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> pulled, session->Run({{keys, some}}, {rows}));
    values.emplace_back(pulled[0].flat<float>().begin(), pulled[0].flat<float>().end());
  }
  EXPECT_EQ(values[1], values[0]);
  EXPECT_EQ(values[2], values[0]);
}

}  // namespace
}  // namespace weir
