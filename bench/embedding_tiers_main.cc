// weir_embedding_tiers [KEYS [WIDTH [LIMIT_BYTES [FOLDER [BATCHES]]]]]: trains an embedding table of which only a part
// fits into its memory limit on keys of a Zipf distribution, and the same in memory, and prints what both take.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/clock.h"

namespace weir::bench {
namespace {

constexpr int64_t kFillBatch = 100'000, kBatch = 4096;
constexpr double kExponent = 0.99;

struct Run {
  int64_t keys = 0, width = 0, limit = 0, batches = 0;
  std::string folder;
};

// Ranks from 0 on, drawn from a Zipf distribution by the inverse of its approximate integral.
class ZipfRanks {
 public:
  ZipfRanks(int64_t n, double exponent, uint32_t seed)
      : power_(1 - exponent), most_(std::pow(static_cast<double>(n) + 1, power_) - 1), n_(n), random_(seed) {}
  int64_t Next() {
    const double u = std::uniform_real_distribution<double>(0, 1)(random_);
    return std::min(n_ - 1, static_cast<int64_t>(std::pow(u * most_ + 1, 1 / power_) - 1));
  }

 private:
  const double power_, most_;
  const int64_t n_;
  std::mt19937_64 random_;
};

// Frequent keys are anywhere among the keys, and were not made one after the other.
int64_t KeyOfRank(int64_t rank, int64_t keys) {
  return static_cast<int64_t>((static_cast<uint64_t>(rank) * 0x9E3779B97F4A7C15 >> 20) % static_cast<uint64_t>(keys));
}

// The places of EmbeddingTableStatistics.
enum Statistic { kSize = 0, kBytes = 4, kHot = 10, kCold, kHits, kMisses, kBytesRead, kBytesWritten };

absl::Status Measure(const Run& run, const char* name) {
  const Scope scope = Scope::NewRoot();
  ops::EmbeddingTableAttrs attrs{.shared_name = "table"};
  attrs.memory_limit_bytes = run.limit;
  attrs.storage_path = run.folder;
  const Output table = ops::EmbeddingTable(scope, run.width, attrs);
  const Operation initialize = ops::EmbeddingTableInitialize(scope, table);
  const Output fed = ops::Placeholder(scope, DT_INT64), gradient = ops::Placeholder(scope, DT_FLOAT);
  const Output step = ops::Placeholder(scope, DT_INT64);
  const Output rejected = ops::EmbeddingTableApplyGradientDescent(scope, table, 0.1f, fed, gradient,
                                                                  scope.Constant(Tensor::Scalar<int64_t>(-1)), step);
  const Output rows = ops::EmbeddingTableGather(scope, table, fed).output;
  const Output statistics = ops::EmbeddingTableStatistics(scope, table);
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Local(scope));
  RETURN_IF_ERROR(session->RunTargets({initialize}));

  const auto ones = [&](int64_t n) {
    Tensor tensor(DT_FLOAT, TensorShape({n, run.width}));
    std::fill_n(tensor.data<float>(), n * run.width, 1.0f);
    return tensor;
  };
  const absl::Time start = MonotonicNow();
  for (int64_t done = 0; done < run.keys; done += kFillBatch) {
    const int64_t n = std::min(kFillBatch, run.keys - done);
    Tensor batch(DT_INT64, TensorShape({n}));
    for (int64_t i = 0; i < n; ++i) batch.data<int64_t>()[i] = done + i;
    RETURN_IF_ERROR(
        session->Run({{fed, batch}, {gradient, ones(n)}, {step, Tensor::Scalar<int64_t>(0)}}, {rejected}).status());
  }
  const double filled = absl::ToDoubleSeconds(MonotonicNow() - start);
  const auto count = [&]() -> absl::StatusOr<std::vector<int64_t>> {
    ASSIGN_OR_RETURN(const std::vector<Tensor> result, session->Run({statistics}));
    return std::vector<int64_t>(result[0].flat<int64_t>().begin(), result[0].flat<int64_t>().end());
  };

  // The first half shows the table what is frequent.
  ZipfRanks ranks(run.keys, kExponent, 1);
  std::vector<double> pulls, pushes;
  std::vector<int64_t> before;
  for (int64_t i = 0; i < 2 * run.batches; ++i) {
    if (i == run.batches) {
      ASSIGN_OR_RETURN(before, count());
    }
    std::vector<int64_t> keys(kBatch);
    for (int64_t& key : keys) key = KeyOfRank(ranks.Next(), run.keys);
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    const Tensor batch = Tensor::Vector<int64_t>(keys), ones_now = ones(static_cast<int64_t>(keys.size()));
    const absl::Time pull = MonotonicNow();
    RETURN_IF_ERROR(session->Run({{fed, batch}}, {rows}).status());
    const absl::Time push = MonotonicNow();
    RETURN_IF_ERROR(
        session->Run({{fed, batch}, {gradient, ones_now}, {step, Tensor::Scalar<int64_t>(i + 1)}}, {rejected})
            .status());
    if (i < run.batches) continue;
    pulls.push_back(absl::ToDoubleMilliseconds(push - pull));
    pushes.push_back(absl::ToDoubleMilliseconds(MonotonicNow() - push));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> now, count());
  const auto since = [&](Statistic which) { return static_cast<double>(now[which] - before[which]); };
  const auto print_times = [](const char* what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    absl::PrintF("  %s of %d keys: median %.2f ms, 99th percentile %.2f ms\n", what, kBatch, times[times.size() / 2],
                 times[times.size() * 99 / 100]);
  };
  const auto batches = static_cast<double>(run.batches);
  absl::PrintF("%s: %d rows of width %d, %d in memory, %d on disk; table %d bytes\n", name, now[kSize], run.width,
               now[kHot], now[kCold], now[kBytes]);
  absl::PrintF("  first pushes %.0f keys/s\n", static_cast<double>(run.keys) / filled);
  absl::PrintF("  hit rate %.1f %% of pulls and pushes; a batch misses %.0f rows, reads %.0f bytes, writes %.0f\n",
               100 * since(kHits) / (since(kHits) + since(kMisses)), since(kMisses) / batches,
               since(kBytesRead) / batches, since(kBytesWritten) / batches);
  print_times("pull", pulls);
  print_times("push", pushes);
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status MeasureBoth(Run run) {
  RETURN_IF_ERROR(Measure(run, "two tiers"));
  run.limit = 0;
  run.folder.clear();
  return Measure(run, "in memory");
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  const auto number = [&](int i, int64_t otherwise) { return argc > i ? std::atoll(argv[i]) : otherwise; };
  weir::bench::Run run;
  run.keys = number(1, 100'000'000);
  run.width = number(2, 16);
  run.limit = number(3, int64_t{4} << 30);
  run.folder = argc > 4 ? argv[4] : "/tmp/weir_embedding_tiers";
  run.batches = number(5, 500);
  const absl::Status status = weir::bench::MeasureBoth(run);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
