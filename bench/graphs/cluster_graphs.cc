#include "absl/strings/str_cat.h"
#include "bench/graphs/graph_writer.h"
#include "bench/graphs/graphs.h"

namespace weir::bench {
namespace {

constexpr char kPs[] = "/job:ps/task:0";

std::string Worker(int task) { return absl::StrCat("/job:worker/task:", task); }

absl::Status WriteWorkers(const std::string& path, int tasks) {
  GraphWriter graph;
  for (int task = 0; task < tasks; ++task) {
    graph.set_device(Worker(task));
    graph.spec().targets.push_back(graph.NoOp(absl::StrCat("nothing_", task), {}));
  }
  graph.spec().optimize = false;
  return graph.Write(path);
}

// The worker reads the variable of the ps.
absl::Status WritePull(const std::string& path, int64_t bytes) {
  GraphWriter graph;
  graph.set_device(kPs);
  const std::string read = graph.Read("read", graph.OnesVariable("variable", bytes / 4));
  graph.set_device(Worker(0));
  graph.spec().targets = {graph.NoOp("done", {graph.Float("Identity", "pulled", {read})})};
  graph.spec().optimize = false;
  return graph.Write(path);
}

// Each worker reads the variable of the ps and sends its value back as a gradient.
absl::Status WritePullPush(const std::string& path, const std::vector<int64_t>& dims, int workers) {
  GraphWriter graph;
  graph.set_device(kPs);
  const GraphWriter::Names filled = {graph.Const("dims", Tensor::Vector<int64_t>(dims)),
                                     graph.Const("one", Tensor::Scalar<float>(1))};
  const std::string ones = graph.Add("Fill", "ones", filled).Attr("T", DT_FLOAT).Attr("index_type", DT_INT64);
  const std::string variable = graph.Variable("variable", dims, ones);
  const std::string rate = graph.Const("rate", Tensor::Scalar<float>(0));
  for (int i = 0; i < workers; ++i) {
    graph.set_device(kPs);
    const std::string read = graph.Read(absl::StrCat("read_", i), variable);
    graph.set_device(Worker(i));
    const std::string pulled = graph.Float("Identity", absl::StrCat("pulled_", i), {read});
    graph.set_device(kPs);
    graph.spec().targets.push_back(
        graph.Float("ResourceApplyGradientDescent", absl::StrCat("pushed_", i), {variable, rate, pulled}));
  }
  graph.spec().optimize = false;
  return graph.Write(path);
}

}  // namespace

absl::Status WriteClusterGraphs(const std::string& folder) {
  for (int tasks : {1, 2, 4, 8}) RETURN_IF_ERROR(WriteWorkers(absl::StrCat(folder, "/workers_", tasks), tasks));
  RETURN_IF_ERROR(WritePull(folder + "/pull_4k", 4 << 10));
  RETURN_IF_ERROR(WritePull(folder + "/pull_1m", 1 << 20));
  RETURN_IF_ERROR(WritePull(folder + "/pull_64m", 64 << 20));
  for (int workers : {1, 2, 4, 8}) {
    RETURN_IF_ERROR(WritePullPush(absl::StrCat(folder, "/scalar_", workers), {}, workers));
    RETURN_IF_ERROR(WritePullPush(absl::StrCat(folder, "/dense_", workers), {25'000'000}, workers));
  }
  return absl::OkStatus();
}

absl::Status WriteCheckpointGraphs(const std::string& folder) {
  constexpr int kVariables = 16;
  for (const bool restores : {false, true}) {
    GraphWriter graph;
    GraphWriter::Names variables, reads;
    Tensor names(DT_STRING, {kVariables}), slices(DT_STRING, {kVariables});
    for (int i = 0; i < kVariables; ++i) {
      names.data<std::string>()[i] = absl::StrCat("variable_", i);
      variables.push_back(graph.OnesVariable(absl::StrCat("variable_", i), 16 << 20));
      reads.push_back(graph.Read(absl::StrCat("read_", i), variables.back()));
    }
    const std::vector<DataType> types(kVariables, DT_FLOAT);
    const GraphWriter::Names key = {graph.Const("prefix", Tensor::Scalar<std::string>(folder + "/checkpoint/model")),
                                    graph.Const("names", names), graph.Const("slices", slices)};
    GraphWriter::Names save_inputs = key;
    save_inputs.insert(save_inputs.end(), reads.begin(), reads.end());
    const std::string save = graph.Add("SaveV2", "save", save_inputs).Attr("dtypes", types);
    graph.spec().targets = {save};
    if (restores) {
      const std::string restored = graph.Add("RestoreV2", "restore", key).Attr("dtypes", types);
      GraphWriter::Names assigns;
      for (int i = 0; i < kVariables; ++i) {
        assigns.push_back(graph
                              .Add("AssignVariableOp", absl::StrCat("assign_", i),
                                   {variables[i], i == 0 ? restored : absl::StrCat(restored, ":", i)})
                              .Attr("dtype", DT_FLOAT));
      }
      graph.spec().init = {save};
      graph.spec().targets = {graph.NoOp("restored", assigns)};
    }
    RETURN_IF_ERROR(graph.Write(folder + (restores ? "/checkpoint_restore" : "/checkpoint_save")));
  }
  return absl::OkStatus();
}

}  // namespace weir::bench
