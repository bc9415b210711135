#include "core/rendezvous/rendezvous.h"

#include "core/rendezvous/rendezvous_conformance_testing.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Local, RendezvousConformance, testing::Values(RendezvousFactory([] {
                           auto rendezvous = NewLocalRendezvous();
                           return RendezvousPair{rendezvous, rendezvous, nullptr};
                         })));

constexpr char kSrc[] = "/job:ps/replica:0/task:1/device:CPU:0";
constexpr char kDst[] = "/job:worker/replica:0/task:0/device:GPU:3";

TEST(RendezvousKeyTest, IsWrittenAsTensorFlowDoes) {
  const std::string key = RendezvousKey::Create(kSrc, 0x1234abcd, kDst, "edge_5_x", {7, 2});
  EXPECT_EQ(key, absl::StrCat(kSrc, ";000000001234abcd;", kDst, ";edge_5_x;7:2"));
  EXPECT_EQ(key, RendezvousKey::Prefix(kSrc, 0x1234abcd, kDst, "edge_5_x") + ";7:2");
}

TEST(RendezvousKeyTest, ParsesWhatItWrites) {
  auto key = RendezvousKey::Parse(RendezvousKey::Create(kSrc, ~uint64_t{0}, kDst, "edge_5_x", {7, 2}));
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(key->src.ToString(), kSrc);
  EXPECT_EQ(key->src_incarnation, ~uint64_t{0});
  EXPECT_EQ(key->dst.ToString(), kDst);
  EXPECT_EQ(key->edge_name, "edge_5_x");
  EXPECT_EQ(key->frame_iter.frame_id, 7);
  EXPECT_EQ(key->frame_iter.iter_id, 2);
}

TEST(RendezvousKeyTest, QuotesAMalformedKey) {
  const std::string src = kSrc, dst = kDst;
  for (const std::string& bad :
       {std::string(), std::string(";;;;"), src + ";1;" + dst + ";e", src + ";1;" + dst + ";;0:0",
        src + ";xyz;" + dst + ";e;0:0", src + ";11112222333344445;" + dst + ";e;0:0", "/job:ps;1;" + dst + ";e;0:0",
        src + ";1;" + dst + ";e;0", src + ";1;" + dst + ";e;a:b", src + ";1;" + dst + ";e;0:0;x"}) {
    absl::Status status = RendezvousKey::Parse(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(status.message().find(absl::StrCat("'", bad, "'")), absl::string_view::npos) << status;
  }
}

TEST(LocalRendezvousTest, SharesTheBuffer) {
  auto rendezvous = NewLocalRendezvous();
  Tensor sent = Tensor::Scalar<float>(1);
  ASSERT_TRUE(rendezvous->Send("key", sent, false).ok());
  rendezvous->RecvAsync("key", {}, [&](absl::StatusOr<Rendezvous::Received> received) {
    EXPECT_TRUE(received->tensor.SharesBufferWith(sent));
  });
}

}  // namespace
}  // namespace weir
