#include "distribute/transport/message_codec.h"

#include <grpcpp/support/slice.h>

#include "core/tensor/tensor_proto.h"
#include "core/testing.h"
#include "distribute/transport/tensor_codec.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::string Bytes(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

// The same bytes in slices of `size`, as the network may deliver them.
grpc::ByteBuffer Sliced(const std::string& bytes, size_t size) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < bytes.size(); i += size) slices.emplace_back(bytes.substr(i, size));
  if (slices.empty()) slices.emplace_back();
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::vector<Tensor> SampleTensors() {
  Tensor large(DT_DOUBLE, TensorShape({100, 77}));
  for (int64_t i = 0; i < large.NumElements(); ++i) large.data<double>()[i] = i * 0.5;
  return {large,
          Tensor::Scalar<float>(1.5f),
          Tensor::Vector<int64_t>({1, -2, 3}),
          Tensor::Vector<tstring>({"", "text"}),
          Tensor::Vector<tstring>({"short", tstring(200, 'l'), tstring(10000, 's'), "", tstring(5000, 't')}),
          Tensor(DT_STRING, TensorShape({0, 2})),
          Tensor(DT_INT32, TensorShape({3, 0, 2})),
          Tensor::Scalar<bool>(true)};
}

TEST(MessageCodecTest, WhatIsWrittenProtobufReadsAndTheReverse) {
  RunStepArgs args;
  args.session_handle = "session";
  int n = 0;
  for (const Tensor& tensor : SampleTensors()) args.feeds.emplace_back(absl::StrCat("feed", n++), tensor);
  args.fetches = {"a:0", "", "b"};
  args.targets = {"target"};
  args.options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  args.partial_run_handle = "partial";
  ASSERT_OK_AND_ASSIGN(grpc::ByteBuffer buffer, EncodeRunStepRequest(args, -5));

  tensorflow::RunStepRequest proto;
  ASSERT_TRUE(proto.ParseFromString(Bytes(buffer)));
  EXPECT_EQ(proto.request_id(), -5);
  ASSERT_EQ(proto.feed_size(), static_cast<int>(args.feeds.size()));
  for (int i = 0; i < proto.feed_size(); ++i) {
    EXPECT_EQ(proto.feed(i).name(), args.feeds[i].first);
    tensorflow::TensorProto expected;
    ASSERT_THAT(TensorToProto(args.feeds[i].second, &expected), IsOk());
    EXPECT_EQ(proto.feed(i).tensor().SerializeAsString(), expected.SerializeAsString());
  }

  for (size_t size : {1, 7, 4096, 1 << 20}) {
    ASSERT_OK_AND_ASSIGN(WireRunStep wire,
                         DecodeRunStepRequest(Sliced(proto.SerializeAsString(), size), CpuAllocator()));
    EXPECT_EQ(wire.args.session_handle, "session");
    EXPECT_EQ(wire.args.fetches, args.fetches);
    EXPECT_EQ(wire.args.targets, args.targets);
    EXPECT_EQ(wire.args.options.trace_level(), tensorflow::RunOptions::FULL_TRACE);
    EXPECT_EQ(wire.args.partial_run_handle, "partial");
    EXPECT_EQ(wire.args.request_id, -5);
    ASSERT_EQ(wire.args.feeds.size(), args.feeds.size());
    for (size_t i = 0; i < args.feeds.size(); ++i) ExpectTensorEqual(wire.args.feeds[i].second, args.feeds[i].second);
  }
}

void ExpectShared(const Tensor& large, const void* data) {
  {
    ASSERT_OK_AND_ASSIGN(const grpc::ByteBuffer buffer, EncodeRecvTensorResponse({large, false}, 1));
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(buffer.Dump(&slices).ok());
    bool shared = false;
    for (const grpc::Slice& slice : slices) shared = shared || slice.begin() == data;
    EXPECT_TRUE(shared);
    EXPECT_FALSE(large.RefCountIsOne());
  }
  EXPECT_TRUE(large.RefCountIsOne());
}

TEST(MessageCodecTest, LargeTensorsAreNotCopiedIntoTheMessage) {
  const Tensor floats(DT_FLOAT, TensorShape({1 << 16})),
      strings = Tensor::Vector<tstring>({"a", tstring(1 << 16, 'x')});
  ExpectShared(floats, floats.raw_data());
  ExpectShared(strings, strings.data<tstring>()[1].data());
}

TEST(MessageCodecTest, TypedValuesAndFieldsInAnyOrderAreRead) {
  tensorflow::RecvTensorResponse proto;
  proto.mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  proto.mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(3);
  proto.mutable_tensor()->add_float_val(2);
  ASSERT_OK_AND_ASSIGN(auto filled, DecodeRecvTensorResponse(Sliced(proto.SerializeAsString(), 3), CpuAllocator()));
  ExpectTensorEqual(filled.received.tensor, AsTensor<float>({2, 2, 2}));

  // Content before dtype and shape, an unknown field between.
  std::string tensor = std::string("\x22\x04", 2) + std::string("\x07\x00\x00\x00", 4) + std::string("\x78\x01", 2);
  tensor += std::string("\x12\x00", 2) + std::string("\x08\x03", 2);
  const std::string message = std::string("\x0a") + static_cast<char>(tensor.size()) + tensor;
  ASSERT_OK_AND_ASSIGN(auto odd, DecodeRecvTensorResponse(Sliced(message, 64), CpuAllocator()));
  ExpectTensorEqual(odd.received.tensor, AsScalar<int32_t>(7));
}

TEST(MessageCodecTest, RunGraphTravelsUnderKeys) {
  RunGraphArgs args;
  args.session_handle = "s";
  args.graph_handle = "g";
  args.step_id = 77;
  args.exec_opts.set_record_timeline(true);
  args.is_partial = true;
  const Tensor x = AsScalar<float>(1);
  ASSERT_OK_AND_ASSIGN(grpc::ByteBuffer buffer, EncodeRunGraphRequest(args, {{"key", &x}}, {"f1", "f2"}, 9));
  ASSERT_OK_AND_ASSIGN(WireRunGraph wire, DecodeRunGraphRequest(buffer, CpuAllocator()));
  EXPECT_EQ(wire.args.step_id, 77);
  EXPECT_EQ(wire.args.request_id, 9);
  EXPECT_TRUE(wire.args.exec_opts.record_timeline());
  EXPECT_TRUE(wire.args.is_partial);
  EXPECT_EQ(wire.send[0].first, "key");
  EXPECT_EQ(wire.recv_keys, (std::vector<std::string>{"f1", "f2"}));
}

TEST(MessageCodecTest, FetchesComeBackInTheOrderAsked) {
  RunStepResult result;
  result.fetches = {AsScalar<int32_t>(1), AsScalar<int32_t>(2)};
  ASSERT_OK_AND_ASSIGN(grpc::ByteBuffer buffer, EncodeRunStepResponse(result, {"a", "b"}));
  ASSERT_OK_AND_ASSIGN(RunStepResult decoded, DecodeRunStepResponse(buffer, {"b", "a", "b"}, CpuAllocator()));
  ExpectTensorEqual(decoded.fetches[0], AsScalar<int32_t>(2));
  ExpectTensorEqual(decoded.fetches[1], AsScalar<int32_t>(1));
  ExpectTensorEqual(decoded.fetches[2], AsScalar<int32_t>(2));
  EXPECT_THAT(DecodeRunStepResponse(buffer, {"c"}, CpuAllocator()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("'c'")));
}

// No prefix of a message and no single wrong byte may cause a crash, or an allocation larger than the message
// justifies.
TEST(MessageCodecTest, MalformedBytesAreErrors) {
  RunStepArgs args;
  args.session_handle = "session";
  for (const Tensor& tensor : SampleTensors()) {
    if (tensor.TotalBytes() < 100) args.feeds.emplace_back("feed", tensor);
  }
  args.fetches = {"a:0"};
  ASSERT_OK_AND_ASSIGN(grpc::ByteBuffer buffer, EncodeRunStepRequest(args, 1));
  const std::string good = Bytes(buffer);
  int errors = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    errors += !DecodeRunStepRequest(Sliced(good.substr(0, i), 16), CpuAllocator()).ok();
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      auto decoded = DecodeRunStepRequest(Sliced(bad, 16), CpuAllocator());
      if (decoded.ok()) continue;
      ++errors;
      EXPECT_THAT(decoded, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("RunStepRequest")));
    }
  }
  EXPECT_GT(errors, static_cast<int>(good.size()));
}

TEST(MessageCodecTest, AShapeThatItsContentDoesNotFillIsRejected) {
  tensorflow::RecvTensorResponse proto;
  proto.mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  proto.mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(int64_t{1} << 40);
  proto.mutable_tensor()->set_tensor_content("1234");
  EXPECT_THAT(DecodeRecvTensorResponse(Sliced(proto.SerializeAsString(), 64), CpuAllocator()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  proto.mutable_tensor()->clear_tensor_content();
  proto.mutable_tensor()->add_float_val(1);
  EXPECT_THAT(DecodeRecvTensorResponse(Sliced(proto.SerializeAsString(), 64), CpuAllocator()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  proto.mutable_tensor()->mutable_tensor_shape()->mutable_dim(0)->set_size(-4);
  EXPECT_THAT(DecodeRecvTensorResponse(Sliced(proto.SerializeAsString(), 64), CpuAllocator()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// Memory that claims to be large, but is never read.
class PretendBuffer : public TensorBuffer {
 public:
  explicit PretendBuffer(size_t size) : TensorBuffer(byte_, size) {}

 private:
  alignas(64) char byte_[64] = {};
};

TEST(MessageCodecTest, AMessageOfTwoGigabytesIsRejected) {
  const int64_t elements = int64_t{1} << 29;
  const Tensor huge = Tensor::FromBuffer(DT_FLOAT, TensorShape({elements}), new PretendBuffer(elements * 4));
  EXPECT_THAT(EncodeRecvTensorResponse({huge, false}, 0),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2 GiB")));
  RunStepResult result;
  const Tensor half = Tensor::FromBuffer(DT_FLOAT, TensorShape({elements / 2}), new PretendBuffer(elements * 2));
  result.fetches = {half, half};
  EXPECT_THAT(EncodeRunStepResponse(result, {"a", "b"}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2 GiB")));
}

}  // namespace
}  // namespace weir
