#include "absl/strings/str_cat.h"
#include "bench/graphs/graph_writer.h"
#include "bench/graphs/graphs.h"

namespace weir::bench {
namespace {

// `count` consecutive means of all tasks' vectors.
absl::Status WriteAllReduces(const std::string& path, int tasks, int64_t bytes, int count) {
  GraphWriter graph;
  for (int task = 0; task < tasks; ++task) {
    const auto name = [&](const char* what, int i) { return absl::StrCat(what, "_", task, "_", i); };
    graph.set_device(absl::StrCat("/job:worker/task:", task));
    const std::string size = graph.Const(name("size", 0), Tensor::Scalar<int32_t>(tasks));
    const std::string group = graph.Const(name("group", 0), Tensor::Scalar<int32_t>(1));
    std::string value = graph.Read(name("read", 0), graph.OnesVariable(name("variable", 0), bytes / 4));
    for (int i = 0; i < count; ++i) {
      const std::string instance = graph.Const(name("instance", i), Tensor::Scalar<int32_t>(i + 1));
      value = graph.Add("CollectiveReduceV2", name("mean", i), {value, size, group, instance})
                  .Attr("T", DT_FLOAT)
                  .Attr("merge_op", "Add")
                  .Attr("final_op", "Div")
                  .Attr("Nordering_token", 0);
    }
    graph.spec().targets.push_back(graph.NoOp(name("done", 0), {value}));
  }
  graph.spec().optimize = false;
  return graph.Write(path);
}

}  // namespace

absl::Status WriteCollectiveGraphs(const std::string& folder) {
  struct Size {
    const char* name;
    int64_t bytes;
    int count;
  };
  for (const int tasks : {2, 4}) {
    for (const Size& size : {Size{"1k", 1 << 10, 50}, Size{"64k", 64 << 10, 50}, Size{"1m", 1 << 20, 20},
                             Size{"16m", 16 << 20, 4}, Size{"64m", 64 << 20, 2}}) {
      RETURN_IF_ERROR(
          WriteAllReduces(absl::StrCat(folder, "/all_reduce_", tasks, "_", size.name), tasks, size.bytes, size.count));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::bench
