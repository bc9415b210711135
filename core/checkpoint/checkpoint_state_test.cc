#include "core/checkpoint/checkpoint_state.h"

#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/manifest.h"
#include "core/files/fault_injecting_file_system.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointStateTest : public testing::Test {
 protected:
  void Save(const std::string& prefix) {
    ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), prefix));
    ASSERT_THAT(writer->Add("w", Tensor::Scalar<float>(1)), IsOk());
    ASSERT_THAT(writer->Finish(), IsOk());
  }
  void Overwrite(const std::string& path, absl::string_view bytes) {
    ASSERT_OK_AND_ASSIGN(auto file, fs_->NewWritableFile(path));
    ASSERT_THAT(file->Append(bytes), IsOk());
  }

  std::unique_ptr<FileSystem> fs_ = NewMemoryFileSystem();
};

TEST_F(CheckpointStateTest, PathsBelowTheDirectoryAreRelative) {
  CheckpointState state;
  state.latest = "/d/ckpt-2";
  state.all = {"/elsewhere/ckpt-1", "/d/ckpt-2"};
  state.timestamps = {10, 20.5};
  ASSERT_THAT(fs_->CreateDir("/d"), IsOk());
  ASSERT_THAT(WriteCheckpointState(fs_.get(), "/d", state), IsOk());
  EXPECT_THAT(*ReadFileToString(fs_.get(), "/d/checkpoint"), HasSubstr("model_checkpoint_path: \"ckpt-2\"\n"));
  ASSERT_OK_AND_ASSIGN(CheckpointState read, ReadCheckpointState(fs_.get(), "/d"));
  EXPECT_EQ(read.latest, state.latest);
  EXPECT_EQ(read.all, state.all);
  EXPECT_EQ(read.timestamps, state.timestamps);
}

TEST_F(CheckpointStateTest, KeepsTheNewestAndDeletesTheRest) {
  for (int step = 1; step <= 4; ++step) {
    Save(absl::StrCat("d/ckpt-", step));
    AddCheckpointOptions options;
    options.keep = 2;
    options.timestamp = step;
    ASSERT_THAT(AddCheckpoint(fs_.get(), "d", absl::StrCat("d/ckpt-", step), options), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(CheckpointState state, ReadCheckpointState(fs_.get(), "d"));
  EXPECT_THAT(state.all, ElementsAre("d/ckpt-3", "d/ckpt-4"));
  EXPECT_THAT(state.timestamps, ElementsAre(3, 4));
  EXPECT_EQ(state.last_preserved, 1);
  EXPECT_THAT(*fs_->Glob("d/*.index"), ElementsAre("d/ckpt-3.index", "d/ckpt-4.index"));
  EXPECT_THAT(*fs_->Glob("d/*.data-*"), testing::SizeIs(2));
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/ckpt-4");
}

TEST_F(CheckpointStateTest, OneInEachPeriodIsKeptForGood) {
  for (int step = 1; step <= 8; ++step) {
    Save(absl::StrCat("d/ckpt-", step));
    ASSERT_THAT(AddCheckpoint(fs_.get(), "d", absl::StrCat("d/ckpt-", step),
                              {.keep = 2, .keep_every = absl::Minutes(30), .timestamp = 1000 + 600.0 * step}),
                IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const CheckpointState state, ReadCheckpointState(fs_.get(), "d"));
  EXPECT_THAT(state.all, ElementsAre("d/ckpt-7", "d/ckpt-8"));
  EXPECT_EQ(state.last_preserved, 1000 + 600.0 * 4);
  EXPECT_THAT(*fs_->Glob("d/*.index"), ElementsAre("d/ckpt-4.index", "d/ckpt-7.index", "d/ckpt-8.index"));
}

TEST_F(CheckpointStateTest, LatestSkipsWhatIsNotComplete) {
  for (int step = 1; step <= 4; ++step) {
    Save(absl::StrCat("d/ckpt-", step));
    ASSERT_THAT(AddCheckpoint(fs_.get(), "d", absl::StrCat("d/ckpt-", step), {}), IsOk());
  }
  ASSERT_THAT(fs_->DeleteFile("d/ckpt-4.index"), IsOk());
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/ckpt-3");
  Overwrite(BundleDataPath("d/ckpt-3", 0, 1), "abc");
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/ckpt-2");
  Overwrite("d/ckpt-2.index", "not a table");
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/ckpt-1");
  ASSERT_THAT(fs_->DeleteFile(BundleDataPath("d/ckpt-1", 0, 1)), IsOk());
  EXPECT_THAT(LatestCheckpoint(fs_.get(), "d"),
              StatusIs(absl::StatusCode::kNotFound, testing::AllOf(HasSubstr("d/ckpt-3"), HasSubstr("truncated"))));
}

TEST_F(CheckpointStateTest, LatestManagesWithoutTheStateFile) {
  EXPECT_THAT(LatestCheckpoint(fs_.get(), "d"), StatusIs(absl::StatusCode::kNotFound));
  Save("d/ckpt-7");
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/ckpt-7");
  Overwrite("d/checkpoint", "model_checkpoint_path: {{{");
  EXPECT_THAT(ReadCheckpointState(fs_.get(), "d"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("d/checkpoint")));
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/ckpt-7");
  EXPECT_THAT(AddCheckpoint(fs_.get(), "d", "d/ckpt-7", {}), IsOk());
  EXPECT_EQ(ReadCheckpointState(fs_.get(), "d")->latest, "d/ckpt-7");
}

TEST_F(CheckpointStateTest, CompleteCheckpointsAreListedNewestFirst) {
  EXPECT_THAT(*CompleteCheckpoints(fs_.get(), "d"), testing::IsEmpty());
  for (int step = 1; step <= 3; ++step) {
    Save(absl::StrCat("d/ckpt-", step));
    ASSERT_THAT(AddCheckpoint(fs_.get(), "d", absl::StrCat("d/ckpt-", step), {}), IsOk());
  }
  Overwrite(BundleDataPath("d/ckpt-2", 0, 1), "");
  EXPECT_THAT(*CompleteCheckpoints(fs_.get(), "d"), ElementsAre("d/ckpt-3", "d/ckpt-1"));
  for (int step = 1; step <= 3; ++step) Overwrite(BundleDataPath(absl::StrCat("d/ckpt-", step), 0, 1), "");
  EXPECT_THAT(CompleteCheckpoints(fs_.get(), "d"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("d/ckpt-3")));
}

TEST_F(CheckpointStateTest, ADirectoryThatCannotBeReadIsNoEmptyOne) {
  Save("d/ckpt-1");
  FaultInjectingFileSystem faulty(fs_.get());
  faulty.Inject({.kinds = {FaultInjectingFileSystem::kRead}, .error = errors::Internal("Input/output error")});
  ASSERT_THAT(AddCheckpoint(fs_.get(), "d", "d/ckpt-1", {}), IsOk());
  EXPECT_THAT(CompleteCheckpoints(&faulty, "d"), StatusIs(absl::StatusCode::kInternal));
}

// Otherwise training would resume from an older checkpoint, or from initial values.
TEST_F(CheckpointStateTest, AStoreThatFailsOnceHidesNoCheckpoint) {
  for (int step = 1; step <= 2; ++step) {
    Save(absl::StrCat("d/staged-", step));
    ASSERT_THAT(PublishCheckpoint(fs_.get(), absl::StrCat("d/staged-", step), absl::StrCat("d/ckpt-", step), {}),
                IsOk());
    if (step == 1) {
      ASSERT_THAT(AddCheckpoint(fs_.get(), "d", "d/ckpt-1", {}), IsOk());
    }
    ASSERT_THAT(DeleteCheckpoint(fs_.get(), absl::StrCat("d/staged-", step)), IsOk());
  }
  ASSERT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/ckpt-2");  // awaits its listing
  FaultInjectingFileSystem faulty(fs_.get());
  for (const auto kind : {FaultInjectingFileSystem::kStat, FaultInjectingFileSystem::kRead}) {
    const auto at_each_operation = [&](const auto& call) {
      bool failed = true;
      for (int64_t at = 0; failed; ++at) {
        faulty.Inject({.at = at, .kinds = {kind}, .crash = false});
        const absl::StatusOr<std::string> newest = call();
        failed = faulty.fault_happened();
        EXPECT_EQ(newest.status().code(), failed ? absl::StatusCode::kUnavailable : absl::StatusCode::kOk) << at;
        EXPECT_EQ(newest.value_or("d/ckpt-2"), "d/ckpt-2");
      }
    };
    at_each_operation([&] { return LatestCheckpoint(&faulty, "d"); });
    at_each_operation([&]() -> absl::StatusOr<std::string> {
      ASSIGN_OR_RETURN(const std::vector<std::string> complete, CompleteCheckpoints(&faulty, "d"));
      return complete.empty() ? "none" : complete[0];
    });
  }
}

TEST_F(CheckpointStateTest, AnOldCheckpointThatCannotBeDeletedStaysOnTheList) {
  for (int step = 1; step <= 2; ++step) {
    Save(absl::StrCat("d/ckpt-", step));
    ASSERT_THAT(AddCheckpoint(fs_.get(), "d", absl::StrCat("d/ckpt-", step), {.keep = 2}), IsOk());
  }
  FaultInjectingFileSystem faulty(fs_.get());
  faulty.Inject({.kinds = {FaultInjectingFileSystem::kDelete}, .crash = false});
  Save("d/ckpt-3");
  ASSERT_THAT(AddCheckpoint(&faulty, "d", "d/ckpt-3", {.keep = 2}), IsOk());
  EXPECT_THAT(ReadCheckpointState(fs_.get(), "d")->all, ElementsAre("d/ckpt-1", "d/ckpt-2", "d/ckpt-3"));
}

// A save that is killed at any point leaves the directory so that the next one leaves two checkpoints.
TEST_F(CheckpointStateTest, ACrashLeavesNoSurplusCheckpoint) {
  bool crashed = true;
  for (int64_t at = 0; crashed; ++at) {
    fs_ = NewMemoryFileSystem();
    FaultInjectingFileSystem faulty(fs_.get());
    for (int step = 1; step <= 4; ++step) {
      Save(absl::StrCat("d/ckpt-", step));
      if (step == 3) faulty.Inject({.at = at});
      AddCheckpoint(&faulty, "d", absl::StrCat("d/ckpt-", step), {.keep = 2}).IgnoreError();
      if (step == 3) crashed = faulty.fault_happened();
      faulty.Heal();
      EXPECT_THAT(LatestCheckpoint(fs_.get(), "d"), IsOk());
    }
    EXPECT_THAT(*fs_->List("d"), ElementsAre("checkpoint", "ckpt-3.data-00000-of-00001", "ckpt-3.index",
                                             "ckpt-4.data-00000-of-00001", "ckpt-4.index"))
        << at;
  }
}

TEST_F(CheckpointStateTest, DeleteTouchesNoOtherCheckpoint) {
  Save("d/ckpt-1");
  Save("d/ckpt-10");
  ASSERT_THAT(DeleteCheckpoint(fs_.get(), "d/ckpt-1"), IsOk());
  ASSERT_THAT(DeleteCheckpoint(fs_.get(), "d/ckpt-1"), IsOk());
  EXPECT_THAT(*fs_->List("d"), ElementsAre("ckpt-10.data-00000-of-00001", "ckpt-10.index"));
}

}  // namespace
}  // namespace weir
