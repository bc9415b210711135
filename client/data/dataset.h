// Input pipelines, as TensorFlow's tf.data has them.
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
#include "core/tensor_shape.h"

namespace weir {

// A sequence of elements, each of which is the same number of tensors. A value: copies name the same ops, which the
// calls below add to the scope's graph, on the scope's device, where the data is read and the functions run. A dataset
// and its iterators stand on one device; the elements can go anywhere.
//
// As with ops, the first error is kept by the scope.
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

  // --- Sources. Files are read by the task that holds the dataset; a list of files is read one after the other. ---

  // start, start + step, … before stop; int64.
  static Dataset Range(const Scope& scope, int64_t start, int64_t stop, int64_t step = 1);
  static Dataset Range(const Scope& scope, int64_t stop) { return Range(scope, 0, stop); }
  // One element.
  static Dataset FromTensors(const Scope& scope, const InputList& tensors);
  // As many as the first dimension of each tensor has.
  static Dataset FromTensorSlices(const Scope& scope, const InputList& tensors);
  // The names of the files that match; no such file is NOT_FOUND when it is iterated over.
  static Dataset Files(const Scope& scope, const Input& patterns);
  // Strings.
  static Dataset TfRecord(const Scope& scope, const Input& files, const FileOptions& options = {});
  static Dataset TextLines(const Scope& scope, const Input& files, const FileOptions& options = {});
  static Dataset FixedLengthRecords(const Scope& scope, const Input& files, const FixedLengthOptions& options);
  // A tensor each column: `defaults` gives their types, and their values where a field is empty. A default without
  // elements: the field must be there.
  static Dataset Csv(const Scope& scope, const Input& files, const std::vector<Tensor>& defaults,
                     const CsvOptions& options = {});
  // The slices of the first dimension of an IDX file, as MNIST is kept in. This process reads the file's head, so it
  // must see the file too.
  static Dataset Idx(const Scope& scope, const std::string& file, const FileOptions& options = {});
  // The tensors of each dataset, side by side; as long as the shortest.
  static Dataset Zip(const std::vector<Dataset>& datasets);
  // What the ops of tf.data that have no method here make of datasets.
  static Dataset FromVariant(const Scope& scope, const Output& variant, TensorSpecs element);

  // --- Elements through functions. A function is called once, to build its ops; what it uses of the graph around is
  //     captured. ---

  using DatasetFunction = std::function<Dataset(const Scope& scope, const OutputList& element)>;
  using Predicate = std::function<Output(const Scope& scope, const OutputList& element)>;

  Dataset Map(const FunctionBuilder& function) const;
  Dataset ParallelMap(const FunctionBuilder& function, const ParallelOptions& options = {}) const;
  // Elements for which it is true, a bool scalar.
  Dataset Filter(const Predicate& predicate) const;
  // The elements of the dataset that the function makes of each element, one dataset after the other.
  Dataset FlatMap(const DatasetFunction& function) const;
  // Of several such datasets in turn.
  Dataset Interleave(const DatasetFunction& function, const InterleaveOptions& options = {}) const;

  // --- Elements together ---

  Dataset Batch(int64_t size, const BatchOptions& options = {}) const;
  // Batches that grow, or shrink, as training goes on.
  Dataset Batch(const BatchSchedule& schedule) const;
  // Pads each tensor to the largest of its batch, or to options.shapes.
  Dataset PaddedBatch(int64_t size, const PaddedBatchOptions& options = {}) const;
  Dataset Unbatch() const;

  // --- Order and number ---

  // With seeds 0 and 0 another order in each process.
  Dataset Shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;
  Dataset Repeat(int64_t count = -1) const;  // -1: without end
  Dataset Take(int64_t count) const;
  Dataset Skip(int64_t count) const;
  Dataset Shard(int64_t num_shards, int64_t index) const;
  Dataset Concatenate(const Dataset& after) const;

  // --- Speed ---

  // Keeps the elements of the first pass in memory, or in files that begin with `path`.
  Dataset Cache(const std::string& path = "") const;
  Dataset Prefetch(int64_t buffer_size = kAutotune) const;

  // --- Use ---

  // To be initialised before its first element, by its initializer or by a TrainingLoop that has its Position.
  DataIterator MakeIterator(const std::string& name = "iterator") const;
  // Begins by itself with the first element that is taken. The dataset depends on nothing that a step would feed.
  DataIterator MakeOneShotIterator(const std::string& name = "iterator") const;

  const DataTypeVector& types() const { return element_.types; }
  const std::vector<PartialTensorShape>& shapes() const { return element_.shapes; }
  const TensorSpecs& element() const { return element_; }
  // The dataset itself, as ops take it; invalid where it could not be built.
  const Output& variant() const { return variant_; }
  bool valid() const { return variant_.valid(); }
  const Scope& scope() const { return *scope_; }

 private:
  Dataset(const Scope& scope, Output variant, TensorSpecs element);
  Dataset With(const Output& variant) const { return Dataset(*scope_, variant, element_); }
  Dataset With(const Output& variant, TensorSpecs element) const {
    return Dataset(*scope_, variant, std::move(element));
  }
  // A function of this dataset's elements; without name where it could not be built.
  BuiltFunction Function(const std::string& name, const FunctionBuilder& build) const;
  BuiltFunction InnerDatasets(const std::string& name, const DatasetFunction& build) const;
  bool usable() const { return scope_.has_value() && scope_->ok(); }

  std::optional<Scope> scope_;
  Output variant_;
  TensorSpecs element_;
};

}  // namespace weir
