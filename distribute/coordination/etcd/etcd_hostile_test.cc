// Answers of servers that are broken, or are not etcd.
#include <atomic>
#include <functional>
#include <future>
#include <limits>

#include <grpcpp/server_builder.h>

#include "absl/time/clock.h"
#include "distribute/coordination/etcd/etcd_store.h"
#include "distribute/coordination/store_conformance_testing.h"
#include "etcd/rpc_service.grpc.pb.h"

namespace weir::coordination {
namespace {

using etcdserverpb::TxnResponse;
using etcdserverpb::WatchResponse;
using testing::HasSubstr;

using WatchStream = grpc::ServerReaderWriter<WatchResponse, etcdserverpb::WatchRequest>;

// Gives the test's answers.
class FakeEtcd : public etcdserverpb::KV::Service,
                 public etcdserverpb::Watch::Service,
                 public etcdserverpb::Lease::Service {
 public:
  FakeEtcd() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(static_cast<etcdserverpb::KV::Service*>(this));
    builder.RegisterService(static_cast<etcdserverpb::Watch::Service*>(this));
    builder.RegisterService(static_cast<etcdserverpb::Lease::Service*>(this));
    server_ = builder.BuildAndStart();
    EtcdOptions options;
    options.endpoints = {absl::StrCat("127.0.0.1:", port)};
    store_ = *EtcdStore::Create(std::move(options));
  }
  ~FakeEtcd() override {
    store_.reset();
    server_->Shutdown(std::chrono::system_clock::now());
  }
  Store& store() { return *store_; }

  TxnResponse transaction;
  etcdserverpb::LeaseGrantResponse grant;
  etcdserverpb::LeaseKeepAliveResponse keep_alive;
  // Gets the start revision; the stream ends when it returns.
  std::function<void(int64_t, WatchStream*)> watch;

 private:
  grpc::Status Range(grpc::ServerContext*, const etcdserverpb::RangeRequest*,
                     etcdserverpb::RangeResponse* response) override {
    response->mutable_header()->set_revision(1000);
    return grpc::Status::OK;
  }
  grpc::Status Txn(grpc::ServerContext*, const etcdserverpb::TxnRequest*, TxnResponse* response) override {
    *response = transaction;
    return grpc::Status::OK;
  }
  grpc::Status Watch(grpc::ServerContext*, WatchStream* stream) override {
    etcdserverpb::WatchRequest request;
    if (stream->Read(&request)) watch(request.create_request().start_revision(), stream);
    return grpc::Status::OK;
  }
  grpc::Status LeaseGrant(grpc::ServerContext*, const etcdserverpb::LeaseGrantRequest*,
                          etcdserverpb::LeaseGrantResponse* response) override {
    *response = grant;
    return grpc::Status::OK;
  }
  grpc::Status LeaseKeepAlive(grpc::ServerContext*,
                              grpc::ServerReaderWriter<etcdserverpb::LeaseKeepAliveResponse,
                                                       etcdserverpb::LeaseKeepAliveRequest>* stream) override {
    etcdserverpb::LeaseKeepAliveRequest request;
    if (stream->Read(&request)) stream->Write(keep_alive);
    return grpc::Status::OK;
  }

  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<EtcdStore> store_;
};

TxnResponse At(int64_t revision, uint64_t cluster = 1) {
  TxnResponse response;
  response.set_succeeded(true);
  response.mutable_header()->set_revision(revision);
  response.mutable_header()->set_cluster_id(cluster);
  return response;
}

void AddKeys(const std::vector<std::string>& keys, TxnResponse* response) {
  auto* range = response->add_responses()->mutable_response_range();
  for (const std::string& key : keys) range->add_kvs()->set_key(key);
}

void AddEvent(const std::string& key, int64_t revision, WatchResponse* response, size_t bytes = 0) {
  etcdserverpb::KeyValue* kv = response->add_events()->mutable_kv();
  kv->set_key(key);
  kv->set_value(std::string(bytes, 'v'));
  kv->set_mod_revision(revision);
}

WatchResponse OneEvent(const std::string& key, int64_t revision) {
  WatchResponse response;
  AddEvent(key, revision, &response);
  return response;
}

TEST(EtcdHostileTest, AnswersToOtherQuestionsAreRejected) {
  FakeEtcd fake;
  const auto list = [&fake](TxnResponse response) {
    fake.transaction = std::move(response);
    return fake.store().List(Soon(), "a/");
  };
  const auto internal = [](const char* text) { return StatusIs(absl::StatusCode::kInternal, HasSubstr(text)); };
  EXPECT_THAT(list(At(1)), internal("0 results for 1 operations"));
  TxnResponse response = At(1);
  response.add_responses()->mutable_response_put();
  EXPECT_THAT(list(response), internal("another operation"));
  response = At(1);
  AddKeys({"b"}, &response);
  EXPECT_THAT(list(response), internal("sent key b when it was asked for a/*"));
  response = At(1);
  AddKeys({"a/1", "a/1"}, &response);
  EXPECT_THAT(list(response), internal("sent key a/1"));
  response = At(1);
  AddKeys({}, &response);
  EXPECT_THAT(list(response), IsOk());
  for (int64_t revision : {int64_t{0}, int64_t{-5}, std::numeric_limits<int64_t>::max()}) {
    response.mutable_header()->set_revision(revision);
    EXPECT_THAT(list(response), internal("says that it is at revision"));
  }
}

TEST(EtcdHostileTest, LargeAnswersAreRejected) {
  FakeEtcd fake;
  fake.transaction = At(1);
  AddKeys({"k"}, &fake.transaction);
  fake.transaction.mutable_responses(0)->mutable_response_range()->mutable_kvs(0)->set_value(
      std::string(17 << 20, 'v'));
  EXPECT_THAT(fake.store().Get(Soon(), "k"), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(EtcdHostileTest, AStoreThatGoesBackIsTold) {
  FakeEtcd fake;
  const auto list = [&fake](int64_t revision, uint64_t cluster) {
    fake.transaction = At(revision, cluster);
    AddKeys({}, &fake.transaction);
    return fake.store().List(Soon(), "a/").status();
  };
  EXPECT_THAT(list(90, 7), IsOk());
  EXPECT_THAT(list(3, 7), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("at revision 3 after it was at 90")));
  EXPECT_THAT(list(91, 8), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("another one than before")));
}

TEST(EtcdHostileTest, LeasesAreChecked) {
  FakeEtcd fake;
  fake.grant.set_ttl(5);
  EXPECT_THAT(fake.store().GrantLease(Soon(), absl::Seconds(5)), StatusIs(absl::StatusCode::kInternal));
  fake.grant.set_id(1);
  fake.grant.set_ttl(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(fake.store().GrantLease(Soon(), absl::Seconds(5)), StatusIs(absl::StatusCode::kInternal));
  fake.grant.set_ttl(1);
  fake.keep_alive.set_id(2);
  fake.keep_alive.set_ttl(100);
  auto lease = NewLease(fake.store());
  std::promise<void> told;
  const auto token = lease->lost().Register([&told] { told.set_value(); });
  if (token != CancellationManager::kInvalidToken) told.get_future().get();  // it may be lost already
  EXPECT_THAT(lease->lost().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was not renewed for 1s")));
}

TEST(EtcdHostileTest, EventsAreChecked) {
  FakeEtcd fake;
  const auto next = [&fake](WatchResponse response) {
    fake.watch = [response](int64_t, WatchStream* stream) { stream->Write(response); };
    return (*fake.store().NewWatch(Keys::Under("k"), 10))->Next(Soon()).status();
  };
  EXPECT_THAT(next(OneEvent("other", 10)), StatusIs(absl::StatusCode::kInternal, HasSubstr("event of key other")));
  EXPECT_THAT(next(OneEvent("k", 9)), StatusIs(absl::StatusCode::kInternal, HasSubstr("at revision 9")));
  EXPECT_THAT(next(OneEvent("k", std::numeric_limits<int64_t>::max())), StatusIs(absl::StatusCode::kInternal));
  WatchResponse response = OneEvent("k", 12);
  AddEvent("k", 11, &response);
  EXPECT_THAT(next(response), StatusIs(absl::StatusCode::kInternal));
  response = OneEvent("k", 12);
  response.add_events();
  EXPECT_THAT(next(response), StatusIs(absl::StatusCode::kInternal));
  response.Clear();
  response.set_canceled(true);
  response.set_cancel_reason("no such user");
  EXPECT_THAT(next(response), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no such user")));
  EXPECT_THAT(next(OneEvent("k", 10)), IsOk());
}

TEST(EtcdHostileTest, ARevisionInPiecesIsWholeOrNot) {
  FakeEtcd fake;
  std::atomic<int> streams{0};
  std::atomic<int64_t> asked{0};
  fake.watch = [&](int64_t start, WatchStream* stream) {
    WatchResponse piece = OneEvent("k1", 10);
    AddEvent("k1", 11, &piece);
    piece.set_fragment(true);
    if (streams++ == 0) {
      stream->Write(piece);  // and no more
      return;
    }
    asked = start;
    piece.mutable_events()->DeleteSubrange(0, 1);
    stream->Write(piece);
    stream->Write(OneEvent("k2", 11));
  };
  ASSERT_OK_AND_ASSIGN(auto watch, fake.store().NewWatch(Keys::Under("k"), 10));
  ASSERT_OK_AND_ASSIGN(auto events, watch->Next(Soon()));
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].kv.mod_revision, 10);
  ASSERT_OK_AND_ASSIGN(events, watch->Next(Soon()));
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[1].kv.key, "k2");
  EXPECT_EQ(asked, 11);
}

TEST(EtcdHostileTest, PiecesWithoutEndAreRejected) {
  FakeEtcd fake;
  fake.watch = [](int64_t, WatchStream* stream) {
    WatchResponse piece;
    AddEvent("k", 10, &piece, 8 << 20);
    piece.set_fragment(true);
    while (stream->Write(piece)) {
    }
  };
  ASSERT_OK_AND_ASSIGN(auto watch, fake.store().NewWatch(Keys::Of("k"), 10));
  EXPECT_THAT(watch->Next(Soon()), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("events of revision 10")));
}

TEST(EtcdHostileTest, AServerWaitsForASlowWatch) {
  FakeEtcd fake;
  constexpr int kAnswers = 200;
  std::atomic<int> sent{0};
  fake.watch = [&sent](int64_t start, WatchStream* stream) {
    for (int64_t revision = start; revision < 1 + kAnswers; ++revision, ++sent) {
      WatchResponse response;
      AddEvent("k", revision, &response, 1 << 20);
      if (!stream->Write(response)) return;
    }
  };
  ASSERT_OK_AND_ASSIGN(auto watch, fake.store().NewWatch(Keys::Of("k"), 1));
  for (int taken = 1; taken <= kAnswers; ++taken) {
    ASSERT_OK_AND_ASSIGN(const auto events, watch->Next(Soon()));
    ASSERT_EQ(events.size(), 1);
    EXPECT_EQ(events[0].kv.mod_revision, taken);
    EXPECT_LE(sent - taken, 64);
  }
}

}  // namespace
}  // namespace weir::coordination
