#include "absl/strings/str_cat.h"
#include "bench/graphs/graph_writer.h"
#include "bench/graphs/graphs.h"

namespace weir::bench {
namespace {

constexpr char kPs[] = "/job:ps/task:0";
constexpr char kWorker[] = "/job:worker/task:0";

absl::Status WriteWorkers(const std::string& path, int tasks) {
  GraphWriter graph;
  for (int task = 0; task < tasks; ++task) {
    graph.set_device(absl::StrCat("/job:worker/task:", task));
    graph.spec().targets.push_back(graph.NoOp(absl::StrCat("nothing_", task), {}));
  }
  graph.spec().optimize = false;
  return graph.Write(path);
}

// The worker reads the variable of the ps; `push` sends the value back as a gradient.
absl::Status WritePull(const std::string& path, int64_t bytes, bool push) {
  GraphWriter graph;
  graph.set_device(kPs);
  const std::string variable = graph.OnesVariable("variable", bytes / 4);
  const std::string read = graph.Read("read", variable);
  const std::string rate = graph.Const("rate", Tensor::Scalar<float>(0));
  graph.set_device(kWorker);
  const std::string pulled = graph.Float("Identity", "pulled", {read});
  if (push) {
    graph.set_device(kPs);
    graph.spec().targets = {graph.Float("ResourceApplyGradientDescent", "pushed", {variable, rate, pulled})};
  } else {
    graph.spec().targets = {graph.NoOp("done", {pulled})};
  }
  graph.spec().optimize = false;
  return graph.Write(path);
}

}  // namespace

absl::Status WriteClusterGraphs(const std::string& folder) {
  for (int tasks : {1, 2, 4, 8}) RETURN_IF_ERROR(WriteWorkers(absl::StrCat(folder, "/workers_", tasks), tasks));
  RETURN_IF_ERROR(WritePull(folder + "/pull_4k", 4 << 10, false));
  RETURN_IF_ERROR(WritePull(folder + "/pull_1m", 1 << 20, false));
  RETURN_IF_ERROR(WritePull(folder + "/pull_64m", 64 << 20, false));
  return WritePull(folder + "/pull_push_100m", 100'000'000, true);
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
