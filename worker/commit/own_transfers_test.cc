#include "worker/commit/own_transfers.h"

#include <optional>

#include "core/rendezvous/rendezvous_conformance_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

constexpr char kOwnTask[] = "/job:worker/replica:0/task:0";

RendezvousPair PairWithin(const std::string& dst_device) {
  const auto transfers = std::make_shared<OwnTransfers>(kOwnTask, NewLocalRendezvous());
  RendezvousPair pair{transfers, transfers, nullptr};
  pair.dst_device = dst_device;
  return pair;
}

INSTANTIATE_TEST_SUITE_P(
    OwnTransfers, RendezvousConformance,
    testing::Values(RendezvousFactory([] { return PairWithin("/job:worker/replica:0/task:0/device:CPU:1"); }),
                    RendezvousFactory([] { return PairWithin("/job:ps/replica:0/task:0/device:CPU:0"); })));

class OwnTransfersTest : public testing::Test {
 protected:
  static std::string Key(const std::string& from, const std::string& to) {
    return RendezvousKey::Create(from + "/device:CPU:0", 1, to + "/device:CPU:1", "edge", {});
  }
  absl::Status Receive(const std::string& key) {
    absl::Status status = errors::Internal("There is no tensor yet");
    transfers_->RecvAsync(key, {}, [&](auto received) { status = received.status(); });
    return status;
  }

  const std::string other_ = "/job:worker/replica:0/task:10";
  const std::shared_ptr<Rendezvous> others_ = NewLocalRendezvous();
  const std::shared_ptr<OwnTransfers> transfers_ = std::make_shared<OwnTransfers>(kOwnTask, others_);
};

TEST_F(OwnTransfersTest, TransfersWithinTheTaskOutliveTheOthers) {
  others_->StartAbort(errors::Aborted("Step 5 was cleaned up"));
  EXPECT_THAT(transfers_->Send(Key(kOwnTask, kOwnTask), Tensor::Scalar<float>(1), false), IsOk());
  EXPECT_THAT(Receive(Key(kOwnTask, kOwnTask)), IsOk());
  for (const std::string& key : {Key(kOwnTask, other_), Key(other_, kOwnTask), Key(other_, other_), std::string("?")}) {
    EXPECT_THAT(Receive(key), StatusIs(absl::StatusCode::kAborted)) << key;
  }
}

TEST_F(OwnTransfersTest, WhatWillNotBeSentIsNotWaitedFor) {
  const std::string sent = RendezvousKey::Create("/job:worker/replica:0/task:0/device:CPU:0", 1,
                                                 "/job:worker/replica:0/task:0/device:CPU:1", "loop", {0, 0});
  const std::string missing = RendezvousKey::Create("/job:worker/replica:0/task:0/device:CPU:0", 1,
                                                    "/job:worker/replica:0/task:0/device:CPU:1", "loop", {0, 1});
  std::optional<absl::Status> pending;
  transfers_->RecvAsync(missing, {}, [&](const auto& received) { pending = received.status(); });
  EXPECT_THAT(transfers_->Send(sent, Tensor::Scalar<float>(1), false), IsOk());
  transfers_->WillNotSend(missing.substr(0, missing.rfind(';')), errors::Cancelled("the client has gone"));
  ASSERT_TRUE(pending.has_value());
  EXPECT_THAT(*pending, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(Receive(missing), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(Receive(sent), IsOk());
  EXPECT_THAT(transfers_->Send(Key(kOwnTask, kOwnTask), Tensor::Scalar<float>(1), false), IsOk());
  EXPECT_THAT(Receive(Key(kOwnTask, kOwnTask)), IsOk());  // another edge
}

TEST_F(OwnTransfersTest, AFailureEndsBoth) {
  transfers_->StartAbort(errors::Internal("a kernel failed"));
  EXPECT_THAT(Receive(Key(kOwnTask, kOwnTask)), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(others_->Send(Key(kOwnTask, other_), Tensor::Scalar<float>(1), false),
              StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace weir
