#include "core/testing.h"
#include "distribute/cluster/address.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/cluster/tf_config.h"
#include "tensorflow/core/protobuf/cluster.pb.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;

TEST(AddressTest, ParsesWhatItPrints) {
  for (const char* text : {"localhost:2222", "127.0.0.1:0", "[::1]:65535", "host-1.example.com:80", "unix:/tmp/a:b"}) {
    ASSERT_OK_AND_ASSIGN(Address address, Address::Parse(text));
    EXPECT_EQ(address.ToString(), text);
  }
  EXPECT_TRUE(Address::Parse("127.0.0.1:1")->IsLoopback());
  EXPECT_TRUE(Address::Parse("[::1]:1")->IsLoopback());
  EXPECT_FALSE(Address::Parse("0.0.0.0:1")->IsLoopback());
  EXPECT_FALSE(Address::Parse("127.example.com:1")->IsLoopback());
}

TEST(AddressTest, QuotesWhatIsNoAddress) {
  for (const char* text : {"", "host", "host:", ":80", "host:x", "host:-1", "host:65536", "host:1 ", "::1:80", "[::1]",
                           "[::g]:1", "unix:", "http://host:80", "a b:1"}) {
    EXPECT_THAT(Address::Parse(text), StatusIs(kInvalidArgument, HasSubstr(absl::StrCat("'", text, "'")))) << text;
  }
}

TEST(ClusterSpecTest, ReadsListsAndMaps) {
  ASSERT_OK_AND_ASSIGN(ClusterSpec spec,
                       ClusterSpec::FromJson(R"({"worker": {"5": "h:3", "1": "h:2"}, "ps": ["h:1"]})"));
  EXPECT_THAT(spec.TaskNames(),
              ElementsAre("/job:ps/replica:0/task:0", "/job:worker/replica:0/task:1", "/job:worker/replica:0/task:5"));
  EXPECT_EQ(*spec.AddressOf("worker", 5), "h:3");
  EXPECT_THAT(spec.AddressOf("worker", 0), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/task:5")));

  tensorflow::ClusterDef def;
  spec.ToProto(&def);
  ASSERT_OK_AND_ASSIGN(ClusterSpec again, ClusterSpec::FromProto(def));
  EXPECT_EQ(spec, again);
}

TEST(ClusterSpecTest, ErrorsQuoteKeyAndValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "not JSON"},
      {"[1]", "[1]"},
      {R"({"worker": "h:1"})",
       R"(cluster.worker is neither a list of addresses nor a map of indices to addresses but "h:1")"},
      {R"({"worker": []})", "cluster.worker"},
      {R"({"worker": [7]})", "cluster.worker[0] is not an address but 7"},
      {R"({"worker": ["h:1", "h"]})", "cluster.worker[1]"},
      {R"({"worker": {"x": "h:1"}})", "'x' is not a task index"},
      {R"({"worker": {"-1": "h:1"}})", "'-1' is not a task index"},
      {R"({"worker": ["h:1", "h:1"]})", "has the address of /job:worker/replica:0/task:0: h:1"},
      {R"({"worker": {"1": "h:1", "01": "h:2"}})", "given twice"},
      {R"({"wor/ker": ["h:1"]})", "'wor/ker' is not a job name"},
      {R"({"worker": ["h:1"], "ps": ["h:2"], "worker": ["h:3"]})", R"(has the key "worker" twice)"},
  };
  for (const auto& [json, message] : cases) {
    EXPECT_THAT(ClusterSpec::FromJson(json), StatusIs(kInvalidArgument, HasSubstr(message))) << json;
  }
  EXPECT_THAT(ClusterSpec::FromJson(std::string(100000, '[')), StatusIs(kInvalidArgument));
}

TEST(TfConfigTest, ReadsWhatTensorFlowReads) {
  ASSERT_OK_AND_ASSIGN(TfConfig config, ParseTfConfig(R"({
      "cluster": {"chief": ["h:1"], "worker": ["h:2", "h:3"], "ps": {"0": "h:4"}},
      "task": {"type": "worker", "index": "1"}, "environment": "cloud", "rpc_layer": "grpc", "more": 1})"));
  EXPECT_EQ(config.task_type, "worker");
  EXPECT_EQ(config.task_index, 1);
  EXPECT_EQ(config.environment, "cloud");
  EXPECT_FALSE(config.IsChief());
  EXPECT_TRUE(ParseTfConfig(R"({"cluster": {"chief": ["h:1"]}, "task": {"type": "chief", "index": 0}})")->IsChief());
  EXPECT_TRUE(ParseTfConfig(R"({"cluster": {"worker": ["h:1"]}, "task": {"type": "worker"}})")->IsChief());
  EXPECT_THAT(ParseTfConfig(R"({"cluster": {"ps": ["h:1"]}, "task": {"type": "evaluator", "index": 0}})"), IsOk());
  EXPECT_THAT(ParseTfConfig("{}"), IsOk());
}

TEST(TfConfigTest, ErrorsQuoteKeyAndValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "TF_CONFIG is not JSON"},
      {"3", "TF_CONFIG is not a map but 3"},
      {R"({"cluster": 3})", "TF_CONFIG: cluster is not a map of jobs to addresses but 3"},
      {R"({"cluster": {"ps": ["nowhere"]}})", "TF_CONFIG: cluster.ps[0]"},
      {R"({"task": "worker"})", "TF_CONFIG: task is not a map"},
      {R"({"task": {"index": 0}})", "task has no type"},
      {R"({"task": {"type": 3}})", "TF_CONFIG: task.type is not a string but 3"},
      {R"({"task": {"type": "ps", "index": -1}})", "TF_CONFIG: task.index is not an index from 0 but -1"},
      {R"({"task": {"type": "ps", "index": "1x"}})", R"(but "1x")"},
      {R"({"task": {"type": "ps", "index": 1.5}})", "but 1.5"},
      {R"({"task": {"type": "ps", "index": 4294967296}})", "but 4294967296"},
      {R"({"cluster": {"ps": ["h:1"]}, "task": {"type": "ps", "index": 1}})",
       "task is ps 1, which cluster does not have"},
      {R"({"cluster": {"chief": ["h:1", "h:2"]}})", "cluster.chief has 2 tasks"},
      {R"({"cluster": {"chief": ["h:1"], "master": ["h:2"]}})", "both a chief and a master"},
      {R"({"rpc_layer": "grpcs"})", "rpc_layer is 'grpcs'"},
      {R"({"environment": []})", "environment is not a string but []"},
  };
  for (const auto& [json, message] : cases) {
    EXPECT_THAT(ParseTfConfig(json), StatusIs(kInvalidArgument, HasSubstr(message))) << json;
  }
}

}  // namespace
}  // namespace weir
