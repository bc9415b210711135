#include "distribute/coordination/etcd/etcd_environment.h"

#include "core/testing.h"

namespace weir::coordination {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(EtcdEnvironmentTest, IsWhatEtcdctlReads) {
  ASSERT_OK_AND_ASSIGN(EtcdOptions options, EtcdOptionsFromEnvironment(Environment()));
  EXPECT_THAT(options.endpoints, ElementsAre("127.0.0.1:2379"));
  EXPECT_FALSE(options.tls.has_value());
  EXPECT_EQ(options.user, "");

  ASSERT_OK_AND_ASSIGN(options,
                       EtcdOptionsFromEnvironment(Environment(
                           {{"ETCDCTL_ENDPOINTS", "https://a:1,https://b:2"}, {"ETCDCTL_USER", "weir:pass:word"}})));
  EXPECT_THAT(options.endpoints, ElementsAre("a:1", "b:2"));
  ASSERT_TRUE(options.tls.has_value());
  EXPECT_EQ(options.tls->ca_file, "");
  EXPECT_EQ(options.user, "weir");
  EXPECT_EQ(options.password, "pass:word");

  ASSERT_OK_AND_ASSIGN(options, EtcdOptionsFromEnvironment(Environment({{"ETCDCTL_ENDPOINTS", "a:1,http://b:2"},
                                                                        {"ETCDCTL_CACERT", "/ca"},
                                                                        {"ETCDCTL_CERT", "/cert"},
                                                                        {"ETCDCTL_KEY", "/key"},
                                                                        {"ETCDCTL_USER", "weir"},
                                                                        {"ETCDCTL_PASSWORD", "secret"}})));
  EXPECT_THAT(options.endpoints, ElementsAre("a:1", "b:2"));
  EXPECT_EQ(options.tls->ca_file, "/ca");
  EXPECT_EQ(options.tls->certificate_file, "/cert");
  EXPECT_EQ(options.tls->key_file, "/key");
  EXPECT_EQ(options.password, "secret");
}

TEST(EtcdEnvironmentTest, WhatCannotBeMeantIsAnError) {
  const auto error = [](const std::map<std::string, std::string>& values) {
    return EtcdOptionsFromEnvironment(Environment(values)).status();
  };
  const auto is = [](const char* text) { return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)); };
  EXPECT_THAT(error({{"ETCDCTL_ENDPOINTS", "https://a:1,http://b:2"}}), is("all endpoints are https://"));
  EXPECT_THAT(error({{"ETCDCTL_PASSWORD", "secret"}}), is("ETCDCTL_USER names nobody"));
  EXPECT_THAT(error({{"ETCDCTL_USER", "weir"}}), is("set ETCDCTL_PASSWORD"));
  EXPECT_THAT(error({{"ETCDCTL_USER", "weir:a"}, {"ETCDCTL_PASSWORD", "b"}}), is("give one of them"));
}

}  // namespace
}  // namespace weir::coordination
