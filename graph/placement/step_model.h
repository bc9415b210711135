// A step as the placer sees it: kernels with times, tensors with sizes, and units that are placed as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

// A plain value. Kernels are in topological order: a kernel's inputs come before it.
struct StepModel {
  struct Kernel {
    int node = -1;  // the id in the graph
    int unit = 0;
    std::vector<double> seconds;  // by device
    std::vector<int> inputs;      // tensors, each once
    std::vector<int> outputs;
  };
  // An output of a kernel. A control edge is a tensor without bytes.
  struct Tensor {
    int producer = 0;
    int64_t bytes = 0;           // of a transfer
    int64_t memory = 0;          // while it is needed; 0 if it shares another's memory
    double times = 1;            // transfers of one step, more than one in a loop
    std::vector<int> consumers;  // kernels, each once
  };
  // Nodes that are placed as one.
  struct Unit {
    std::string name;             // of its first node
    std::vector<int> candidates;  // devices, in order of preference; never empty
    std::vector<int> kernels;     // none for a unit that the step does not need
    int64_t state = 0;            // bytes that it keeps between steps
    bool is_variable = false;     // it holds variables
  };

  int num_devices = 0;
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  std::vector<Unit> units;
};

// The device of each unit.
using UnitPlacement = std::vector<int>;

}  // namespace weir
