// Exports models after evaluations.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/estimator/estimator.h"
#include "core/api.h"

namespace WEIR_API weir {

// Exports the model of a checkpoint. Called from one thread, after each evaluation.
class Exporter {
 public:
  virtual ~Exporter() = default;
  virtual const std::string& name() const = 0;
  // `base` is the exporter's own directory. Returns the export's directory, or "" if it exports nothing.
  virtual absl::StatusOr<std::string> Export(const Estimator& estimator, const std::string& base,
                                             const std::string& checkpoint, const Evaluation& evaluation) = 0;
};

struct ExporterOptions {
  std::string name;
  ServingInputFunction serving;
  int exports_to_keep = 5;  // 0: all
};

// Exports after each evaluation.
std::unique_ptr<Exporter> LatestExporter(ExporterOptions options);

// Whether `candidate` is better than the best so far.
using IsBetter = std::function<bool(const Evaluation& best, const Evaluation& candidate)>;
IsBetter SmallerLoss();
IsBetter LargerMetric(const std::string& name);
// Exports a model that is better than all before. The best evaluation is stored beside the exports, so that a later
// process continues from it.
std::unique_ptr<Exporter> BestExporter(ExporterOptions options, IsBetter is_better = SmallerLoss());

}  // namespace weir
