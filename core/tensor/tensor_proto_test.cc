#include "core/tensor/tensor_proto.h"

#include <google/protobuf/text_format.h>

#include "core/tensor/numeric_types.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"
#include "core/testing.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace weir {
namespace {

using tensorflow::TensorProto;
using ::testing::HasSubstr;

absl::StatusOr<Tensor> Read(const std::string& text) {
  TensorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return TensorFromProto(proto);
}

void ExpectRoundTrip(const Tensor& tensor) {
  TensorProto proto;
  ASSERT_THAT(TensorToProto(tensor, &proto), IsOk());
  ExpectTensorEqual(TensorFromProto(proto).value(), tensor, "content");
  ASSERT_THAT(TensorToReadableProto(tensor, &proto), IsOk());
  EXPECT_TRUE(proto.tensor_content().empty());
  ExpectTensorEqual(TensorFromProto(proto).value(), tensor, "fields");
}

TEST(TensorProtoTest, EveryPlainTypeRoundTrips) {
  for (int i = 1; i < 64; ++i) {
    const DataType type = static_cast<DataType>(i);
    if (!IsPlainType(type)) continue;
    Tensor tensor(type, TensorShape({3, 1}));
    for (int64_t b = 0; b < tensor.TotalBytes(); ++b) {
      static_cast<uint8_t*>(tensor.raw_data())[b] =
          type == DT_BOOL ? b % 2 : static_cast<uint8_t>(b % 7);  // no NaN, in range of int4
    }
    SCOPED_TRACE(DataTypeName(type));
    ExpectRoundTrip(tensor);
    ExpectRoundTrip(Tensor(type, TensorShape({0, 2})));
  }
}

TEST(TensorProtoTest, SignedValuesRoundTrip) {
  ExpectRoundTrip(AsTensor<int8_t>({-128, -1, 127}));
  ExpectRoundTrip(AsTensor<int4>({int4{-8}, int4{-1}, int4{7}}));
  ExpectRoundTrip(AsTensor<half>({half(-1.5f), half(65504.0f)}));
  ExpectRoundTrip(AsTensor<uint64_t>({~uint64_t{0}}));
  ExpectRoundTrip(AsTensor<tstring>({"", std::string("a\0b", 3), std::string(100, 'x')}));
}

TEST(TensorProtoTest, HalfAndBfloat16AreBits) {
  ExpectTensorEqual(Read("dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: 0x3c00 half_val: 0xc000").value(),
                    AsTensor<half>({half(1.0f), half(-2.0f)}));
  ExpectTensorEqual(Read("dtype: DT_BFLOAT16 tensor_shape { } half_val: 0x3f80").value(),
                    AsScalar<bfloat16>(bfloat16(1.0f)));
}

TEST(TensorProtoTest, TheLastValueFillsTheRest) {
  ExpectTensorEqual(Read("dtype: DT_INT32 tensor_shape { dim { size: 4 } } int_val: 1 int_val: 2").value(),
                    AsTensor<int32_t>({1, 2, 2, 2}));
  ExpectTensorEqual(Read("dtype: DT_FLOAT tensor_shape { dim { size: 2 } }").value(), AsTensor<float>({0, 0}));
  ExpectTensorEqual(Read("dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: 'a'").value(),
                    AsTensor<tstring>({"a", "a", "a"}));
  ExpectTensorEqual(Read("dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: [1, 2]").value(),
                    AsTensor<complex64>({{1, 2}, {1, 2}}));
}

TEST(TensorProtoTest, OfNoElementsTheValueDoesNotCount) {
  for (const char* text : {"dtype: DT_STRING tensor_shape { dim { size: 0 } dim { size: 3 } } string_val: ''",
                           "dtype: DT_FLOAT tensor_shape { dim { size: 0 } } float_val: [1, 2]"}) {
    EXPECT_THAT(Read(text), IsOk()) << text;
  }
}

TEST(TensorProtoTest, HostileInputsAreErrors) {
  for (const char* text : {
           "tensor_shape { }",
           "dtype: DT_FLOAT_REF",
           "dtype: DT_FLOAT tensor_shape { unknown_rank: true }",
           "dtype: DT_FLOAT tensor_shape { dim { size: -1 } }",
           "dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } dim { size: 4 } }",
           "dtype: DT_FLOAT tensor_shape { dim { size: 1152921504606846976 } } float_val: 1",
           "dtype: DT_FLOAT tensor_shape { dim { size: 1152921504606846976 } } tensor_content: 'abcd'",
           "dtype: DT_STRING tensor_shape { dim { size: 1073741824 } } string_val: 'a'",
           "dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abcd'",
           "dtype: DT_FLOAT tensor_shape { } tensor_content: 'abcde'",
           "dtype: DT_FLOAT tensor_shape { dim { size: 0 } } tensor_content: 'abcd'",
           "dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: [1, 2]",
           "dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: ['a', 'b']",
           "dtype: DT_COMPLEX64 tensor_shape { dim { size: 1 } } scomplex_val: 1",
           "dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\001'",
           "dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\001\\003ab'",
           "dtype: DT_STRING tensor_shape { dim { size: 1 } } tensor_content: "
           "'\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377'",
           "dtype: DT_RESOURCE tensor_shape { dim { size: 1 } } tensor_content: 'abcd'",
           "dtype: DT_RESOURCE tensor_shape { dim { size: 1 } } resource_handle_val { dtypes_and_shapes { shape { dim "
           "{ size: -2 } } } }",
           "dtype: DT_VARIANT tensor_shape { } variant_val { type_name: 'T' tensors { dtype: DT_FLOAT tensor_shape { "
           "dim { size: -5 } } } }",
       }) {
    EXPECT_THAT(Read(text), StatusIs(kInvalid)) << text;
  }
}

TEST(TensorProtoTest, AnUnknownTypeIsAnError) {
  TensorProto proto;
  proto.set_dtype(static_cast<tensorflow::DataType>(77));
  EXPECT_THAT(TensorFromProto(proto), StatusIs(kInvalid, HasSubstr("invalid type")));
}

TEST(TensorProtoTest, TheCallersLimitHolds) {
  TensorProto proto;
  ASSERT_THAT(TensorToProto(Tensor(DT_FLOAT, TensorShape({0})), &proto), IsOk());
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(100);
  EXPECT_THAT(TensorFromProto(proto, CpuAllocator(), 400), IsOk());
  EXPECT_THAT(TensorFromProto(proto, CpuAllocator(), 399), StatusIs(kInvalid, HasSubstr("larger than 399 bytes")));
}

TEST(TensorProtoTest, StringContentIsLengthsThenBytes) {
  ExpectTensorEqual(Read("dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\001\\002abc'").value(),
                    AsTensor<tstring>({"a", "bc"}));
}

TEST(TensorProtoTest, AnyByteBecomesABool) {
  const Tensor t = Read("dtype: DT_BOOL tensor_shape { dim { size: 2 } } tensor_content: '\\000\\007'").value();
  EXPECT_EQ(t.data<char>()[1], 1);
}

TEST(TensorProtoTest, HandlesRoundTrip) {
  Tensor tensor(DT_RESOURCE, TensorShape({1}));
  ResourceHandle& handle = tensor.flat<ResourceHandle>()[0];
  handle.device = "/job:a/replica:0/task:0/device:CPU:0";
  handle.container = "c";
  handle.name = "v";
  handle.hash_code = 7;
  handle.type_name = "Var";
  handle.dtypes_and_shapes.push_back({DT_HALF, PartialTensorShape::Build({-1, 2}).value()});
  TensorProto proto;
  ASSERT_THAT(TensorToProto(tensor, &proto), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensor back, TensorFromProto(proto));
  ExpectTensorEqual(back, tensor);
  EXPECT_EQ(back.flat<ResourceHandle>()[0].dtypes_and_shapes[0].shape.ToString(), "[?,2]");
}

TEST(TensorProtoTest, AnUninitialisedTensorCannotBeWritten) {
  Tensor t = AsScalar<float>(1);
  const Tensor taken = std::move(t);
  TensorProto proto;
  EXPECT_THAT(TensorToProto(t, &proto), StatusIs(kInvalid));  // NOLINT(bugprone-use-after-move)
}

// A list of tensors with a wire form.
class Pair : public VariantValue {
 public:
  explicit Pair(Tensor t) : tensor(std::move(t)) {}
  std::string TypeName() const override { return "Pair"; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<Pair>(tensor); }
  std::string DebugString() const override { return tensor.DebugString(); }
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override {
    *metadata = "m";
    tensors->push_back(tensor);
    return absl::OkStatus();
  }
  const Tensor tensor;
};

Tensor PairTensor(Tensor inner) {
  Tensor t(DT_VARIANT, TensorShape({2}));
  t.flat<Variant>()[0] = Variant(std::make_shared<Pair>(std::move(inner)));
  return t;
}

TEST(VariantTest, RoundTripsThroughItsRegisteredDecoder) {
  VariantRegistry registry;
  auto decode = [](absl::string_view metadata,
                   std::vector<Tensor> tensors) -> absl::StatusOr<std::unique_ptr<VariantValue>> {
    if (metadata != "m" || tensors.size() != 1) return errors::InvalidArgument("Not a Pair");
    return std::make_unique<Pair>(tensors[0]);
  };
  ASSERT_THAT(registry.Register("Pair", decode), IsOk());
  EXPECT_THAT(registry.Register("Pair", decode), StatusIs(absl::StatusCode::kAlreadyExists));

  TensorProto proto;
  ASSERT_THAT(TensorToProto(PairTensor(PairTensor(AsScalar<float>(3))), &proto), IsOk());
  ASSERT_OK_AND_ASSIGN(Tensor back, TensorFromProto(proto));
  EXPECT_EQ(back.flat<Variant>()[0].get<Pair>(), nullptr);  // known by name only
  ASSERT_THAT(registry.Decode(&back), IsOk());
  const Pair* outer = back.flat<Variant>()[0].get<Pair>();
  ASSERT_NE(outer, nullptr);
  const Pair* inner = outer->tensor.flat<Variant>()[0].get<Pair>();
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->tensor.scalar<float>(), 3);
  EXPECT_TRUE(back.flat<Variant>()[1].empty());
}

TEST(VariantTest, WithoutADecoderItCanBeHandedOn) {
  TensorProto first, second;
  ASSERT_THAT(TensorToProto(PairTensor(AsScalar<float>(3)), &first), IsOk());
  Tensor encoded = TensorFromProto(first).value();
  ASSERT_THAT(TensorToProto(encoded, &second), IsOk());
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
  EXPECT_THAT(VariantRegistry().Decode(&encoded), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'Pair'")));
}

// TensorFlow's workers send objects this way: lengths, then bytes.
TEST(VariantTest, ObjectsComeAsContentToo) {
  TensorProto fields, content;
  ASSERT_THAT(TensorToProto(PairTensor(AsScalar<float>(3)), &fields), IsOk());
  content.set_dtype(fields.dtype());
  *content.mutable_tensor_shape() = fields.tensor_shape();
  std::string lengths, bytes;
  for (const auto& value : fields.variant_val()) {
    ASSERT_LT(value.ByteSizeLong(), 128u);
    lengths.push_back(static_cast<char>(value.ByteSizeLong()));
    bytes += value.SerializeAsString();
  }
  content.set_tensor_content(lengths + bytes);
  ASSERT_OK_AND_ASSIGN(Tensor read, TensorFromProto(content));
  TensorProto again;
  ASSERT_THAT(TensorToProto(read, &again), IsOk());
  EXPECT_EQ(again.SerializeAsString(), fields.SerializeAsString());
  content.set_tensor_content(lengths + bytes + "x");
  EXPECT_THAT(TensorFromProto(content).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("malformed content")));
}

TEST(VariantTest, NestsOnlySoDeep) {
  Tensor deep = AsScalar<float>(3);
  for (int i = 0; i < 40; ++i) deep = PairTensor(deep);
  TensorProto proto;
  ASSERT_THAT(TensorToProto(deep, &proto), IsOk());
  EXPECT_THAT(TensorFromProto(proto).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nested too deeply")));
}

TEST(VariantTest, AWriterGetsItsOwnCopy) {
  Variant a(std::make_shared<Pair>(AsScalar<float>(1)));
  const Variant b = a;
  EXPECT_EQ(a.value(), b.value());
  EXPECT_NE(a.get_mutable<Pair>(), b.get<Pair>());
  EXPECT_EQ(a.get_mutable<EncodedVariant>(), nullptr);
}

}  // namespace
}  // namespace weir
