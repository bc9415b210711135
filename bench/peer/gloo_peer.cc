// One rank of Gloo's all-reduce, for bench/rows.py: gloo_peer RANK SIZE FOLDER BYTES. Rank 0 talks as bench/runner.h
// says
// (`N` on standard input, seconds on standard output), and leads the others. A time is that of Gloo's fastest
// algorithm.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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
#include <gloo/transport/tcp/device.h>

namespace {

using ContextPtr = std::shared_ptr<gloo::Context>;
using Run = std::function<void()>;

ContextPtr Connect(int rank, int size, const char* folder) {
  gloo::transport::tcp::attr loopback("127.0.0.1");
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(loopback);
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(store, device);
  context->setTimeout(std::chrono::minutes(10));  // the others wait while Weir's round is timed
  return context;
}

template <typename Algorithm>
Run Former(const ContextPtr& context, std::vector<float>& values) {
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

double Seconds(const ContextPtr& context, const Run& run, int64_t count) {
  gloo::BarrierOptions options(context);
  gloo::barrier(options);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s RANK SIZE FOLDER BYTES\n", argv[0]);
    return 2;
  }
  const int rank = std::atoi(argv[1]);
  const ContextPtr context = Connect(rank, std::atoi(argv[2]), argv[3]);
  std::vector<float> values(std::atoll(argv[4]) / sizeof(float));
  const std::vector<Run> algorithms = {
      Present(context, values, gloo::AllreduceOptions::Algorithm::RING),
      Present(context, values, gloo::AllreduceOptions::Algorithm::BCUBE),
      Former<gloo::AllreduceRing<float>>(context, values),
      Former<gloo::AllreduceRingChunked<float>>(context, values),
      Former<gloo::AllreduceHalvingDoubling<float>>(context, values),
      Former<gloo::AllreduceBcube<float>>(context, values),
  };
  if (rank == 0) std::cout << "ready" << std::endl;
  for (;;) {
    int64_t count = 0;
    if (rank == 0 && !(std::cin >> count)) count = 0;
    count = FromRankZero(context, count);
    if (count == 0) return 0;
    double best = std::numeric_limits<double>::infinity();
    for (const Run& run : algorithms) best = std::min(best, Seconds(context, run, count));
    if (rank == 0) std::cout << best << std::endl;
  }
}
