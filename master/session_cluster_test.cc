#include "master/session_cluster.h"

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kStartedAs[] = "/job:worker/replica:0/task:0";

tensorflow::ClusterDef Cluster(const std::string& job, const std::vector<std::string>& addresses) {
  tensorflow::ClusterDef def;
  tensorflow::JobDef* tasks = def.add_job();
  tasks->set_name(job);
  for (size_t i = 0; i < addresses.size(); ++i) (*tasks->mutable_tasks())[static_cast<int>(i)] = addresses[i];
  return def;
}

TEST(SessionCluster, TheMasterIsTheTaskAtTheTarget) {
  ASSERT_OK_AND_ASSIGN(
      const SessionCluster cluster,
      SessionCluster::Find(Cluster("trainer", {"127.0.0.1:1", "localhost:2"}), "grpc://localhost:2", kStartedAs));
  EXPECT_EQ(cluster.local_task, "/job:trainer/replica:0/task:1");
  EXPECT_EQ(cluster.local_address, "localhost:2");
  tensorflow::ServerDef other;
  ASSERT_THAT(cluster.Describe("/job:trainer/replica:0/task:0", &other), IsOk());
  EXPECT_EQ(other.job_name(), "trainer");
  EXPECT_EQ(other.task_index(), 0);
  EXPECT_EQ(other.cluster().job(0).tasks().at(1), "localhost:2");
  EXPECT_THAT(cluster.Describe("/job:trainer/replica:0/task:2", &other), StatusIs(absl::StatusCode::kNotFound));
}

TEST(SessionCluster, ClustersWithoutExactlyOneMasterAreRejected) {
  const auto find = [](const tensorflow::ClusterDef& def) {
    return SessionCluster::Find(def, "grpc://127.0.0.1:1", kStartedAs).status();
  };
  EXPECT_THAT(find(Cluster("trainer", {"127.0.0.1:2"})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not included in the provided cluster_def")));
  EXPECT_THAT(find(Cluster("trainer", {"127.0.0.1:1", "127.0.0.1:1"})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Found multiple matching tasks")));
  EXPECT_THAT(find(Cluster("worker", {"127.0.0.1:1"})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Job: worker, task index: 0")));
  EXPECT_THAT(find(Cluster("trainer", {"127.0.0.1:1", "nowhere"})), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
