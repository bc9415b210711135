#include "core/checkpoint/manifest.h"

#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/crc32c.h"
#include "core/files/fault_injecting_file_system.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ManifestTest : public testing::Test {
 protected:
  // A checkpoint of all kinds of entries, in two shards.
  void Stage(const std::string& prefix, float value) {
    for (const char* part : {"-a", "-b"}) {
      ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), prefix + part));
      ASSERT_THAT(writer->Add(absl::StrCat("floats", part), Tensor::Vector<float>({1, 2, value})), IsOk());
      ASSERT_THAT(writer->Add(absl::StrCat("texts", part), Tensor::Vector<tstring>({"", "x", std::string(300, 'y')})),
                  IsOk());
      ASSERT_THAT(writer->Add(absl::StrCat("nothing", part), Tensor(DT_INT32, TensorShape({0}))), IsOk());
      ASSERT_THAT(
          writer->AddSlice("sliced", TensorShape({4}), TensorSlice::Parse(part[1] == 'a' ? "0,2" : "2,2").value(),
                           Tensor::Vector<float>({5, 6})),
          IsOk());
      ASSERT_THAT(writer->Finish(), IsOk());
    }
    ASSERT_THAT(MergeBundles(fs_.get(), {prefix + "-a", prefix + "-b"}, prefix), IsOk());
  }
  absl::Status Publish(FileSystem* files, const std::string& staged, const std::string& prefix) {
    CheckpointManifest manifest;
    manifest.set_token(3);
    ASSIGN_OR_RETURN(const auto described, BundleFiles(files, staged, std::string(BaseName(prefix))));
    for (const auto& file : described) *manifest.add_file() = file;
    RETURN_IF_ERROR(PublishCheckpoint(files, staged, prefix, manifest));
    return AddCheckpoint(files, std::string(DirName(prefix)), prefix, {});
  }
  void Make(const std::string& prefix, float value) {
    Stage("tmp/merged", value);
    ASSERT_THAT(fs_->CreateDir("d"), IsOk());
    ASSERT_THAT(Publish(fs_.get(), "tmp/merged", prefix), IsOk());
  }
  void Flip(const std::string& path, size_t at) {
    ASSERT_OK_AND_ASSIGN(std::string content, ReadFileToString(fs_.get(), path));
    content[at] ^= 1;
    ASSERT_THAT(WriteStringToFile(fs_.get(), path, content), IsOk());
  }

  std::unique_ptr<FileSystem> fs_ = NewMemoryFileSystem();
};

TEST_F(ManifestTest, ListsTheFilesWithTheirSizesAndChecksums) {
  Make("d/m-1", 3);
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, ReadManifest(fs_.get(), "d/m-1"));
  EXPECT_EQ(manifest.generation(), 1);
  EXPECT_EQ(manifest.token(), 3);
  ASSERT_EQ(manifest.file_size(), 3);
  for (const auto& file : manifest.file()) {
    ASSERT_OK_AND_ASSIGN(const std::string content, ReadFileToString(fs_.get(), "d/" + file.name()));
    EXPECT_EQ(file.size(), content.size()) << file.name();
    EXPECT_EQ(file.crc32c(), crc32c::Value(content)) << file.name();
  }
  EXPECT_THAT(VerifyManifest(fs_.get(), "d/m-1", manifest), IsOk());
  EXPECT_THAT(*fs_->List("d"), ElementsAre("checkpoint", "m-1.data-00000-of-00002", "m-1.data-00001-of-00002",
                                           "m-1.index", "m-1.manifest"));
}

TEST_F(ManifestTest, GenerationsCountUp) {
  Make("d/m-1", 1);
  Make("d/m-2", 2);
  EXPECT_EQ(ReadManifest(fs_.get(), "d/m-2")->generation(), 2);
  // Also if the newest one has no manifest, because another program wrote it.
  ASSERT_THAT(fs_->DeleteFile("d/m-2.manifest"), IsOk());
  Make("d/m-3", 3);
  EXPECT_EQ(ReadManifest(fs_.get(), "d/m-3")->generation(), 2);
}

TEST_F(ManifestTest, EveryFlippedBitOfDataIsFound) {
  Make("d/m-1", 1);
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, ReadManifest(fs_.get(), "d/m-1"));
  const std::string path = "d/m-1.data-00001-of-00002";
  const size_t size = fs_->Size(path).value();
  for (size_t at = 0; at < size; ++at) {
    Flip(path, at);
    EXPECT_THAT(VerifyManifest(fs_.get(), "d/m-1", manifest), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
    Flip(path, at);
  }
}

TEST_F(ManifestTest, EveryFlippedBitOfItsTextIsFoundOrMeansTheSame) {
  Make("d/m-1", 1);
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest intact, ReadManifest(fs_.get(), "d/m-1"));
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFileToString(fs_.get(), "d/m-1.manifest"));
  int found = 0;
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] ^= 1 << (bit % 8);
    const absl::StatusOr<CheckpointManifest> read = ParseManifest(flipped, "d/m-1.manifest");
    if (read.ok()) {
      EXPECT_EQ(read->SerializeAsString(), intact.SerializeAsString()) << bit;
    } else {
      EXPECT_THAT(read.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("d/m-1.manifest"))) << bit;
      ++found;
    }
  }
  EXPECT_GT(found, 7 * text.size());
}

// The writer was killed before it listed the checkpoint.
TEST_F(ManifestTest, ACheckpointThatWasPublishedButNotListedIsTheLatest) {
  Make("d/m-1", 1);
  Stage("tmp/merged", 2);
  CheckpointManifest manifest;
  manifest.set_token(3);
  ASSERT_THAT(PublishCheckpoint(fs_.get(), "tmp/merged", "d/m-2", manifest), IsOk());
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/m-2");
  EXPECT_THAT(*CompleteCheckpoints(fs_.get(), "d"), ElementsAre("d/m-2", "d/m-1"));
  Make("d/m-3", 3);
  EXPECT_EQ(ReadManifest(fs_.get(), "d/m-3")->generation(), 3);
  EXPECT_THAT(ReadCheckpointState(fs_.get(), "d")->all, ElementsAre("d/m-1", "d/m-2", "d/m-3"));
}

TEST_F(ManifestTest, ACheckpointOfAnotherNameIsNotTheLatest) {
  Make("d/m-1", 1);
  for (const char* name : {"d/best", "d/export-9"}) {
    Stage("tmp/merged", 2);
    ASSERT_THAT(PublishCheckpoint(fs_.get(), "tmp/merged", name, {}), IsOk());
  }
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/m-1");
}

TEST_F(ManifestTest, ACheckpointThatSomebodyTookOffTheListIsNotTheLatest) {
  Make("d/m-1", 1);
  Make("d/m-2", 2);
  ASSERT_THAT(WriteCheckpointState(fs_.get(), "d", {.latest = "d/m-1", .all = {"d/m-1"}}), IsOk());
  EXPECT_EQ(*LatestCheckpoint(fs_.get(), "d"), "d/m-1");
  EXPECT_THAT(*CompleteCheckpoints(fs_.get(), "d"), ElementsAre("d/m-1", "d/m-2"));
  Make("d/m-3", 3);
  EXPECT_THAT(ReadCheckpointState(fs_.get(), "d")->all, ElementsAre("d/m-1", "d/m-3"));
}

TEST_F(ManifestTest, ACheckpointOfTwoGenerationsIsSkipped) {
  Make("d/m-1", 1);
  Make("d/m-2", 2);
  Stage("e/m-2", 7);
  ASSERT_THAT(fs_->Rename("e/m-2.index", "d/m-2.index"), IsOk());
  EXPECT_THAT(CheckCheckpointComplete(fs_.get(), "d/m-2"),
              StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("d/m-2.index"), HasSubstr("d/m-2.manifest"))));
  EXPECT_THAT(*CompleteCheckpoints(fs_.get(), "d"), ElementsAre("d/m-1"));
}

TEST_F(ManifestTest, ACheckpointWithoutOneIsComplete) {
  Stage("d/m-1", 1);
  EXPECT_THAT(CheckCheckpointComplete(fs_.get(), "d/m-1"), IsOk());
  ASSERT_THAT(WriteStringToFile(fs_.get(), "d/m-1.manifest", "generation: x"), IsOk());
  EXPECT_THAT(CheckCheckpointComplete(fs_.get(), "d/m-1"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("manifest")));
}

TEST_F(ManifestTest, ACrashLeavesTheOldGenerationOrTheNew) {
  bool crashed = true;
  for (int64_t at = 0; crashed; ++at) {
    fs_ = NewMemoryFileSystem();
    Make("d/m-1", 1);
    Stage("tmp/merged", 2);
    FaultInjectingFileSystem faulty(fs_.get());
    faulty.Inject({.at = at});
    Publish(&faulty, "tmp/merged", "d/m-2").IgnoreError();
    crashed = faulty.fault_happened();
    ASSERT_OK_AND_ASSIGN(const std::string latest, LatestCheckpoint(fs_.get(), "d"));
    EXPECT_TRUE(crashed || latest == "d/m-2");
    ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(fs_.get(), latest));
    EXPECT_EQ(reader->Read("floats-b")->data<float>()[2], latest == "d/m-2" ? 2 : 1) << at;
    ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, ReadManifest(fs_.get(), latest));
    EXPECT_THAT(VerifyManifest(fs_.get(), latest, manifest), IsOk()) << at;
  }
}

}  // namespace
}  // namespace weir
