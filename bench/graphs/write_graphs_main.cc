// weir_bench_graphs FOLDER: writes the graphs of all rows.
#include <cstdio>
#include <filesystem>

#include "bench/graphs/graphs.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder + "/checkpoint");
  std::filesystem::create_directories(folder + "/input");
  for (auto* write :
       {weir::bench::WriteExecutorGraphs, weir::bench::WriteTrainingGraphs, weir::bench::WriteClusterGraphs,
        weir::bench::WriteCollectiveGraphs, weir::bench::WriteEmbeddingGraphs, weir::bench::WriteCheckpointGraphs,
        weir::bench::WriteInputGraphs, weir::bench::WriteStrategyGraphs, weir::bench::WriteModels}) {
    if (absl::Status status = write(folder); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}
