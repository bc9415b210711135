// A model as functions that build graphs: one for each use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/data/dataset.h"
#include "client/input_context.h"
#include "client/scope.h"
#include "client/variables.h"

namespace weir {

enum class ModelUse { kTrain, kEvaluate, kPredict };

struct ModelContext {
  ModelUse use = ModelUse::kTrain;
  ResourceVariable global_step;
  // Where the next variable goes: the parameter servers in turn; "" where there are none. Every process of a cluster
  // must ask in the same order.
  std::function<std::string()> next_variable_device;
};

// The mean over batches, each as heavy as `weight` says (one, where that is invalid), of `value`; float scalars.
struct Metric {
  Output value, weight;
};

struct ModelSpec {
  Output loss;                                // a float scalar; to train and to evaluate
  Operation train;                            // to train: one step, which advances the global step
  std::map<std::string, Metric> metrics;      // to evaluate, besides the loss
  std::map<std::string, Output> predictions;  // to predict
};

// `input` is a batch of the input function's dataset, or, to predict, what the serving input gives as features.
using ModelFunction =
    std::function<ModelSpec(const Scope& scope, const OutputList& input, const ModelContext& context)>;

// Each process that trains has a pipeline.
using InputFunction = std::function<Dataset(const Scope& scope, const InputContext& context)>;

// What an exported model is fed with, by name, and what the model function gets of it.
struct ServingInput {
  std::map<std::string, Output> receivers;
  OutputList features;
};
using ServingInputFunction = std::function<ServingInput(const Scope& scope)>;

}  // namespace weir
