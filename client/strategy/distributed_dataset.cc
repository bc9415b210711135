#include "client/strategy/distributed_dataset.h"

#include "client/ops.h"
#include "core/device/device_name.h"

namespace weir {
namespace {

// Rows for each of `count` replicas from `first` on, when `all` replicas share `rows`.
std::vector<int64_t> Shares(int64_t rows, int all, int first, int count) {
  std::vector<int64_t> sizes;
  for (int i = first; i < first + count; ++i) sizes.push_back(rows / all + (i < rows % all ? 1 : 0));
  return sizes;
}

int64_t SumOf(const std::vector<int64_t>& sizes) {
  int64_t sum = 0;
  for (const int64_t size : sizes) sum += size;
  return sum;
}

absl::Status CheckDataset(const Strategy& strategy, const DatasetOutput& dataset, const DistributeOptions& options) {
  if (!dataset.dataset.valid() || dataset.dataset.type() != DT_VARIANT ||
      dataset.types.size() != dataset.shapes.size() || dataset.types.empty()) {
    return errors::InvalidArgument("DistributeDataset needs a dataset, the types of its components and as many shapes");
  }
  if (options.global_batch_size == 0) return absl::OkStatus();
  if (options.global_batch_size < strategy.num_replicas_in_sync()) {
    return errors::InvalidArgument("A global batch of ", options.global_batch_size, " has no row for each of the ",
                                   strategy.num_replicas_in_sync(), " replicas of ", strategy.name());
  }
  for (const PartialTensorShape& shape : dataset.shapes) {
    if (shape.dims() == 0) {
      return errors::InvalidArgument(
          "A component of the dataset is a scalar, and cannot be cut into replicas' parts: "
          "batch the dataset");
    }
  }
  return absl::OkStatus();
}

PartialTensorShape WithAnyRows(const PartialTensorShape& shape) {
  if (shape.dims() < 1) return shape;
  std::vector<int64_t> dims(shape.dim_sizes().begin(), shape.dim_sizes().end());
  dims[0] = -1;
  return *PartialTensorShape::Build(dims);  // no more elements than before
}

Output Rebatch(const Scope& scope, const DatasetOutput& dataset, const std::vector<int64_t>& sizes) {
  return ops::RebatchDatasetV2(scope, dataset.dataset, Tensor::Vector<int64_t>(sizes), Tensor::Scalar<bool>(false),
                               dataset.types, dataset.shapes);
}

// Splits each global batch among the pipelines, keeps this one's part, and splits that among its replicas.
void KeepOwnRows(const Scope& scope, const std::vector<int64_t>& of_pipelines, int64_t pipeline,
                 const std::vector<int64_t>& of_replicas, DatasetOutput* dataset) {
  for (PartialTensorShape& shape : dataset->shapes) shape = WithAnyRows(shape);
  if (of_pipelines.size() > 1) {
    dataset->dataset = Rebatch(scope, *dataset, of_pipelines);
    dataset->dataset =
        ops::ShardDataset(scope, dataset->dataset, Tensor::Scalar<int64_t>(static_cast<int64_t>(of_pipelines.size())),
                          Tensor::Scalar<int64_t>(pipeline), dataset->types, dataset->shapes);
  }
  dataset->dataset = Rebatch(scope, *dataset, of_replicas);
}

}  // namespace

absl::StatusOr<std::vector<InputPipeline>> InputPipelinesOf(const Strategy& strategy) {
  std::vector<InputPipeline> pipelines;
  for (size_t i = 0; i < strategy.replica_devices().size(); ++i) {
    ASSIGN_OR_RETURN(DeviceName device, DeviceName::Parse(strategy.replica_devices()[i]));
    device.type = "CPU";
    device.id = 0;
    const std::string name = device.ToString();
    if (pipelines.empty() || pipelines.back().device != name) {
      pipelines.push_back({.device = name, .first_replica = strategy.first_replica() + static_cast<int>(i)});
    }
    ++pipelines.back().num_replicas;
  }
  for (InputPipeline& pipeline : pipelines) {
    // Every task has as many replicas as this one.
    pipeline.context = {.num_input_pipelines = strategy.num_replicas() / pipeline.num_replicas,
                        .input_pipeline_id = pipeline.first_replica / pipeline.num_replicas,
                        .num_replicas_in_sync = strategy.num_replicas_in_sync()};
  }
  return pipelines;
}

DistributedDataset DistributeDataset(const Strategy& strategy, const DatasetFunction& function,
                                     DistributeOptions options) {
  const Scope& scope = strategy.Scope();
  const auto pipelines = InputPipelinesOf(strategy);
  scope.UpdateStatus(pipelines.status());
  std::vector<OutputList> by_component;
  std::vector<Operation> initializers;
  const int replicas = strategy.num_replicas();
  for (size_t p = 0; scope.ok() && p < pipelines->size(); ++p) {
    const InputPipeline& pipeline = (*pipelines)[p];
    const int num_pipelines = pipeline.context.num_input_pipelines, id = pipeline.context.input_pipeline_id;
    const Scope there = scope.WithDevice(pipeline.device).SubScope("input");
    DatasetOutput dataset = function(there, pipeline.context);
    if (scope.ok()) scope.UpdateStatus(CheckDataset(strategy, dataset, options));
    if (!scope.ok()) break;
    if (options.global_batch_size > 0) {
      std::vector<int64_t> of_pipelines;
      for (int i = 0; i < num_pipelines; ++i) {
        of_pipelines.push_back(
            SumOf(Shares(options.global_batch_size, replicas, i * pipeline.num_replicas, pipeline.num_replicas)));
      }
      KeepOwnRows(there, of_pipelines, id,
                  Shares(options.global_batch_size, replicas, pipeline.first_replica, pipeline.num_replicas), &dataset);
    }
    const Output iterator = ops::IteratorV2(there, /*shared_name=*/"", /*container=*/"", dataset.types, dataset.shapes);
    initializers.push_back(ops::MakeIterator(there, dataset.dataset, iterator));
    by_component.resize(dataset.types.size());
    // In sequence, so that each replica always gets the same part.
    Scope in_turn = there;
    for (int i = 0; scope.ok() && i < pipeline.num_replicas; ++i) {
      const OutputList element = ops::IteratorGetNext(in_turn, iterator, dataset.types, dataset.shapes);
      if (!scope.ok()) break;
      in_turn = there.WithControlDependencies(std::vector<Operation>{element[0].op()});
      for (size_t k = 0; k < element.size(); ++k) by_component[k].push_back(element[k]);
    }
  }
  if (!scope.ok()) return {{}, {}};
  std::vector<PerReplica> next;
  for (OutputList& component : by_component) next.emplace_back(std::move(component));
  return {std::move(next), ops::NoOp(scope.WithControlDependencies(initializers).WithName("initialize_input"))};
}

}  // namespace weir
