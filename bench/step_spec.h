// What one step of a bench graph is fed, fetches and runs: a text file beside the GraphDef, read by Weir's runner and
// by the peer's alike. Standard library only, since the peer may not share a process with Weir's protobuf.
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
  bool optimize = true;           // false: graph optimizers off, since the graph would vanish
  int cpu_devices = 1;            // of a session in process

  // Written and read as lines: "feed NODE TYPE DIMS", "fetch NODE", "target NODE", "init NODE", "optimize off",
  // "cpu_devices COUNT".
  std::string ToText() const;
  // False, with `error` set, for a line that is none of these.
  static bool FromText(const std::string& text, StepSpec* spec, std::string* error);
};

// False when the file cannot be read.
bool ReadFile(const std::string& path, std::string* content);

}  // namespace weir::bench
