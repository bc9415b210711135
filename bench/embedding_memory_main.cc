// weir_embedding_memory [KEYS [WIDTH]]: fills an embedding table and prints its memory overhead.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/ops.h"
#include "client/session.h"
#include "core/clock.h"

namespace weir::bench {
namespace {

constexpr int64_t kBatch = 100'000;

// The value of a line of /proc/self/status, in bytes.
int64_t ProcessBytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field, 0) == 0) return std::strtoll(line.c_str() + field.size() + 1, nullptr, 10) << 10;
  }
  return 0;
}

absl::Status Measure(int64_t keys, int64_t width) {
  const Scope scope = Scope::NewRoot();
  const Output table = ops::EmbeddingTable(scope, width, {.shared_name = "table"});
  const Operation initialize = ops::EmbeddingTableInitialize(scope, table);
  const Output fed = ops::Placeholder(scope, DT_INT64);
  const Output gradient = ops::Placeholder(scope, DT_FLOAT);
  const Output rejected = ops::EmbeddingTableApplyGradientDescent(scope, table, 1.0f, fed, gradient,
                                                                  scope.Constant(Tensor::Scalar<int64_t>(-1)),
                                                                  scope.Constant(Tensor::Scalar<int64_t>(0)));
  const Output rows = ops::EmbeddingTableGather(scope, table, fed).output;
  const Output statistics = ops::EmbeddingTableStatistics(scope, table);
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Local(scope));
  RETURN_IF_ERROR(session->RunTargets({initialize}));
  Tensor ones(DT_FLOAT, TensorShape({kBatch, width}));
  for (float& value : ones.flat<float>()) value = -1;
  const int64_t before = ProcessBytes("VmRSS");
  const absl::Time start = MonotonicNow();
  Tensor batch(DT_INT64, TensorShape({kBatch}));
  for (int64_t done = 0; done < keys; done += kBatch) {
    batch = Tensor(DT_INT64, TensorShape({kBatch}));
    for (int64_t i = 0; i < kBatch; ++i) {
      batch.data<int64_t>()[i] = static_cast<int64_t>(static_cast<uint64_t>(done + i) * 0x9E3779B97F4A7C15);
    }
    RETURN_IF_ERROR(session->Run({{fed, batch}, {gradient, ones}}, {rejected}).status());
  }
  const double filled = absl::ToDoubleSeconds(MonotonicNow() - start);
  const int64_t resident = ProcessBytes("VmRSS") - before;
  const absl::Time again = MonotonicNow();
  RETURN_IF_ERROR(session->Run({{fed, batch}}, {rows}).status());
  const double pulled = absl::ToDoubleSeconds(MonotonicNow() - again);
  ASSIGN_OR_RETURN(const std::vector<Tensor> result, session->Run({statistics}));
  const int64_t* const v = result[0].data<int64_t>();
  const auto beyond = [&](int64_t bytes) {
    return 100.0 * static_cast<double>(bytes - v[2]) / static_cast<double>(v[2]);
  };
  absl::PrintF("keys %d, width %d\n", v[0], v[1]);
  absl::PrintF("values            %13d bytes\n", v[2]);
  absl::PrintF("table             %13d bytes, %.1f %% beyond the values\n", v[4], beyond(v[4]));
  absl::PrintF("process grew by   %13d bytes, %.1f %% beyond the values\n", resident, beyond(resident));
  absl::PrintF("peak of process   %13d bytes\n", ProcessBytes("VmHWM"));
  absl::PrintF("first pushes %.0f keys/s, pulls %.0f keys/s\n", static_cast<double>(v[0]) / filled, kBatch / pulled);
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  const int64_t keys = argc > 1 ? std::atoll(argv[1]) : 10'000'000, width = argc > 2 ? std::atoll(argv[2]) : 64;
  const absl::Status status = weir::bench::Measure(keys, width);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
