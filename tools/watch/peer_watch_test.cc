#include "tools/watch/peer_watch.h"

#include <atomic>
#include <functional>
#include <map>

#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {
namespace {

using Health = PeerWatch::Health;

// Answers with an incarnation, with an error, or, if held, when its call is cancelled.
class FakePeer : public FakeWorker {
 public:
  void GetStatusAsync(const CallOptions& options, const tensorflow::GetStatusRequest*,
                      tensorflow::GetStatusResponse* response, DoneCallback done) override {
    ++asked;
    response->add_device_attributes()->set_incarnation(incarnation);
    if (!is_held) return done(error);
    options.cancellation->Register([done] { done(errors::Cancelled("cancelled")); });
  }

  std::atomic<int> asked{0};
  uint64_t incarnation = 1;
  absl::Status error;
  bool is_held = false;
};

class FakePool : public WorkerPool {
 public:
  std::vector<std::string> Tasks() const override { return {"a", "b"}; }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) override {
    if (task == "lost") return errors::NotFound("no such task");
    return peers[std::string(task)];
  }
  std::map<std::string, std::shared_ptr<FakePeer>> peers = {{"a", std::make_shared<FakePeer>()},
                                                            {"b", std::make_shared<FakePeer>()}};
};

class PeerWatchTest : public testing::Test {
 protected:
  PeerWatch::Peer After(PeerWatch& watch, size_t peer) {
    watch.Refresh(absl::ZeroDuration());
    return watch.Peers()[peer];
  }

  FakePool pool_;
  std::vector<std::pair<std::string, std::string>> list_ = {{"a", "h:1"}, {"b", "h:2"}, {"lost", "h:3"}};
  PeerWatch watch_{{.peers = [this] { return list_; }, .workers = &pool_}};
};

TEST_F(PeerWatchTest, ATaskIsUnknownThenUpOrDown) {
  EXPECT_EQ(watch_.Peers()[0].health, Health::kUnknown);
  pool_.peers["b"]->error = errors::Unavailable("not there");
  EXPECT_EQ(After(watch_, 0).health, Health::kUp);
  EXPECT_EQ(watch_.Peers()[0].address, "h:1");
  EXPECT_EQ(watch_.Peers()[0].incarnation, 1);
  EXPECT_EQ(watch_.Peers()[1].health, Health::kDown);
  EXPECT_EQ(watch_.Peers()[1].reason, "not there");
  EXPECT_EQ(watch_.Peers()[1].incarnation, 0);
  EXPECT_EQ(watch_.Peers()[2].health, Health::kDown);
  pool_.peers["b"]->error = absl::OkStatus();
  EXPECT_EQ(After(watch_, 1).health, Health::kUp);
  EXPECT_EQ(watch_.Peers()[1].reason, "");
}

TEST_F(PeerWatchTest, CountsRestarts) {
  const absl::Time since = After(watch_, 0).since;
  EXPECT_EQ(After(watch_, 0).since, since);
  pool_.peers["a"]->error = errors::Unavailable("restarting");
  EXPECT_EQ(After(watch_, 0).restarts, 0);
  pool_.peers["a"]->error = absl::OkStatus();
  pool_.peers["a"]->incarnation = 2;
  EXPECT_EQ(After(watch_, 0).restarts, 1);
  EXPECT_GT(watch_.Peers()[0].since, since);
  EXPECT_EQ(watch_.Peers()[0].losses, 1);
  pool_.peers["a"]->incarnation = 3;
  EXPECT_EQ(After(watch_, 0).losses, 2);
  EXPECT_EQ(After(watch_, 0).restarts, 2);
}

TEST_F(PeerWatchTest, AFreshAnswerIsNotAskedForAgain) {
  watch_.Refresh(absl::Hours(1));
  watch_.Refresh(absl::Hours(1));
  EXPECT_EQ(pool_.peers["a"]->asked.load(), 1);
}

TEST_F(PeerWatchTest, APendingQuestionIsNotRepeatedAndEndsWithTheWatch) {
  pool_.peers["a"]->is_held = true;
  watch_.Ask();
  watch_.Ask();
  EXPECT_EQ(pool_.peers["a"]->asked.load(), 1);
  EXPECT_EQ(pool_.peers["b"]->asked.load(), 2);
  watch_.Stop();
  EXPECT_EQ(watch_.Peers()[0].health, Health::kUnknown);
  watch_.Ask();
  EXPECT_EQ(pool_.peers["b"]->asked.load(), 2);
}

}  // namespace
}  // namespace weir
