// Datasets that apply functions to elements.
#include "client/data/dataset.h"
#include "client/ops.h"

namespace weir {
namespace {

const char* Deterministic(bool deterministic) { return deterministic ? "true" : "false"; }

}  // namespace

BuiltFunction Dataset::Function(const std::string& name, const FunctionBuilder& build) const {
  absl::StatusOr<BuiltFunction> built = BuildFunction(*scope_, name, element_, build);
  if (built.ok() && built->results.types.empty()) {
    built = errors::InvalidArgument("The function of ", name, " returns nothing: an element is at least one tensor");
  }
  if (built.ok()) return *std::move(built);
  scope_->UpdateStatus(built.status());
  return {};
}

BuiltFunction Dataset::InnerDatasets(const std::string& name, const DatasetFunction& build) const {
  TensorSpecs inner;
  BuiltFunction built = Function(name, [&](const Scope& scope, const OutputList& element) {
    const Dataset dataset = build(scope, element);
    inner = dataset.element();
    return OutputList{dataset.variant()};
  });
  built.results = std::move(inner);
  return built;
}

Dataset Dataset::Map(const FunctionBuilder& function) const {
  if (!usable()) return *this;
  BuiltFunction built = Function("map", function);
  if (!usable()) return With(Output());
  const Output variant =
      ops::MapDataset(*scope_, variant_, built.captured, built.function, built.results.types, built.results.shapes);
  return With(variant, std::move(built.results));
}

Dataset Dataset::ParallelMap(const FunctionBuilder& function, const ParallelOptions& options) const {
  if (!usable()) return *this;
  BuiltFunction built = Function("map", function);
  if (!usable()) return With(Output());
  const Output variant = ops::ParallelMapDatasetV2(*scope_, variant_, built.captured, options.num_parallel_calls,
                                                   built.function, built.results.types, built.results.shapes,
                                                   {.deterministic = Deterministic(options.deterministic)});
  return With(variant, std::move(built.results));
}

Dataset Dataset::Filter(const Predicate& predicate) const {
  if (!usable()) return *this;
  const BuiltFunction built = Function(
      "filter", [&](const Scope& scope, const OutputList& element) { return OutputList{predicate(scope, element)}; });
  if (usable() && built.results.types[0] != DT_BOOL) {
    scope_->UpdateStatus(
        errors::InvalidArgument("A filter's function returns a bool, not ", DataTypeName(built.results.types[0])));
  }
  if (!usable()) return With(Output());
  return With(ops::FilterDataset(*scope_, variant_, built.captured, built.function, element_.types, element_.shapes));
}

Dataset Dataset::FlatMap(const DatasetFunction& function) const {
  if (!usable()) return *this;
  BuiltFunction built = InnerDatasets("flat_map", function);
  if (!usable()) return With(Output());
  const Output variant =
      ops::FlatMapDataset(*scope_, variant_, built.captured, built.function, built.results.types, built.results.shapes);
  return With(variant, std::move(built.results));
}

Dataset Dataset::Interleave(const DatasetFunction& function, const InterleaveOptions& options) const {
  if (!usable()) return *this;
  BuiltFunction built = InnerDatasets("interleave", function);
  if (!usable()) return With(Output());
  const TensorSpecs& specs = built.results;
  const Output variant = options.num_parallel_calls == 0
                             ? ops::InterleaveDataset(*scope_, variant_, built.captured, options.cycle_length,
                                                      options.block_length, built.function, specs.types, specs.shapes)
                             : ops::ParallelInterleaveDatasetV4(
                                   *scope_, variant_, built.captured, options.cycle_length, options.block_length,
                                   kAutotune, kAutotune, options.num_parallel_calls, built.function, specs.types,
                                   specs.shapes, {.deterministic = Deterministic(options.deterministic)});
  return With(variant, std::move(built.results));
}

}  // namespace weir
