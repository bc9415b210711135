// TLS, users and passwords, with a real etcd.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <grpcpp/create_channel.h>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/coordination/etcd/etcd_credentials.h"
#include "distribute/coordination/etcd/etcd_process_testing.h"
#include "distribute/coordination/store_conformance_testing.h"

namespace weir::coordination {
namespace {

using testing::HasSubstr;

class EtcdSecurityTest : public testing::Test {
 protected:
  void Start(bool tls) {
    auto etcd = EtcdProcesses::Start(1, tls);
    if (absl::IsNotFound(etcd.status())) GTEST_SKIP() << etcd.status().message();
    ASSERT_THAT(etcd, IsOk());
    etcd_ = *std::move(etcd);
  }
  // From now on only root, and "weir" for keys under w/, have permissions.
  void EnableUsers() {
    ASSERT_OK_AND_ASSIGN(auto credentials, EtcdCredentials(etcd_->options()));
    auth_ = etcdserverpb::Auth::NewStub(grpc::CreateChannel(etcd_->address(), credentials));
    AddUser("root", "root-secret", "root");
    AddUser("weir", "secret", "tasks");
    grpc::ClientContext context;
    etcdserverpb::AuthRoleGrantPermissionRequest grant;
    grant.set_name("tasks");
    grant.mutable_perm()->set_perm_type(etcdserverpb::AuthPermission::READWRITE);
    grant.mutable_perm()->set_key("w/");
    grant.mutable_perm()->set_range_end("w0");
    etcdserverpb::AuthRoleGrantPermissionResponse granted;
    ASSERT_TRUE(auth_->RoleGrantPermission(&context, grant, &granted).ok());
    grpc::ClientContext enable;
    etcdserverpb::AuthEnableResponse enabled;
    ASSERT_TRUE(auth_->AuthEnable(&enable, etcdserverpb::AuthEnableRequest(), &enabled).ok());
  }
  void AddUser(const std::string& name, const std::string& password, const std::string& role) {
    grpc::ClientContext user_context, role_context, grant_context;
    etcdserverpb::AuthUserAddRequest user;
    user.set_name(name);
    user.set_password(password);
    etcdserverpb::AuthUserAddResponse user_added;
    ASSERT_TRUE(auth_->UserAdd(&user_context, user, &user_added).ok());
    etcdserverpb::AuthRoleAddRequest add;
    add.set_name(role);
    etcdserverpb::AuthRoleAddResponse role_added;
    ASSERT_TRUE(auth_->RoleAdd(&role_context, add, &role_added).ok());
    etcdserverpb::AuthUserGrantRoleRequest grant;
    grant.set_user(name);
    grant.set_role(role);
    etcdserverpb::AuthUserGrantRoleResponse granted;
    ASSERT_TRUE(auth_->UserGrantRole(&grant_context, grant, &granted).ok());
  }
  absl::StatusOr<std::unique_ptr<EtcdStore>> As(const std::string& user, const std::string& password) {
    EtcdOptions options = etcd_->options();
    options.user = user;
    options.password = password;
    return EtcdStore::Create(options);
  }
  // The status of a call. An impossible connection takes all of `patience`.
  static absl::Status Ask(const EtcdOptions& options, absl::Duration patience = absl::Seconds(2)) {
    ASSIGN_OR_RETURN(std::unique_ptr<EtcdStore> store, EtcdStore::Create(options));
    return store->List({.deadline = MonotonicNow() + patience}, "k").status();
  }

  std::unique_ptr<EtcdProcesses> etcd_;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth_;
};

TEST_F(EtcdSecurityTest, WhoIsNotWhoItShouldBeIsNotTalkedTo) {
  ASSERT_NO_FATAL_FAILURE(Start(/*tls=*/true));
  if (IsSkipped()) return;
  const EtcdOptions good = etcd_->options();
  EXPECT_THAT(Ask(good, absl::Minutes(1)), IsOk());
  const auto is_unreachable = StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("could be reached"));
  EtcdOptions options = good;
  options.tls->ca_file = etcd_->directory() + "/other.pem";
  EXPECT_THAT(Ask(options), is_unreachable);
  options = good;
  options.tls->server_name = "elsewhere";
  EXPECT_THAT(Ask(options), is_unreachable);
  options = good;
  options.tls->certificate_file = options.tls->key_file = "";
  EXPECT_FALSE(Ask(options).ok());
  options = good;
  options.tls.reset();
  EXPECT_FALSE(Ask(options).ok());
}

TEST_F(EtcdSecurityTest, FilesThatAreNoneAreNamed) {
  EtcdOptions options;
  options.endpoints = {"127.0.0.1:1"};
  options.tls = EtcdTls{.ca_file = "/no/such/ca.pem"};
  EXPECT_THAT(EtcdStore::Create(options).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("the CA certificate /no/such/ca.pem: No such file")));
  const std::string file = absl::StrCat(testing::TempDir(), "/etcd_no_pem_", getpid());
  std::ofstream(file) << "no certificate";
  options.tls->ca_file = file;
  EXPECT_THAT(EtcdStore::Create(options).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("PEM")));
  options.tls = EtcdTls{.certificate_file = file};
  EXPECT_THAT(EtcdStore::Create(options).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("its key")));
  std::filesystem::remove(file);
}

TEST_F(EtcdSecurityTest, UsersMayDoWhatTheirRolesAllow) {
  for (const bool tls : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(Start(tls));
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(EnableUsers());
    ASSERT_OK_AND_ASSIGN(auto weir, As("weir", "secret"));
    EXPECT_THAT(weir->Put(Soon(), "w/key", "value").status(), IsOk());
    EXPECT_THAT(weir->Put(Soon(), "other", "value").status(), StatusIs(absl::StatusCode::kPermissionDenied));
    ASSERT_OK_AND_ASSIGN(auto wrong, As("weir", "guess"));
    EXPECT_THAT(wrong->Get(Soon(), "w/key").status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as user 'weir'")));
    ASSERT_OK_AND_ASSIGN(auto nobody, As("", ""));
    EXPECT_FALSE(nobody->List(Soon(), "w/").ok());
    ASSERT_OK_AND_ASSIGN(auto root, As("root", "root-secret"));
    EXPECT_THAT(root->Put(Soon(), "other", "value").status(), IsOk());
    ASSERT_OK_AND_ASSIGN(auto watch, weir->NewWatch(Keys::Under("other/"), 1));
    EXPECT_THAT(watch->Next(Soon()).status(), StatusIs(absl::StatusCode::kPermissionDenied));
  }
}

// etcd forgets tokens when it restarts; pending calls request new ones.
TEST_F(EtcdSecurityTest, TokensAreRenewedUnderWatchesLeasesAndCalls) {
  ASSERT_NO_FATAL_FAILURE(Start(/*tls=*/true));
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(EnableUsers());
  ASSERT_OK_AND_ASSIGN(auto weir, As("weir", "secret"));
  ASSERT_OK_AND_ASSIGN(auto watch, weir->NewWatch(Keys::Under("w/"), 1));
  ASSERT_OK_AND_ASSIGN(auto lease, weir->GrantLease(Soon(), absl::Seconds(20)));
  for (int i = 0; i < 3; ++i) {
    const std::string key = absl::StrCat("w/", i), value = absl::StrCat(i);
    ASSERT_THAT(weir->Commit(Soon(), {.then = {Operation::Put(key, value)}, .repeatable = true}), IsOk());
    ASSERT_OK_AND_ASSIGN(std::vector<Event> events, watch->Next(Soon()));
    ASSERT_EQ(events.size(), 1);
    EXPECT_EQ(events[0].kv.key, key);
    EXPECT_FALSE(lease->lost().IsCancelled());
    etcd_->Kill();
    etcd_->Restart();
  }
  EXPECT_THAT(weir->Get(Soon(), "w/2").status(), IsOk());
  EXPECT_FALSE(lease->lost().IsCancelled());
}

// A change of users or roles invalidates existing tokens.
TEST_F(EtcdSecurityTest, TokensThatHaveGrownOldAreRenewed) {
  ASSERT_NO_FATAL_FAILURE(Start(/*tls=*/false));
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(EnableUsers());
  ASSERT_OK_AND_ASSIGN(auto weir, As("weir", "secret"));
  EXPECT_THAT(weir->Put(Soon(), "w/a", "1").status(), IsOk());
  EtcdToken root("root", "root-secret");
  grpc::ClientContext context;
  std::string token;
  ASSERT_TRUE(root.AddTo(&context, *auth_, &token).ok());
  etcdserverpb::AuthRoleAddRequest add;
  add.set_name("another");
  etcdserverpb::AuthRoleAddResponse added;
  ASSERT_TRUE(auth_->RoleAdd(&context, add, &added).ok());
  EXPECT_THAT(weir->Put(Soon(), "w/b", "2").status(), IsOk());
  EXPECT_THAT(weir->Get(Soon(), "w/b").status(), IsOk());
}

}  // namespace
}  // namespace weir::coordination
