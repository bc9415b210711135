// differential.py compares these kernels with TensorFlow on fields of all types.
#include <google/protobuf/descriptor.pb.h>

#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

class ProtoTest : public OpTest {
 protected:
  static Attrs Message(std::vector<std::string> fields) {
    return Attrs().Set("message_type", std::string("tensorflow.TensorShapeProto")).Set("field_names", fields);
  }
};

TEST_F(ProtoTest, MessagesComeBackAsTheyWere) {
  const Tensor sizes = AsTensor<int32_t>({2, 1, 0, 1}, {2, 2});
  const Tensor dims = AsTensor<tstring>({"\x08\x05", "\x08\x06", "", ""}, {2, 2});
  const Tensor unknown = AsTensor<bool>({true, false}, {2, 1});
  ASSERT_OK_AND_ASSIGN(const Tensor bytes,
                       RunOp1("EncodeProto", {sizes, dims, unknown}, Message({"dim", "unknown_rank"})));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out,
                       RunOp("DecodeProtoV2", {bytes},
                             Message({"dim", "unknown_rank"}).Set("output_types", DataTypeVector{DT_STRING, DT_BOOL})));
  ExpectTensorEqual(out[0], sizes);
  ExpectTensorEqual(out[1], dims);
  ExpectTensorEqual(out[2], unknown);
}

TEST_F(ProtoTest, BytesFromOutsideAreChecked) {
  const Attrs attrs = Message({"unknown_rank"}).Set("output_types", DataTypeVector{DT_BOOL});
  // An endless number, a length beyond the end, a group without end, a field number of 0.
  for (const char* bytes :
       {"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x12\x7f", "\x23\x08\x01", "\x01", "\x1a\xff\x7f"}) {
    EXPECT_THAT(RunOp("DecodeProtoV2", {AsTensor<tstring>({bytes})}, attrs), StatusIs(Code::kDataLoss)) << bytes;
  }
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += '\x23';
  EXPECT_THAT(RunOp("DecodeProtoV2", {AsTensor<tstring>({nested})}, attrs), StatusIs(Code::kDataLoss));
}

TEST_F(ProtoTest, TextIsNotFollowedTooDeep) {
  google::protobuf::FileDescriptorSet set;
  auto* const file = set.add_file();
  file->set_name("deep.proto");
  auto* const type = file->add_message_type();
  type->set_name("Deep");
  type->add_reserved_name("gone");
  auto* const field = type->add_field();
  field->set_name("deeper");
  field->set_number(1);
  field->set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
  field->set_type(google::protobuf::FieldDescriptorProto::TYPE_MESSAGE);
  field->set_type_name(".Deep");
  const Attrs attrs = Attrs()
                          .Set("message_type", std::string("Deep"))
                          .Set("field_names", std::vector<std::string>{"deeper"})
                          .Set("output_types", DataTypeVector{DT_STRING})
                          .Set("descriptor_source", "bytes://" + set.SerializeAsString())
                          .Set("message_format", std::string("text"));
  const auto decode = [&](const std::string& open, int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    for (int i = 0; i < depth; ++i) text += '}';
    return RunOp("DecodeProtoV2", {AsTensor<tstring>({text})}, attrs);
  };
  EXPECT_THAT(decode("deeper{", 50), IsOk());
  EXPECT_THAT(decode("gone{", 50), IsOk());
  for (const char* open : {"deeper{", "gone{"}) {
    EXPECT_THAT(decode(open, 500000), StatusIs(Code::kDataLoss, HasSubstr("Unable to parse text"))) << open;
  }
}

TEST_F(ProtoTest, BadArgumentsAreRefused) {
  const Tensor bytes = AsTensor<tstring>({""});
  const auto decode = [&](const std::string& source) {
    return RunOp("DecodeProtoV2", {bytes},
                 Message({"dim"}).Set("output_types", DataTypeVector{DT_STRING}).Set("descriptor_source", source));
  };
  EXPECT_THAT(decode("bytes://\xff"), StatusIs(Code::kInvalidArgument, HasSubstr("serialized file descriptor set")));
  EXPECT_THAT(decode("/no/such/file"), StatusIs(Code::kInvalidArgument, HasSubstr("REGISTER_DESCRIPTOR_POOL")));
  google::protobuf::FileDescriptorSet set;
  set.add_file()->set_name("a.proto");
  set.mutable_file(0)->add_dependency("missing.proto");
  EXPECT_THAT(decode("bytes://" + set.SerializeAsString()),
              StatusIs(Code::kInvalidArgument, HasSubstr("Failed to load FileDescriptorProto")));
  const auto encode = [&](const Tensor& sizes, const Tensor& values) {
    return RunOp("EncodeProto", {sizes, values}, Message({"unknown_rank"}));
  };
  const Tensor one = AsTensor<int32_t>({1}, {1, 1}), yes = AsTensor<bool>({true}, {1, 1});
  EXPECT_THAT(encode(AsTensor<int32_t>({2}, {1, 1}), yes), StatusIs(Code::kInvalidArgument, HasSubstr("2 > 1")));
  EXPECT_THAT(encode(AsTensor<int32_t>({1}), yes), StatusIs(Code::kInvalidArgument, HasSubstr("sizes should be")));
  EXPECT_THAT(encode(one, AsTensor<int32_t>({1}, {1, 1})), StatusIs(Code::kInvalidArgument, HasSubstr("Incompatible")));
}

}  // namespace
}  // namespace weir
