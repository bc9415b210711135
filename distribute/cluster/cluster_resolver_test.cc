#include "distribute/cluster/cluster_resolver.h"

#include <ctime>
#include <map>
#include <string>

#include "core/testing.h"
#include "distribute/cluster/host_list.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

// `base` with some variables changed; an empty value removes the variable.
Environment With(Variables base, const Variables& changes) {
  for (const auto& [name, value] : changes) base[name] = value;
  return Environment(base);
}

// "worker 1 of ps@h:1 worker@h:2 worker@h:3".
std::string Describe(const TfConfig& config) {
  std::string text = absl::StrCat(config.task_type, " ", config.task_index, " of");
  for (const auto& [job, tasks] : config.cluster.jobs()) {
    for (const auto& [index, address] : tasks) absl::StrAppend(&text, " ", job, "@", address);
  }
  return text;
}

TEST(HostListTest, ExpandsWhatSlurmWrites) {
  EXPECT_THAT(*ExpandHostList("V", "alone"), ElementsAre("alone"));
  EXPECT_THAT(*ExpandHostList("V", "n[1-2],m5,o[3-4,6,7-9]"),
              ElementsAre("n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"));
  EXPECT_THAT(*ExpandHostList("V", "n[08-11,100].example"),
              ElementsAre("n08.example", "n09.example", "n10.example", "n11.example", "n100.example"));
  EXPECT_THAT(*ExpandHostList("V", "r[0-1]n[0-1]"), ElementsAre("r0n0", "r0n1", "r1n0", "r1n1"));
  EXPECT_THAT(*ExpandTaskCounts("V", "2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(*ExpandTaskCounts("V", "4"), ElementsAre(4));
}

TEST(HostListTest, QuotesWhatIsNoList) {
  for (const char* text : {"", ",", "a,", "n[", "n[1", "n1]", "n[]", "n[1-]", "n[-1]", "n[a]", "n[2-1]", "n[1-2-3]",
                           "n[[1]]", "n[1,]", "a b", "a:1", "n[1-2],n2", "n[99999999999999999999]", "n[1]\n"}) {
    EXPECT_THAT(ExpandHostList("V", text), StatusIs(kInvalid, HasSubstr("V='"))) << text;
  }
  for (const char* text : {"", "0", "2(x0)", "2(x)", "2(x3", "(x3)", "2(y3)", "-1", "2,", "x", "2 ", "2(x3)1"}) {
    EXPECT_THAT(ExpandTaskCounts("V", text), StatusIs(kInvalid, HasSubstr("V='"))) << text;
  }
  for (const char* text :
       {"", "ps", "ps=", "=1", "ps=0", "ps=1,", "ps=1,ps=2", "chief=2", "chief=1,master=1", "ps=1 "}) {
    EXPECT_THAT(ParseJobSizes("V", text), StatusIs(kInvalid, HasSubstr("V='"))) << text;
  }
}

TEST(HostListTest, RejectsWhatIsTooMuchBeforeItMakesIt) {
  const std::clock_t start = std::clock();  // counts no time in which the process does not run
  std::string brackets;
  for (int i = 0; i < 20000; ++i) brackets += "[1-2]";
  for (const std::string& text :
       {std::string("node[1-999999999999]"), std::string("n[0-65536]"), std::string("n[0-60000,0-60000]"),
        std::string("n[1-65536],m"), std::string("a[1-400]b[1-400]"), brackets, std::string(100000, 'a'),
        std::string(100000, '['), std::string(100000, ','), "n[" + std::string(100000, '1') + "]"}) {
    EXPECT_THAT(ExpandHostList("V", text), StatusIs(kInvalid, HasSubstr("V='"))) << text.substr(0, 40);
  }
  for (const char* text : {"1(x65537)", "1(x999999999999)", "65537", "1(x65536),1"}) {
    EXPECT_THAT(ExpandTaskCounts("V", text), StatusIs(kInvalid, HasSubstr("V='"))) << text;
  }
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
  EXPECT_EQ(ExpandHostList("V", "n[1-65536]")->size(), 65536);
}

const Variables kSlurm = {{"SLURM_PROCID", "2"},
                          {"SLURM_STEP_NODELIST", "n[9-10]"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                          {"SLURM_STEP_NUM_TASKS", "3"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_LOCALID", "0"}};

TEST(SlurmTest, RanksFillNodes) {
  ASSERT_OK_AND_ASSIGN(ResolvedCluster resolved, ResolveCluster(Environment(kSlurm)));
  EXPECT_EQ(resolved.source, ClusterSource::kSlurm);
  EXPECT_EQ(Describe(resolved.task), "worker 2 of worker@n9:8888 worker@n9:8889 worker@n10:8888");
}

TEST(SlurmTest, RanksAreDealtToJobsByName) {
  ASSERT_OK_AND_ASSIGN(TfConfig config,
                       SlurmTask(With(kSlurm, {{"WEIR_JOBS", "worker=2,ps=1"}, {"WEIR_PORT", "7000"}})));
  EXPECT_EQ(Describe(config), "worker 1 of ps@n9:7000 worker@n9:7001 worker@n10:7000");
}

TEST(SlurmTest, AJobsVariablesDoWhereAStepsAreMissing) {
  const Environment environment(
      Variables{{"SLURM_PROCID", "0"}, {"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_NTASKS_PER_NODE", "1"}});
  EXPECT_EQ(Describe(*SlurmTask(environment)), "worker 0 of worker@a:8888 worker@b:8888");
  const Environment counts(
      Variables{{"SLURM_PROCID", "0"}, {"SLURM_JOB_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", "1(x1)"}});
  EXPECT_EQ(Describe(*SlurmTask(counts)), "worker 0 of worker@a:8888");
}

TEST(SlurmTest, ErrorsQuoteTheVariable) {
  const std::pair<Variables, const char*> cases[] = {
      {{{"SLURM_PROCID", ""}}, "SLURM_PROCID is not set: start every task by srun"},
      {{{"SLURM_PROCID", "-1"}}, "SLURM_PROCID='-1' is not a number from 0 to 65535"},
      {{{"SLURM_PROCID", "1x"}}, "SLURM_PROCID='1x'"},
      {{{"SLURM_PROCID", "99999999999999999999"}}, "SLURM_PROCID='99999999999999999999'"},
      {{{"SLURM_PROCID", "3"}}, "SLURM_PROCID is 3, and the step has 3 tasks"},
      {{{"SLURM_STEP_NODELIST", ""}}, "neither SLURM_STEP_NODELIST nor SLURM_JOB_NODELIST"},
      {{{"SLURM_STEP_NODELIST", "node[1-999999999999]"}}, "SLURM_STEP_NODELIST='node[1-999999999999]': "},
      {{{"SLURM_STEP_NODELIST", "n[1-3]"}}, "SLURM_STEP_TASKS_PER_NODE='2,1' is for 2 nodes"},
      {{{"SLURM_STEP_TASKS_PER_NODE", "2(x"}}, "SLURM_STEP_TASKS_PER_NODE='2(x'"},
      {{{"SLURM_STEP_TASKS_PER_NODE", ""}}, "SLURM_NTASKS_PER_NODE is not set"},
      {{{"SLURM_STEP_TASKS_PER_NODE", ""}, {"SLURM_NTASKS_PER_NODE", "0"}}, "SLURM_NTASKS_PER_NODE='0'"},
      {{{"SLURM_STEP_TASKS_PER_NODE", "60000,60000"}}, "120000 tasks, and a cluster has at most 65536"},
      {{{"SLURM_STEP_NUM_TASKS", "4"}}, "SLURM_STEP_NUM_TASKS is 4, and the tasks per node make 3"},
      {{{"SLURM_NODEID", "0"}}, "srun --distribution=block"},
      {{{"SLURM_LOCALID", "1"}}, "srun --distribution=block"},
      {{{"WEIR_JOBS", "ps=1,worker=1"}}, "WEIR_JOBS='ps=1,worker=1' has 2 tasks, and there are 3"},
      {{{"WEIR_JOBS", "9s=3"}}, "'9s' is not a job name"},
      {{{"WEIR_PORT", "0"}}, "WEIR_PORT='0' is not a number from 1 to 65535"},
      {{{"WEIR_PORT", "65535"}}, "set WEIR_PORT to a lower one"},
  };
  for (const auto& [changes, message] : cases) {
    EXPECT_THAT(ResolveCluster(With(kSlurm, changes), ClusterSource::kSlurm), StatusIs(kInvalid, HasSubstr(message)))
        << message;
  }
}

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"WEIR_HOSTS", "n[1-2]"}};

TEST(MpiTest, RanksFillTheHostsNamed) {
  ASSERT_OK_AND_ASSIGN(ResolvedCluster resolved, ResolveCluster(Environment(kOpenMpi)));
  EXPECT_EQ(resolved.source, ClusterSource::kMpi);
  EXPECT_EQ(Describe(resolved.task), "worker 3 of worker@n1:8888 worker@n1:8889 worker@n2:8888 worker@n2:8889");
  ASSERT_OK_AND_ASSIGN(resolved, ResolveCluster(With(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                                                                {"WEIR_TASKS_PER_HOST", "3,1"},
                                                                {"WEIR_JOBS", "chief=1,worker=3"}})));
  EXPECT_EQ(Describe(resolved.task), "worker 2 of chief@n1:8888 worker@n1:8889 worker@n1:8890 worker@n2:8888");
}

TEST(MpiTest, OneHostNeedsNoNames) {
  const char* const launchers[][4] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};
  for (const auto& names : launchers) {
    ASSERT_OK_AND_ASSIGN(
        ResolvedCluster resolved,
        ResolveCluster(Environment(Variables{{names[0], "1"}, {names[1], "2"}, {names[2], "1"}, {names[3], "2"}})));
    EXPECT_EQ(Describe(resolved.task), "worker 1 of worker@127.0.0.1:8888 worker@127.0.0.1:8889");
  }
  EXPECT_EQ(Describe(*RankedTask(Environment(Variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), false)),
            "worker 0 of worker@127.0.0.1:8888");
}

TEST(MpiTest, ErrorsQuoteTheVariable) {
  const std::pair<Variables, const char*> cases[] = {
      {{{"OMPI_COMM_WORLD_RANK", ""}}, "OMPI_COMM_WORLD_RANK is not set: start every task by mpirun"},
      {{{"OMPI_COMM_WORLD_SIZE", ""}}, "OMPI_COMM_WORLD_SIZE is not set"},
      {{{"OMPI_COMM_WORLD_SIZE", "3"}}, "OMPI_COMM_WORLD_RANK is 3, and OMPI_COMM_WORLD_SIZE 3"},
      {{{"OMPI_COMM_WORLD_SIZE", "1e9"}}, "OMPI_COMM_WORLD_SIZE='1e9' is not a number"},
      {{{"OMPI_COMM_WORLD_LOCAL_SIZE", "5"}}, "OMPI_COMM_WORLD_LOCAL_SIZE is 5, and OMPI_COMM_WORLD_SIZE 4"},
      {{{"OMPI_COMM_WORLD_LOCAL_RANK", "2"}}, "OMPI_COMM_WORLD_LOCAL_RANK is 2, and OMPI_COMM_WORLD_LOCAL_SIZE 2"},
      {{{"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}, "mpirun --map-by slot"},
      {{{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}, "OMPI_COMM_WORLD_LOCAL_SIZE is 3, and WEIR_HOSTS gives 2 tasks to n2"},
      {{{"WEIR_HOSTS", ""}}, "OMPI_COMM_WORLD_LOCAL_SIZE 2, and nothing names the other hosts: set WEIR_HOSTS"},
      {{{"WEIR_HOSTS", "n[1-3]"}}, "set WEIR_TASKS_PER_HOST"},
      {{{"WEIR_TASKS_PER_HOST", "4"}}, "WEIR_TASKS_PER_HOST='4' is for 1 hosts, and WEIR_HOSTS names 2"},
      {{{"WEIR_TASKS_PER_HOST", "4,4"}}, "WEIR_TASKS_PER_HOST='4,4' makes 8 tasks, and OMPI_COMM_WORLD_SIZE is 4"},
  };
  for (const auto& [changes, message] : cases) {
    EXPECT_THAT(ResolveCluster(With(kOpenMpi, changes)), StatusIs(kInvalid, HasSubstr(message))) << message;
  }
  EXPECT_THAT(ResolveCluster(Environment(), ClusterSource::kMpi), StatusIs(kInvalid, HasSubstr("PMI_RANK is not set")));
}

const Variables kTorchrun = {{"RANK", "1"},
                             {"WORLD_SIZE", "2"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "localhost"},
                             {"MASTER_PORT", "29500"}};

TEST(TorchrunTest, TasksListenAboveTheAgent) {
  ASSERT_OK_AND_ASSIGN(ResolvedCluster resolved, ResolveCluster(Environment(kTorchrun)));
  EXPECT_EQ(resolved.source, ClusterSource::kTorchrun);
  EXPECT_EQ(Describe(resolved.task), "worker 1 of worker@127.0.0.1:29501 worker@127.0.0.1:29502");
  ASSERT_OK_AND_ASSIGN(
      resolved,
      ResolveCluster(With(
          kTorchrun, {{"LOCAL_WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"WEIR_HOSTS", "a,b"}, {"WEIR_PORT", "9"}})));
  EXPECT_EQ(Describe(resolved.task), "worker 1 of worker@a:9 worker@b:9");
}

TEST(TorchrunTest, ErrorsQuoteTheVariable) {
  const std::pair<Variables, const char*> cases[] = {
      {{{"RANK", ""}}, "RANK is not set: start every task by torchrun"},
      {{{"WORLD_SIZE", ""}}, "WORLD_SIZE is not set"},
      {{{"MASTER_PORT", ""}}, "MASTER_PORT is not set"},
      {{{"MASTER_PORT", "65536"}}, "MASTER_PORT='65536' is not a number from 1 to 65534"},
      {{{"MASTER_PORT", "65534"}}, "set WEIR_PORT to a lower one"},
      {{{"LOCAL_WORLD_SIZE", ""}}, "LOCAL_WORLD_SIZE not set, and nothing names the other hosts"},
  };
  for (const auto& [changes, message] : cases) {
    EXPECT_THAT(ResolveCluster(With(kTorchrun, changes)), StatusIs(kInvalid, HasSubstr(message))) << message;
  }
}

const Variables kPod = {{"WEIR_SERVICE", "weir.default.svc"},
                        {"WEIR_JOBS", "ps=1,worker=2"},
                        {"HOSTNAME", "train-2"},
                        {"WEIR_PORT", "2000"}};

TEST(KubernetesTest, OneSetHoldsAllJobs) {
  ASSERT_OK_AND_ASSIGN(ResolvedCluster resolved, ResolveCluster(With(kPod, {{"JOB_COMPLETION_INDEX", "2"}})));
  EXPECT_EQ(resolved.source, ClusterSource::kKubernetes);
  EXPECT_EQ(Describe(resolved.task),
            "worker 1 of ps@train-0.weir.default.svc:2000 worker@train-1.weir.default.svc:2000 "
            "worker@train-2.weir.default.svc:2000");
}

TEST(KubernetesTest, OrEachJobHasASetOfItsName) {
  ASSERT_OK_AND_ASSIGN(
      TfConfig config,
      KubernetesTask(With(kPod, {{"HOSTNAME", "my-net-worker-1.weir"}, {"WEIR_SERVICE", "weir"}, {"WEIR_PORT", ""}})));
  EXPECT_EQ(Describe(config),
            "worker 1 of ps@my-net-ps-0.weir:2222 worker@my-net-worker-0.weir:2222 worker@my-net-worker-1.weir:2222");
}

TEST(KubernetesTest, ErrorsQuoteTheVariable) {
  const std::pair<Variables, const char*> cases[] = {
      {{{"WEIR_SERVICE", ""}}, "WEIR_SERVICE is not set: set it to the name of the headless service"},
      {{{"WEIR_SERVICE", "a b"}}, "'train-0.a b:2000' is not an address"},
      {{{"WEIR_SERVICE", std::string(100000, 'a')}}, "WEIR_SERVICE='aaa"},
      {{{"WEIR_JOBS", ""}}, "WEIR_JOBS is not set"},
      {{{"WEIR_JOBS", "ps=65536,worker=1"}}, "has more than 65536 tasks"},
      {{{"HOSTNAME", ""}}, "HOSTNAME is not set"},
      {{{"HOSTNAME", "train"}}, "HOSTNAME='train' is not NAME-INDEX"},
      {{{"HOSTNAME", "train-x"}}, "HOSTNAME='train-x' is not NAME-INDEX"},
      {{{"HOSTNAME", "-1"}}, "HOSTNAME='-1' is not NAME-INDEX"},
      {{{"HOSTNAME", "train-99999999999"}}, "is not NAME-INDEX"},
      {{{"HOSTNAME", "train-3"}}, "pod 3 of train (HOSTNAME), and WEIR_JOBS='ps=1,worker=2' has 3"},
      {{{"HOSTNAME", "net-worker-2"}}, "pod 2 of net-worker (HOSTNAME), and WEIR_JOBS='ps=1,worker=2' has 2"},
      {{{"JOB_COMPLETION_INDEX", "1"}}, "JOB_COMPLETION_INDEX is 1, and HOSTNAME='train-2' ends in 2"},
      {{{"JOB_COMPLETION_INDEX", "one"}}, "JOB_COMPLETION_INDEX='one' is not a number"},
  };
  for (const auto& [changes, message] : cases) {
    EXPECT_THAT(ResolveCluster(With(kPod, changes), ClusterSource::kKubernetes), StatusIs(kInvalid, HasSubstr(message)))
        << message;
  }
}

TEST(ClusterResolverTest, TheFirstThatLeftATraceIsRead) {
  Variables variables = {{"TF_CONFIG", "x"}, {"WEIR_SERVICE", "x"}, {"OMPI_COMM_WORLD_RANK", "x"},
                         {"RANK", "x"},      {"MASTER_ADDR", "x"},  {"SLURM_PROCID", "x"}};
  const std::pair<const char*, const char*> order[] = {{"TF_CONFIG", "TF_CONFIG is not JSON"},
                                                       {"WEIR_SERVICE", "WEIR_JOBS is not set"},
                                                       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK='x'"},
                                                       {"MASTER_ADDR", "RANK='x'"},
                                                       {"SLURM_PROCID", "SLURM_PROCID='x'"}};
  for (const auto& [trace, message] : order) {
    EXPECT_THAT(ResolveCluster(Environment(variables)), StatusIs(kInvalid, HasSubstr(message)));
    variables.erase(trace);
  }
  EXPECT_THAT(ResolveCluster(Environment(variables)), StatusIs(absl::StatusCode::kNotFound, HasSubstr("TF_CONFIG")));
}

TEST(ClusterResolverTest, SrunsOwnPmiRankIsSlurms) {
  EXPECT_EQ(ResolveCluster(With(kSlurm, {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}))->source, ClusterSource::kSlurm);
  // A process that srun started on each node has started this one.
  EXPECT_EQ(ResolveCluster(With(kSlurm, {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}))->source, ClusterSource::kMpi);
}

TEST(ClusterResolverTest, ASourceThatIsGivenIsReadAlone) {
  Variables variables = kSlurm;
  variables["TF_CONFIG"] = "{";
  EXPECT_THAT(ResolveCluster(Environment(variables)), StatusIs(kInvalid, HasSubstr("TF_CONFIG is not JSON")));
  EXPECT_EQ(ResolveCluster(Environment(variables), ClusterSource::kSlurm)->source, ClusterSource::kSlurm);
  EXPECT_THAT(ResolveCluster(Environment(), ClusterSource::kTfConfig),
              StatusIs(kInvalid, HasSubstr("TF_CONFIG is not set")));
  EXPECT_THAT(ResolveCluster(Environment(Variables{{"TF_CONFIG", "{}"}})),
              StatusIs(kInvalid, HasSubstr("has no cluster")));
}

TEST(ClusterResolverTest, SourcesHaveNames) {
  for (const char* name : {"tf_config", "kubernetes", "mpi", "torchrun", "slurm"}) {
    EXPECT_EQ(ClusterSourceName(*ParseClusterSource(name)), name);
  }
  EXPECT_THAT(ParseClusterSource("pbs"), StatusIs(kInvalid, AllOf(HasSubstr("'pbs'"), HasSubstr("torchrun, slurm"))));
}

}  // namespace
}  // namespace weir
