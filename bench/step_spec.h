// The feeds, fetches and targets of a benchmark step: a text file beside the GraphDef, read by the runners of both Weir
// and the peer. Uses only the standard library, since the peer cannot share a process with Weir's protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::bench {

struct StepSpec {
  struct Feed {
    std::string node;
    std::string type;  // "float" or "int32"
    std::vector<int64_t> dims;
    int64_t NumElements() const;
    // The same pseudo-random values for every reader: floats in [0, 1), integers in [0, 10).
    std::vector<float> Floats() const;
    std::vector<int32_t> Ints() const;
  };
  std::vector<Feed> feeds;
  std::vector<std::string> fetches;  // node names; always output 0
  std::vector<std::string> targets;
  std::vector<std::string> init;  // run once, in this order, before the first step
  bool optimize = true;           // false: disable graph optimizers, which would remove the graph
  bool commit = true;             // false: updates on several tasks take effect as they run (Weir only)
  int cpu_devices = 1;            // of an in-process session
  // The graph is a SavedModel, the folder GRAPH; the feeds and fetches are those of its signature "serving_default".
  bool saved_model = false;

  // Written and read as lines: "feed NODE TYPE DIMS", "fetch NODE", "target NODE", "init NODE", "optimize off",
  // "commit off", "cpu_devices COUNT", "saved_model yes".
  std::string ToText() const;
  // False, with `error` set, for any other line.
  static bool FromText(const std::string& text, StepSpec* spec, std::string* error);
};

// False if the file cannot be read.
bool ReadFile(const std::string& path, std::string* content);

}  // namespace weir::bench
