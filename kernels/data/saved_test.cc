// tests/differential/table_saved.py compares these kernels with TensorFlow; files, states and bytes from outside are
// here.
#include "core/file_system.h"
#include "core/op_kernel_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/data/compressed_element.h"
#include "kernels/data/saved/snapshot_files.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/dataset.pb.h"
#include "tensorflow/core/protobuf/snapshot.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

class SavedDatasetTest : public KernelTest {
 protected:
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }

  static Tensor Int(int64_t value) { return Tensor::Scalar<int64_t>(value); }
  static Attrs Types() {
    Attrs attrs;
    attrs.Set("output_shapes", std::vector<PartialTensorShape>(1));
    attrs.Set("output_types", DataTypeVector{DT_INT64});
    return attrs;
  }
  Tensor Range(int64_t stop) {
    absl::StatusOr<Tensor> range = RunOp1("RangeDataset", {Int(0), Int(stop), Int(1)}, Types());
    EXPECT_THAT(range.status(), IsOk());
    return *range;
  }
  // All elements, up to an error.
  absl::StatusOr<std::vector<int64_t>> Elements(const absl::StatusOr<Tensor>& dataset) {
    RETURN_IF_ERROR(dataset.status());
    ASSIGN_OR_RETURN(const Tensor handle, RunOp1("AnonymousIteratorV3", {}, Types()));
    RETURN_IF_ERROR(RunOp("MakeIterator", {*dataset, handle}).status());
    std::vector<int64_t> elements;
    for (;;) {
      const absl::StatusOr<Tensor> next = RunOp1("IteratorGetNext", {handle}, Types());
      if (absl::IsOutOfRange(next.status())) return elements;
      RETURN_IF_ERROR(next.status());
      elements.push_back(next->scalar<int64_t>());
    }
  }
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
  absl::StatusOr<Tensor> Asserted(std::vector<tstring> next) {
    ASSIGN_OR_RETURN(const Tensor asserted,
                     RunOp1("AssertNextDataset", {Range(5), AsTensor<tstring>(std::move(next))}, Types()));
    ASSIGN_OR_RETURN(const Tensor skipped, RunOp1("SkipDataset", {asserted, Int(1)}, Types()));
    return RunOp1("TakeDataset", {skipped, Int(2)}, Types());
  }
};

TEST_F(SavedDatasetTest, ShardsAreReadAsTheyWereSaved) {
  for (const std::string compression : {"", "GZIP", "SNAPPY"}) {
    const std::string dir = Saved("mem://saved" + compression, compression);
    ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> elements, Read(dir, compression, 1));
    EXPECT_EQ(elements, (std::vector<int64_t>{1, 2})) << compression;
    EXPECT_THAT(Read(dir, compression, 3), StatusIs(Code::kDataLoss, HasSubstr("fewer than 3")));
  }
  EXPECT_THAT(Read("mem://saved", "", 0, 3), StatusIs(Code::kInvalidArgument, HasSubstr("version: 3")));
  EXPECT_THAT(Read("mem://nothing", "", 0), StatusIs(Code::kNotFound));
}

TEST_F(SavedDatasetTest, ReadersSeeOneRecordOrTheOther) {
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
  EXPECT_THAT(ReadSnapshotMetadata(Files(), "mem://run", &read), StatusIs(Code::kDataLoss));
}

TEST_F(SavedDatasetTest, BrokenFilesAreTold) {
  for (const std::string compression : {"", "GZIP", "SNAPPY"}) {
    const std::string dir = Saved("mem://broken" + compression, compression), path = SnapshotFile(dir, 0);
    ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFileToString(Files(), path));
    ASSERT_THAT(WriteStringToFile(Files(), path, bytes.substr(0, bytes.size() - 5)), IsOk());
    EXPECT_THAT(Read(dir, compression, 0), StatusIs(Code::kDataLoss)) << compression;
    ASSERT_THAT(WriteStringToFile(Files(), path, std::string(64, '\xff')), IsOk());
    for (const int64_t version : {0, 1, 2}) {
      EXPECT_FALSE(Read(dir, compression, 0, version).ok()) << compression << version;
    }
  }
}

TEST_F(SavedDatasetTest, AssertionsLookAtWhatComesBehind) {
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> elements, Elements(Asserted({"FiniteSkip", "FiniteTake", "Root"})));
  EXPECT_EQ(elements, (std::vector<int64_t>{1, 2}));
  EXPECT_THAT(Elements(Asserted({"FiniteTake"})),
              StatusIs(Code::kInvalidArgument, HasSubstr("at offset 0 but encountered FiniteSkip transformation")));
  EXPECT_THAT(Elements(Asserted({"a", "b", "c", "d"})),
              StatusIs(Code::kInvalidArgument, HasSubstr("Asserted next 4 transformations but encountered only 3.")));
}

TEST_F(SavedDatasetTest, AssertionsAreNotFollowedTooDeep) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "attr{key:'a' value{func{";
  for (int i = 0; i < 100000; ++i) text += "}}}";
  EXPECT_THAT(Elements(RunOp1("AssertPrevDataset", {Range(3), AsTensor<tstring>({text})}, Types())),
              StatusIs(Code::kInvalidArgument, HasSubstr("Couldn't parse transformation")));
}

TEST_F(SavedDatasetTest, VariantsComeBackAsWhatTheyWere) {
  ASSERT_OK_AND_ASSIGN(const Tensor list, RunOp1("TensorListReserve", {AsTensor<int32_t>({1}), AsScalar<int32_t>(2)},
                                                 Attrs().Set("element_dtype", DT_FLOAT)));
  const auto length = [this](const Tensor& of) { return RunOp1("TensorListLength", {of}); };
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CompressedElement> compressed, CompressedElement::Compress({list}));
  ASSERT_OK_AND_ASSIGN(const Element uncompressed, compressed->Uncompress(CpuAllocator()));
  ASSERT_OK_AND_ASSIGN(const Tensor same, length(uncompressed[0]));
  ExpectTensorEqual(same, AsScalar<int32_t>(2));

  SnapshotWriter writer(Files(), "mem://variants", Compression::kNone);
  ASSERT_THAT(writer.Write(0, {list}), IsOk());
  ASSERT_THAT(writer.EndFiles(), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SnapshotReader> reader,
                       SnapshotReader::Open(Files(), "mem://variants/00000000.shard/00000000.snapshot",
                                            Compression::kNone, 2, {DT_VARIANT}));
  Element read;
  ASSERT_THAT(reader->Read(&read), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor again, length(read[0]));
  ExpectTensorEqual(again, AsScalar<int32_t>(2));
}

TEST_F(SavedDatasetTest, CompressedElementsFromOutsideAreChecked) {
  const Element element = {AsTensor<float>({1, 2, 3}), AsTensor<tstring>({"a", "", "bc"}), Int(7)};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CompressedElement> compressed, CompressedElement::Compress(element));
  std::string bytes;
  std::vector<Tensor> tensors;
  ASSERT_THAT(compressed->Encode(&bytes, &tensors), IsOk());
  const auto uncompress = [](const tensorflow::data::CompressedElement& message) -> absl::StatusOr<Element> {
    ASSIGN_OR_RETURN(const std::unique_ptr<VariantValue> value,
                     CompressedElement::Decode(message.SerializeAsString(), {}));
    return dynamic_cast<const CompressedElement&>(*value).Uncompress(CpuAllocator());
  };
  tensorflow::data::CompressedElement message;
  ASSERT_TRUE(message.ParseFromString(bytes));
  ASSERT_OK_AND_ASSIGN(const Element same, uncompress(message));
  for (size_t i = 0; i < element.size(); ++i) ExpectTensorEqual(same[i], element[i]);

  auto changed = message;
  changed.mutable_component_metadata(0)->set_uncompressed_bytes(0, uint64_t{1} << 40);
  EXPECT_THAT(uncompress(changed), StatusIs(Code::kInternal, HasSubstr("size mismatch")));
  changed = message;
  changed.mutable_component_metadata(0)->mutable_tensor_shape()->mutable_dim(0)->set_size(4);
  EXPECT_THAT(uncompress(changed), StatusIs(Code::kInternal, HasSubstr("12 bytes")));
  changed = message;
  changed.mutable_component_metadata(1)->mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t{1} << 40);
  EXPECT_THAT(uncompress(changed), StatusIs(Code::kInternal, HasSubstr("3 strings")));
  changed = message;
  changed.mutable_component_metadata(2)->clear_uncompressed_bytes();
  EXPECT_THAT(uncompress(changed), StatusIs(Code::kInternal));
  changed = message;
  changed.mutable_data()->back() ^= 1;
  changed.mutable_data()->resize(changed.data().size() - 1);
  EXPECT_THAT(uncompress(changed), StatusIs(Code::kInternal, HasSubstr("decompression")));
  EXPECT_THAT(CompressedElement::Decode("\xff", {}), StatusIs(Code::kInvalidArgument));
}

}  // namespace
}  // namespace weir
