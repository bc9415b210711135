// Models as functions that build graphs, one per use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/data/dataset.h"
#include "client/input_context.h"
#include "client/optimizer.h"
#include "client/scope.h"
#include "client/variables.h"
#include "core/api.h"

namespace WEIR_API weir {

enum class ModelUse { kTrain, kEvaluate, kPredict };

struct ModelContext {
  ModelUse use = ModelUse::kTrain;
  ResourceVariable global_step;
  // The device of the next variable: the parameter servers in turn; "" if there are none, or a strategy decides. All
  // processes of a cluster must call it in the same order.
  std::function<std::string()> next_variable_device;
};

// The mean of `value` over batches, weighted by `weight` (1 if it is invalid); float scalars.
struct Metric {
  Output value, weight;
};

// With a strategy, what a model function returns is that of one replica.
struct ModelSpec {
  Output loss;  // a float scalar; for training and evaluation
  // For training, one of these: minimizes the loss, as the estimator's strategy requires; or one step, which advances
  // the global step.
  std::shared_ptr<Optimizer> optimizer;
  Operation train;
  // For training: outputs of ops::ImageSummary, ops::HistogramSummary, ops::MergeSummary …, which the chief writes.
  // With a strategy the first replica's; they must not wait for others.
  std::vector<Output> summaries;
  std::map<std::string, Metric> metrics;      // for evaluation, besides the loss
  std::map<std::string, Output> predictions;  // for prediction
};

// `input` is a batch of the input function's dataset or, for prediction, the features from the serving input.
using ModelFunction =
    std::function<ModelSpec(const Scope& scope, const OutputList& input, const ModelContext& context)>;

// Called by each training process for its own pipeline.
using InputFunction = std::function<Dataset(const Scope& scope, const InputContext& context)>;

// The inputs of an exported model, by name, and the features that the model function receives.
struct ServingInput {
  std::map<std::string, Output> receivers;
  OutputList features;
};
using ServingInputFunction = std::function<ServingInput(const Scope& scope)>;

}  // namespace weir
