// One rank of Gloo's all-reduce, for bench/rows.py: gloo_peer RANK SIZE FOLDER BYTES. Rank 0 leads the others and
// speaks the protocol of bench/runner.h (`N` on standard input, seconds on standard output). Reports the time of Gloo's
// fastest algorithm; one that hangs is reported on standard error and skipped from then on.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

namespace {

using ContextPtr = std::shared_ptr<gloo::Context>;
using Run = std::function<void()>;

// Each context connects the ranks separately, so that a hanging one does not block the others.
class Contexts {
 public:
  Contexts(int rank, int size, const char* folder) : rank_(rank), size_(size), store_(folder) {}

  ContextPtr Connect(const char* name, std::chrono::milliseconds timeout) {
    gloo::rendezvous::PrefixStore store(name, store_);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
    context->connectFullMesh(store, device_);
    context->setTimeout(timeout);
    return context;
  }

 private:
  const int rank_, size_;
  gloo::rendezvous::FileStore store_;
  std::shared_ptr<gloo::transport::Device> device_ =
      gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
};

template <typename Algorithm>
Run Legacy(const ContextPtr& context, std::vector<float>& values) {
  auto algorithm = std::make_shared<Algorithm>(context, std::vector<float*>{values.data()}, values.size());
  return [algorithm] { algorithm->run(); };
}

Run Present(const ContextPtr& context, std::vector<float>& values, gloo::AllreduceOptions::Algorithm algorithm) {
  auto options = std::make_shared<gloo::AllreduceOptions>(context);
  options->setOutput(values.data(), values.size());
  options->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
  options->setAlgorithm(algorithm);
  return [options] { gloo::allreduce(*options); };
}

int64_t FromRankZero(const ContextPtr& context, int64_t value) {
  gloo::BroadcastOptions options(context);
  options.setOutput(&value, 1);
  options.setRoot(0);
  gloo::broadcast(options);
  return value;
}

struct Candidate {
  const char* name;
  ContextPtr context;
  Run run;
};

double Seconds(const Candidate& algorithm, int64_t count) {
  gloo::BarrierOptions options(algorithm.context);
  gloo::barrier(options);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) algorithm.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s RANK SIZE FOLDER BYTES\n", argv[0]);
    return 2;
  }
  const int rank = std::atoi(argv[1]);
  Contexts contexts(rank, std::atoi(argv[2]), argv[3]);
  std::vector<float> values(std::atoll(argv[4]) / sizeof(float));
  // The other ranks wait while Weir's round is timed.
  const ContextPtr lead = contexts.Connect("lead", std::chrono::minutes(10));
  std::vector<Candidate> algorithms;
  const auto add = [&](const char* name, auto make) {
    const ContextPtr context = contexts.Connect(name, std::chrono::seconds(10));
    algorithms.push_back({name, context, make(context, values)});
  };
  using Kind = gloo::AllreduceOptions::Algorithm;
  add("ring", [](auto& context, auto& values) { return Present(context, values, Kind::RING); });
  add("bcube", [](auto& context, auto& values) { return Present(context, values, Kind::BCUBE); });
  add("legacy ring", Legacy<gloo::AllreduceRing<float>>);
  add("legacy chunked ring", Legacy<gloo::AllreduceRingChunked<float>>);
  add("legacy halving-doubling", Legacy<gloo::AllreduceHalvingDoubling<float>>);
  add("legacy bcube", Legacy<gloo::AllreduceBcube<float>>);
  if (rank == 0) std::cout << "ready" << std::endl;
  for (;;) {
    int64_t count = 0;
    if (rank == 0 && !(std::cin >> count)) count = 0;
    count = FromRankZero(lead, count);
    if (count == 0) return 0;
    double best = std::numeric_limits<double>::infinity();
    for (auto algorithm = algorithms.begin(); algorithm != algorithms.end();) {
      try {
        best = std::min(best, Seconds(*algorithm, count));
        ++algorithm;
      } catch (const std::exception& error) {
        std::cerr << "gloo_peer: rank " << rank << " leaves out " << algorithm->name << ": " << error.what()
                  << std::endl;
        algorithm = algorithms.erase(algorithm);
      }
    }
    if (algorithms.empty()) return 1;
    if (rank == 0) std::cout << best << std::endl;
  }
}
