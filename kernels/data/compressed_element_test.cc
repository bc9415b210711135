#include "kernels/data/compressed_element.h"
#include "kernels/data/dataset_testing.h"
#include "kernels/data/saved/snapshot_files.h"
#include "tensorflow/core/framework/dataset.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class CompressedElementTest : public DatasetPipelineTest {
 protected:
  FileSystem* Files() { return *device()->file_systems()->Find("mem://"); }
};

TEST_F(CompressedElementTest, VariantsComeBackAsWhatTheyWere) {
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

TEST_F(CompressedElementTest, CompressedElementsFromOutsideAreChecked) {
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
  EXPECT_THAT(uncompress(changed), StatusIs(absl::StatusCode::kInternal, HasSubstr("size mismatch")));
  changed = message;
  changed.mutable_component_metadata(0)->mutable_tensor_shape()->mutable_dim(0)->set_size(4);
  EXPECT_THAT(uncompress(changed), StatusIs(absl::StatusCode::kInternal, HasSubstr("12 bytes")));
  changed = message;
  changed.mutable_component_metadata(1)->mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t{1} << 40);
  EXPECT_THAT(uncompress(changed), StatusIs(absl::StatusCode::kInternal, HasSubstr("3 strings")));
  changed = message;
  changed.mutable_component_metadata(2)->clear_uncompressed_bytes();
  EXPECT_THAT(uncompress(changed), StatusIs(absl::StatusCode::kInternal));
  changed = message;
  changed.mutable_data()->back() ^= 1;
  changed.mutable_data()->resize(changed.data().size() - 1);
  EXPECT_THAT(uncompress(changed), StatusIs(absl::StatusCode::kInternal, HasSubstr("decompression")));
  EXPECT_THAT(CompressedElement::Decode("\xff", {}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
