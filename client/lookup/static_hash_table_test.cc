#include "client/lookup/static_hash_table.h"

#include "client/local_runtime.h"
#include "client/master_session_client.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/files/file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "kernels/device/gpu/machine_gpus.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class StaticHashTableTest : public ::testing::Test {
 protected:
  std::string WriteFile(absl::string_view text) {
    const std::string path = directory_.Path("words.txt");
    EXPECT_THAT(WriteStringToFile(NewPosixFileSystem().get(), path, text), IsOk());
    return path;
  }
  // `outputs`, after the initializers if `fill`.
  absl::StatusOr<std::vector<Tensor>> Evaluate(const std::vector<Output>& outputs, bool fill = true) {
    const Operation tables = InitializeTables(scope_);
    ASSIGN_OR_RETURN(const auto session, Session::Local(scope_));
    // Twice: a table that has its entries keeps them.
    for (int i = 0; fill && i < 2; ++i) RETURN_IF_ERROR(session->RunTargets({tables}));
    return session->Run(outputs);
  }

  const ScratchDirectory directory_;
  const Scope scope_ = Scope::NewRoot();
};

TEST_F(StaticHashTableTest, NumbersTheLinesOfAFile) {
  const auto words = StaticHashTable::FromTextFile(scope_.WithName("words"), WriteFile("a\nb\nc\n"), -1);
  ASSERT_OK_AND_ASSIGN(const auto result, Evaluate({words.Lookup(scope_, AsTensor<tstring>({"c", "x", "a"}, {1, 3})),
                                                    words.Size(scope_)}));
  ExpectTensorEqual(result[0], AsTensor<int64_t>({2, -1, 0}, {1, 3}));
  EXPECT_EQ(result[1].scalar<int64_t>(), 3);
  EXPECT_EQ(words.handle().op().name(), "words/handle");
}

TEST_F(StaticHashTableTest, TakesTheColumnsOfAFile) {
  const auto prices = StaticHashTable::FromTextFile(
      scope_, WriteFile("apple,3,0.5\npear,4,0.75\n"), 0,
      {.key_dtype = DT_INT64, .key_index = 1, .value_dtype = DT_FLOAT, .value_index = 2, .delimiter = ","});
  ASSERT_OK_AND_ASSIGN(const auto result, Evaluate({prices.Lookup(scope_, Tensor::Vector<int64_t>({4, 5}))}));
  ExpectTensorEqual(result[0], Tensor::Vector<float>({0.75f, 0}));
}

TEST_F(StaticHashTableTest, TakesTensors) {
  const auto names = StaticHashTable::FromTensors(scope_, Tensor::Vector<int64_t>({7, 9}),
                                                  Tensor::Vector<tstring>({"seven", "nine"}), "?");
  ASSERT_OK_AND_ASSIGN(const auto result, Evaluate({names.Lookup(scope_, Tensor::Vector<int64_t>({9, 8}))}));
  ExpectTensorEqual(result[0], Tensor::Vector<tstring>({"nine", "?"}));
}

TEST_F(StaticHashTableTest, GraphsWithOtherEntriesHaveTablesOfTheirOwn) {
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<LocalRuntime> runtime, LocalRuntime::Create({}, MachineGpus()));
  for (const int64_t value : {1, 2}) {
    const Scope scope = Scope::NewRoot();
    const auto table =
        StaticHashTable::FromTensors(scope, Tensor::Vector<int64_t>({7}), Tensor::Vector<int64_t>({value}), 0);
    const Output found = table.Lookup(scope, Tensor::Vector<int64_t>({7}));
    const Operation fill = InitializeTables(scope);
    const std::shared_ptr<MasterInterface> master(runtime, runtime->master());
    ASSERT_OK_AND_ASSIGN(const auto session, MasterSessionClient::Create(master, runtime, scope, {}));
    ASSERT_THAT(session->RunTargets({fill}), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto result, session->Run({found}));
    ExpectTensorEqual(result[0], Tensor::Vector<int64_t>({value}));
  }
}

TEST_F(StaticHashTableTest, SaysThatItIsEmpty) {
  const auto names =
      StaticHashTable::FromTensors(scope_, Tensor::Vector<int64_t>({7}), Tensor::Vector<int64_t>({1}), 0);
  EXPECT_THAT(Evaluate({names.Lookup(scope_, Tensor::Vector<int64_t>({7}))}, /*fill=*/false).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("initialized")));
}

TEST_F(StaticHashTableTest, ReportsBadFilesAndEntries) {
  const auto missing = StaticHashTable::FromTextFile(scope_, directory_.Path("none"), 0);
  EXPECT_THAT(Evaluate({missing.Size(scope_)}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(directory_.Path("none"))));
  const Scope other = Scope::NewRoot();
  const auto twice =
      StaticHashTable::FromTensors(other, Tensor::Vector<int64_t>({7, 7}), Tensor::Vector<int64_t>({1, 2}), 0);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(other));
  EXPECT_THAT(session->RunTargets({twice.initializer()}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Key 7")));
}

TEST_F(StaticHashTableTest, GraphsWithoutTablesHaveNothingToFill) { EXPECT_FALSE(InitializeTables(scope_).valid()); }

}  // namespace
}  // namespace weir
