#include "core/files/file_system.h"
#include "kernels/data/dataset_testing.h"
#include "kernels/data/saved/snapshot_files.h"
#include "tensorflow/core/protobuf/snapshot.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class SnapshotTest : public DatasetPipelineTest {
 protected:
  FileSystem* Files() { return *device()->file_systems()->Find("mem://"); }
  // Saves 0, 1 and 2 as one shard, in two files, and gives its directory.
  std::string Saved(const std::string& path, const std::string& compression) {
    SnapshotWriter writer(Files(), path, *ParseSnapshotCompression(compression));
    EXPECT_THAT(writer.Write(0, {Int(0)}), IsOk());
    EXPECT_THAT(writer.Write(0, {Int(1)}), IsOk());
    EXPECT_THAT(writer.EndFiles(), IsOk());
    EXPECT_THAT(writer.Write(0, {Int(2)}), IsOk());
    EXPECT_THAT(writer.EndFiles(), IsOk());
    return JoinPath(path, "00000000.shard");
  }
  absl::StatusOr<std::vector<int64_t>> Read(const std::string& dir, const std::string& compression, int64_t start,
                                            int64_t version = 2) {
    return Elements(RunOp1("SnapshotDatasetReader", {AsScalar<tstring>(dir), Int(start)},
                           Types().Set("compression", compression).Set("version", version)));
  }
};

TEST_F(SnapshotTest, ShardsAreReadAsTheyWereSaved) {
  for (const std::string compression : {"", "GZIP", "SNAPPY"}) {
    const std::string dir = Saved("mem://saved" + compression, compression);
    ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> elements, Read(dir, compression, 1));
    EXPECT_EQ(elements, (std::vector<int64_t>{1, 2})) << compression;
    EXPECT_THAT(Read(dir, compression, 3), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("fewer than 3")));
  }
  EXPECT_THAT(Read("mem://saved", "", 0, 3), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("version: 3")));
  EXPECT_THAT(Read("mem://nothing", "", 0), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(SnapshotTest, ReadersSeeOneRecordOrTheOther) {
  SnapshotMetadata metadata;
  ASSERT_OK_AND_ASSIGN(bool found, ReadSnapshotMetadata(Files(), "mem://run", &metadata));
  EXPECT_FALSE(found);
  metadata.set_run_id("7");
  metadata.set_finalized(true);
  ASSERT_THAT(WriteSnapshotMetadata(Files(), "mem://run", metadata), IsOk());
  SnapshotMetadata read;
  ASSERT_OK_AND_ASSIGN(found, ReadSnapshotMetadata(Files(), "mem://run", &read));
  EXPECT_TRUE(found && read.finalized() && read.run_id() == "7");
  ASSERT_THAT(WriteStringToFile(Files(), "mem://run/snapshot.metadata", "\xff"), IsOk());
  EXPECT_THAT(ReadSnapshotMetadata(Files(), "mem://run", &read), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(SnapshotTest, BrokenFilesAreTold) {
  for (const std::string compression : {"", "GZIP", "SNAPPY"}) {
    const std::string dir = Saved("mem://broken" + compression, compression), path = SnapshotFile(dir, 0);
    ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFileToString(Files(), path));
    ASSERT_THAT(WriteStringToFile(Files(), path, bytes.substr(0, bytes.size() - 5)), IsOk());
    EXPECT_THAT(Read(dir, compression, 0), StatusIs(absl::StatusCode::kDataLoss)) << compression;
    ASSERT_THAT(WriteStringToFile(Files(), path, std::string(64, '\xff')), IsOk());
    for (const int64_t version : {0, 1, 2}) {
      EXPECT_FALSE(Read(dir, compression, 0, version).ok()) << compression << version;
    }
  }
}

}  // namespace
}  // namespace weir
