// Input pipelines, like TensorFlow's tf.data.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/data/batch_schedule.h"
#include "client/data/dataset_options.h"
#include "client/data/iterator.h"
#include "client/function_builder.h"
#include "client/scope.h"
#include "core/api.h"
#include "core/tensor/tensor_shape.h"

namespace WEIR_API weir {

// A sequence of elements, each with the same number of tensors. A value type; copies refer to the same ops.
// - Methods add ops to the scope's graph on the scope's device, which reads the data and runs the functions.
// - A dataset and its iterators are on one device; elements can be used on any device.
// - As with ops, the first error is recorded in the scope.
//
//   Dataset digits = Dataset::TfRecord(on_worker, "train.tfrecord")
//                        .ParallelMap([](const Scope& s, const OutputList& record) { return Parse(s, record[0]); })
//                        .Shuffle(10'000, {.seed = 1})
//                        .Repeat()
//                        .Batch(64, {.drop_remainder = true})
//                        .Prefetch();
//   DataIterator input = digits.MakeIterator();
//   OutputList batch = input.GetNext(on_worker);
class Dataset {
 public:
  Dataset() = default;

  // --- Sources. The dataset's task reads the files; lists of files are read in order. ---

  // start, start + step, … up to stop (exclusive); int64.
  static Dataset Range(const Scope& scope, int64_t start, int64_t stop, int64_t step = 1);
  static Dataset Range(const Scope& scope, int64_t stop) { return Range(scope, 0, stop); }
  // A single element.
  static Dataset FromTensors(const Scope& scope, const InputList& tensors);
  // One element per index of the first dimension of the tensors.
  static Dataset FromTensorSlices(const Scope& scope, const InputList& tensors);
  // The names of matching files; if there is none, iterating returns NOT_FOUND.
  static Dataset Files(const Scope& scope, const Input& patterns);
  // Strings.
  static Dataset TfRecord(const Scope& scope, const Input& files, const FileOptions& options = {});
  static Dataset TextLines(const Scope& scope, const Input& files, const FileOptions& options = {});
  static Dataset FixedLengthRecords(const Scope& scope, const Input& files, const FixedLengthOptions& options);
  // One tensor per column: `defaults` has their types and the values of empty fields. A default without elements makes
  // the field required.
  static Dataset Csv(const Scope& scope, const Input& files, const std::vector<Tensor>& defaults,
                     const CsvOptions& options = {});
  // The slices along the first dimension of an IDX file, the format of MNIST. This process reads the header, so it
  // needs access to the file too.
  static Dataset Idx(const Scope& scope, const std::string& file, const FileOptions& options = {});
  // The tensors of all datasets, side by side; as long as the shortest.
  static Dataset Zip(const std::vector<Dataset>& datasets);
  // Wraps the output of a tf.data op that has no method here.
  static Dataset FromVariant(const Scope& scope, const Output& variant, TensorSpecs element);

  // --- Functions of elements. A function is called once, to build its ops; values of the surrounding graph that it
  // uses are captured. ---

  using DatasetFunction = std::function<Dataset(const Scope& scope, const OutputList& element)>;
  using Predicate = std::function<Output(const Scope& scope, const OutputList& element)>;

  Dataset Map(const FunctionBuilder& function) const;
  Dataset ParallelMap(const FunctionBuilder& function, const ParallelOptions& options = {}) const;
  // The elements for which the predicate, a bool scalar, is true.
  Dataset Filter(const Predicate& predicate) const;
  // The elements of the datasets that the function returns for each element, one dataset after the other.
  Dataset FlatMap(const DatasetFunction& function) const;
  // The same, interleaving several datasets.
  Dataset Interleave(const DatasetFunction& function, const InterleaveOptions& options = {}) const;

  // --- Batching ---

  Dataset Batch(int64_t size, const BatchOptions& options = {}) const;
  // Batches whose size changes during training.
  Dataset Batch(const BatchSchedule& schedule) const;
  // Pads each tensor to the largest in its batch, or to options.shapes.
  Dataset PaddedBatch(int64_t size, const PaddedBatchOptions& options = {}) const;
  Dataset Unbatch() const;

  // --- Order and length ---

  // With seeds 0 and 0 the order differs between processes.
  Dataset Shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;
  Dataset Repeat(int64_t count = -1) const;  // -1: indefinitely
  Dataset Take(int64_t count) const;
  Dataset Skip(int64_t count) const;
  Dataset Shard(int64_t num_shards, int64_t index) const;
  Dataset Concatenate(const Dataset& after) const;

  // --- Performance ---

  // Keeps the elements of the first pass in memory, or in files with the prefix `path`.
  Dataset Cache(const std::string& path = "") const;
  Dataset Prefetch(int64_t buffer_size = kAutotune) const;

  // --- Iteration ---

  // Must be initialised before its first element, by its initializer or by a TrainingLoop that has its Position.
  DataIterator MakeIterator(const std::string& name = "iterator") const;
  // Starts automatically with the first element. The dataset must not depend on fed tensors.
  DataIterator MakeOneShotIterator(const std::string& name = "iterator") const;

  const DataTypeVector& types() const { return element_.types; }
  const std::vector<PartialTensorShape>& shapes() const { return element_.shapes; }
  const TensorSpecs& element() const { return element_; }
  // The dataset as an op input; invalid if it could not be built.
  const Output& variant() const { return variant_; }
  bool valid() const { return variant_.valid(); }
  const Scope& scope() const { return *scope_; }

 private:
  Dataset(const Scope& scope, Output variant, TensorSpecs element);
  Dataset With(const Output& variant) const { return Dataset(*scope_, variant, element_); }
  Dataset With(const Output& variant, TensorSpecs element) const {
    return Dataset(*scope_, variant, std::move(element));
  }
  // Builds a function of this dataset's elements; its name is empty if it could not be built.
  BuiltFunction Function(const std::string& name, const FunctionBuilder& build) const;
  BuiltFunction InnerDatasets(const std::string& name, const DatasetFunction& build) const;
  bool usable() const { return scope_.has_value() && scope_->ok(); }

  std::optional<Scope> scope_;
  Output variant_;
  TensorSpecs element_;
};

}  // namespace weir
