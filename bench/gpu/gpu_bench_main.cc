// weir_gpu_bench [--simulated] [--small] [row…]: prints one line of JSON per figure. Without a GPU it prints the reason
// and exits with 3.
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "bench/gpu/rows.h"
#include "core/gpu/simulated_platform.h"
#include "kernels/device/gpu/machine_gpus.h"

namespace weir::bench {
namespace {

constexpr int kNoGpu = 3;

struct NamedRow {
  const char* name;
  Row run;
};
constexpr NamedRow kRows[] = {
    {"small_kernels", SmallKernels}, {"matmul", Products},   {"copy_to_device", CopiesToDevice},
    {"copy_to_host", CopiesToHost},  {"resnet50", ResNet50}, {"gpt2", Gpt2},
    {"all_reduce", AllReduce},
};

// False if the row failed; a row that this machine does not support is not a failure.
bool RunRow(const NamedRow& row, const Machine& machine) {
  const absl::StatusOr<std::vector<Figure>> figures = row.run(machine);
  if (!figures.ok()) {
    const bool is_left_out = absl::IsUnimplemented(figures.status());
    std::printf("{\"row\": \"%s\", \"%s\": \"%s\"}\n", row.name, is_left_out ? "skipped" : "error",
                absl::CHexEscape(figures.status().message()).c_str());
    return is_left_out;
  }
  for (const Figure& figure : *figures) {
    std::printf("{\"row\": \"%s\", \"form\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"peak_bytes\": %lld}\n",
                row.name, figure.form.c_str(), figure.value, figure.unit.c_str(),
                static_cast<long long>(figure.peak_bytes));
  }
  std::fflush(stdout);
  return true;
}

const NamedRow* FindRow(const std::string& name) {
  for (const NamedRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

int Main(int argc, char** argv) {
  bool is_simulated = false, is_small = false;
  std::vector<NamedRow> rows;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--simulated") {
      is_simulated = true;
    } else if (argument == "--small") {
      is_small = true;
    } else if (const NamedRow* const row = FindRow(argument); row != nullptr) {
      rows.push_back(*row);
    } else {
      std::fprintf(stderr, "weir_gpu_bench: unknown row %s; the rows are:", argument.c_str());
      for (const NamedRow& known : kRows) std::fprintf(stderr, " %s", known.name);
      std::fprintf(stderr, "\n");
      return 2;
    }
  }
  if (rows.empty()) rows.assign(std::begin(kRows), std::end(kRows));

  Machine machine{.gpus = is_simulated ? SimulatedPlatform(2) : MachineGpus(), .is_small = is_small};
  const absl::StatusOr<int> count = machine.gpus.count();
  if (!count.ok() || *count == 0) {
    std::printf("no GPU: %s\n", count.ok() ? "there is none" : std::string(count.status().message()).c_str());
    return kNoGpu;
  }
  machine.num_gpus = *count;
  bool ok = true;
  for (const NamedRow& row : rows) ok = RunRow(row, machine) && ok;
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) { return weir::bench::Main(argc, argv); }
