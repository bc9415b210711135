// Figures of parts of a process that its metrics do not know.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/api.h"

namespace WEIR_API weir {

struct GaugeSample {
  std::string name, help;  // "weir_embedding_seconds_behind", in Prometheus's rules; one help for each name
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

// Thread-safe. Collect is called for each scrape, and neither waits nor calls other tasks.
class GaugeSource {
 public:
  virtual ~GaugeSource() = default;
  virtual void Collect(std::vector<GaugeSample>* samples) const = 0;
};

}  // namespace weir
