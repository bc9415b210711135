// Workers that pull rows by keys from a parameter server and push as many back: rows of an embedding for Weir, of a
// dense variable for the peer, which has no growing embeddings.
#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "bench/graphs/graph_writer.h"
#include "bench/graphs/graphs.h"

namespace weir::bench {
namespace {

constexpr int64_t kRows = 200'000, kWidth = 64, kBatch = 4096, kBatches = 16;
constexpr char kPs[] = "/job:ps/task:0";

// Batches of keys below kRows; the key of rank r has a probability proportional to 1/r.
Tensor ZipfKeys(uint64_t seed) {
  std::vector<double> sums(kRows);
  double sum = 0;
  for (int64_t i = 0; i < kRows; ++i) sums[i] = sum += 1.0 / static_cast<double>(i + 1);
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(0, sum);
  Tensor keys(DT_INT64, TensorShape({kBatches, kBatch}));
  for (int64_t i = 0; i < kBatches * kBatch; ++i) {
    const auto rank = std::lower_bound(sums.begin(), sums.end(), uniform(engine)) - sums.begin();
    keys.data<int64_t>()[i] = std::min<int64_t>(rank, kRows - 1);
  }
  return keys;
}

// The keys of this step on a worker: one of its batches.
std::string Keys(GraphWriter& graph, const std::string& name, int worker) {
  const std::string batches = graph.Const(name + "/batches", ZipfKeys(worker));
  const std::string which = graph
                                .Add("RandomUniformInt", name + "/which",
                                     {graph.Const(name + "/shape", Tensor(DT_INT32, {0})),
                                      graph.Const(name + "/from", Tensor::Scalar<int32_t>(0)),
                                      graph.Const(name + "/to", Tensor::Scalar<int32_t>(kBatches))})
                                .Attr("T", DT_INT32)
                                .Attr("Tout", DT_INT32)
                                .Attr("seed", int64_t{worker + 1});
  return graph
      .Add("GatherV2", name + "/keys", {batches, which, graph.Const(name + "/axis", Tensor::Scalar<int32_t>(0))})
      .Attr("Tparams", DT_INT64)
      .Attr("Tindices", DT_INT32)
      .Attr("Taxis", DT_INT32);
}

std::string OnWorker(int worker) { return absl::StrCat("/job:worker/task:", worker); }

absl::Status WriteRows(const std::string& path, int workers) {
  GraphWriter graph;
  graph.set_device(kPs);
  const std::string dims = graph.Const("dims", Tensor::Vector<int32_t>({kRows, kWidth}));
  const std::string ones =
      graph.Add("Fill", "ones", {dims, graph.Const("one", Tensor::Scalar<float>(1))}).Attr("T", DT_FLOAT);
  const std::string variable = graph.Variable("variable", {kRows, kWidth}, ones);
  for (int i = 0; i < workers; ++i) {
    const std::string name = absl::StrCat("worker_", i);
    graph.set_device(OnWorker(i));
    const std::string keys = Keys(graph, name, i);
    graph.set_device(kPs);
    const std::string rows = graph.Add("ResourceGather", name + "/rows", {variable, keys})
                                 .Attr("dtype", DT_FLOAT)
                                 .Attr("Tindices", DT_INT64);
    graph.set_device(OnWorker(i));
    const std::string gradient =
        graph.Float("Mul", name + "/gradient", {rows, graph.Const(name + "/rate", Tensor::Scalar<float>(1e-6F))});
    graph.set_device(kPs);
    graph.spec().targets.push_back(graph.Add("ResourceScatterAdd", name + "/push", {variable, keys, gradient})
                                       .Attr("dtype", DT_FLOAT)
                                       .Attr("Tindices", DT_INT64));
  }
  graph.spec().optimize = false;
  return graph.Write(path);
}

// Each distinct key is sent once in each direction: the worker deduplicates keys and sums their gradients.
absl::Status WriteEmbedding(const std::string& path, int workers) {
  GraphWriter graph;
  graph.set_device(kPs);
  const std::string table =
      graph.Add("EmbeddingTable", "table").Attr("width", kWidth).Attr("shared_name", std::string("table"));
  graph.spec().init.push_back(graph.Add("EmbeddingTableInitialize", "initialize", {table}));
  for (int i = 0; i < workers; ++i) {
    const std::string name = absl::StrCat("worker_", i);
    graph.set_device(OnWorker(i));
    const std::string keys = Keys(graph, name, i);
    const std::string unique =
        graph.Add("EmbeddingPartition", name + "/unique", {keys}).Attr("num_partitions", int64_t{1});
    graph.set_device(kPs);
    const std::string pulled = graph.Add("EmbeddingTableGather", name + "/pulled", {table, unique});
    graph.set_device(OnWorker(i));
    const std::string zero = graph.Const(name + "/zero", Tensor::Scalar<int32_t>(0));
    const std::string rows = graph.Add("GatherV2", name + "/rows", {pulled, unique + ":1", zero})
                                 .Attr("Tparams", DT_FLOAT)
                                 .Attr("Tindices", DT_INT32)
                                 .Attr("Taxis", DT_INT32);
    const std::string gradient =
        graph.Float("Mul", name + "/gradient", {rows, graph.Const(name + "/rate", Tensor::Scalar<float>(1e-6F))});
    const std::string distinct =
        graph.Add("Size", name + "/distinct", {unique}).Attr("T", DT_INT64).Attr("out_type", DT_INT32);
    const std::string sums = graph.Add("UnsortedSegmentSum", name + "/sums", {gradient, unique + ":1", distinct})
                                 .Attr("T", DT_FLOAT)
                                 .Attr("Tindices", DT_INT32)
                                 .Attr("Tnumsegments", DT_INT32);
    graph.set_device(kPs);
    const std::string alpha = graph.Const(name + "/alpha", Tensor::Scalar<float>(1));
    const std::string step = graph.Const(name + "/step", Tensor::Scalar<int64_t>(0));
    graph.spec().targets.push_back(graph.Add("EmbeddingTableApplyGradientDescent", name + "/push",
                                             {table, alpha, unique, sums, pulled + ":1", step}));
  }
  graph.spec().optimize = false;
  return graph.Write(path);
}

}  // namespace

absl::Status WriteEmbeddingGraphs(const std::string& folder) {
  for (int workers : {1, 2, 4, 8}) {
    const std::string path = absl::StrCat(folder, "/embedding_", workers);
    RETURN_IF_ERROR(WriteEmbedding(path + ".weir", workers));
    RETURN_IF_ERROR(WriteRows(path + ".tensorflow", workers));
    RETURN_IF_ERROR(WriteRows(absl::StrCat(folder, "/rows_", workers), workers));
  }
  return absl::OkStatus();
}

}  // namespace weir::bench
