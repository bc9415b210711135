// Input pipelines: datasets, which describe sequences of elements, and iterators, which go through them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/api.h"
#include "core/device/device.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"
#include "core/threads/cancellation.h"
#include "kernels/data/iterators/iterator_state.h"

namespace tensorflow {
class NodeDef;
}

namespace WEIR_API weir {

class DatasetBase;
class FunctionPool;
class FunctionRuntime;
class IteratorBase;

// The tensors of one element, in the order of its flattened structure.
using Element = std::vector<Tensor>;
using DatasetPtr = std::shared_ptr<const DatasetBase>;
using IteratorPtr = std::unique_ptr<IteratorBase>;

inline constexpr int64_t kInfiniteCardinality = -1;
inline constexpr int64_t kUnknownCardinality = -2;

// Datasets read from datasets on one stack: building a chain deeper than this fails.
inline constexpr int kMaxDatasetDepth = 1000;

// What all iterators below one root share: the functions that they call, and what ends their work in the background.
// Thread-safe. Held by background work, so that it outlives it.
class IteratorRoot {
 public:
  IteratorRoot(Device* device, std::string session_handle);
  ~IteratorRoot();

  Device* device() const { return device_; }
  const std::string& session_handle() const { return session_handle_; }
  FunctionPool& functions() { return *functions_; }
  // Started when the root's iterator is given up.
  CancellationManager& cancellation() { return cancellation_; }

 private:
  Device* const device_;
  const std::string session_handle_;
  const std::unique_ptr<FunctionPool> functions_;
  CancellationManager cancellation_;
};

// For whom, and for how long, an iterator is asked. A value; the pointer lives as long as the call.
struct IteratorContext {
  std::shared_ptr<IteratorRoot> root;
  CancellationManager* cancellation = nullptr;
  int call_depth = 0;           // of function calls around this one
  bool global_shuffle = false;  // elements are read by index, of more kinds of datasets than GetElementAtIndex serves

  Device* device() const { return root->device(); }
  WorkQueue* work_queue() const { return root->device()->work_queue(); }
  Allocator* allocator() const { return root->device()->allocator(); }
  absl::Status CheckCancelled() const;
  // The same root, for work that goes on after the call.
  IteratorContext Background() const;
};

// One pass over a dataset. Not thread-safe: its holder lets one thread at a time call. Calls may
// block, so they come from threads that may. The destructor waits for the iterator's work in the background, which the
// cancellation of the root or of the iterator ends.
class IteratorBase {
 public:
  virtual ~IteratorBase() = default;
  // Called once, before anything else.
  virtual absl::Status Initialize(IteratorContext& ctx) { return absl::OkStatus(); }
  // False at the end of the sequence, and ever after. An error need not be the end.
  absl::StatusOr<bool> GetNext(IteratorContext& ctx, Element* element);
  // The position, such that an iterator of the same dataset that was just initialised goes on from there.
  absl::Status Save(IteratorContext& ctx, StateWriter writer);
  absl::Status Restore(IteratorContext& ctx, const StateReader& reader);

 protected:
  virtual absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) = 0;
  virtual absl::Status SaveState(IteratorContext& ctx, StateWriter writer) = 0;
  virtual absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) = 0;

 private:
  bool at_end_ = false;
};

// How a dataset was made: what DatasetToGraph writes.
struct DatasetOrigin {
  std::shared_ptr<const tensorflow::NodeDef> node;
  std::shared_ptr<FunctionRuntime> functions;  // the library that the node's functions are in; null: it has none
  std::vector<Tensor> inputs;
};

// A description of a sequence of elements. Immutable, shared, thread-safe.
class DatasetBase : public std::enable_shared_from_this<DatasetBase> {
 public:
  struct Spec {
    std::string type;  // "Range": part of what messages call it
    DataTypeVector output_types;
    std::vector<PartialTensorShape> output_shapes;
    std::vector<DatasetPtr> inputs;
  };
  explicit DatasetBase(Spec spec);
  virtual ~DatasetBase();
  DatasetBase(const DatasetBase&) = delete;

  const std::string& type() const { return spec_.type; }
  const DataTypeVector& output_types() const { return spec_.output_types; }
  const std::vector<PartialTensorShape>& output_shapes() const { return spec_.output_shapes; }
  const std::vector<DatasetPtr>& inputs() const { return spec_.inputs; }
  // Of datasets and other variants that are nested in this one, itself included.
  int depth() const { return depth_; }
  std::string DebugString() const { return spec_.type + "DatasetOp::Dataset"; }

  // Created and initialised.
  absl::StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const;
  // The number of elements where it is known without calling functions, kInfiniteCardinality or kUnknownCardinality.
  int64_t Cardinality() const { return CountElements(nullptr); }
  // The same. With `ctx`, functions that make datasets are called in it, so that their elements can be counted.
  virtual int64_t CountElements(IteratorContext* ctx) const { return kUnknownCardinality; }
  // Element `index`. Unimplemented without HasRandomAccess, FailedPrecondition where the size is not known, OutOfRange
  // beyond the end.
  absl::Status Get(IteratorContext& ctx, int64_t index, Element* element) const;
  virtual bool HasRandomAccess() const { return false; }
  // OK where a global shuffle may read this dataset by index, through all inputs.
  virtual absl::Status CheckGlobalShuffle() const;

  const DatasetOrigin& origin() const { return origin_; }
  // Only before the dataset is shared.
  void set_origin(DatasetOrigin origin);

 protected:
  virtual IteratorPtr NewIterator() const = 0;
  // `index` is within the cardinality.
  virtual absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const;
  // FailedPrecondition or OutOfRange unless there is an element `index`. A global shuffle may read infinite datasets.
  virtual absl::Status CheckIndex(const IteratorContext& ctx, int64_t index) const;
  // What CheckGlobalShuffle gives for a dataset that can be shuffled whenever its inputs can.
  absl::Status CheckInputsGlobalShuffle() const;

 private:
  const Spec spec_;
  int depth_ = 1;
  DatasetOrigin origin_;
};

// A dataset made from one other, of the same types and shapes unless given others.
class UnaryDataset : public DatasetBase {
 public:
  UnaryDataset(std::string type, const DatasetPtr& input)
      : DatasetBase({std::move(type), input->output_types(), input->output_shapes(), {input}}) {}
  UnaryDataset(std::string type, const DatasetPtr& input, DataTypeVector types, std::vector<PartialTensorShape> shapes)
      : DatasetBase({std::move(type), std::move(types), std::move(shapes), {input}}) {}
  const DatasetPtr& input() const { return inputs()[0]; }
};

// One whose element i is its input's element i.
class SameElementsDataset : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  int64_t CountElements(IteratorContext* ctx) const override { return input()->CountElements(ctx); }
  bool HasRandomAccess() const override { return true; }
  absl::Status CheckGlobalShuffle() const override { return CheckInputsGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    return input()->Get(ctx, index, element);
  }
};

// An iterator that keeps its dataset alive.
template <typename D>
class DatasetIterator : public IteratorBase {
 public:
  explicit DatasetIterator(std::shared_ptr<const D> dataset) : dataset_(std::move(dataset)) {}

 protected:
  const D& dataset() const { return *dataset_; }

 private:
  const std::shared_ptr<const D> dataset_;
};

// One that draws from one input.
template <typename D>
class UnaryIterator : public DatasetIterator<D> {
 public:
  using DatasetIterator<D>::DatasetIterator;
  absl::Status Initialize(IteratorContext& ctx) override {
    ASSIGN_OR_RETURN(input_, this->dataset().input()->MakeIterator(ctx));
    return absl::OkStatus();
  }

 protected:
  absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
    return input_->Save(ctx, writer.Scope("input"));
  }
  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    return input_->Restore(ctx, reader.Scope("input"));
  }

  IteratorPtr input_;
};

// One that draws from all inputs.
template <typename D>
class NaryIterator : public DatasetIterator<D> {
 public:
  using DatasetIterator<D>::DatasetIterator;
  absl::Status Initialize(IteratorContext& ctx) override {
    for (const DatasetPtr& input : this->dataset().inputs()) {
      ASSIGN_OR_RETURN(inputs_.emplace_back(), input->MakeIterator(ctx));
    }
    return absl::OkStatus();
  }

 protected:
  absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
    for (size_t i = 0; i < inputs_.size(); ++i) RETURN_IF_ERROR(inputs_[i]->Save(ctx, writer.Scope("input", i)));
    return absl::OkStatus();
  }
  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    for (size_t i = 0; i < inputs_.size(); ++i) RETURN_IF_ERROR(inputs_[i]->Restore(ctx, reader.Scope("input", i)));
    return absl::OkStatus();
  }

  std::vector<IteratorPtr> inputs_;
};

// An iterator of type I over `dataset`, a D.
template <typename I, typename D>
IteratorPtr NewIteratorOf(const D* dataset) {
  return std::make_unique<I>(std::static_pointer_cast<const D>(dataset->shared_from_this()));
}

// An iterator that may be absent, under `name`: whether it is there, and its state.
absl::Status SaveOptional(IteratorContext& ctx, StateWriter writer, absl::string_view name, IteratorBase* iterator);
absl::Status RestoreOptional(IteratorContext& ctx, const StateReader& reader, absl::string_view name,
                             const DatasetBase& dataset, IteratorPtr* iterator);

// InvalidArgument unless the element has tensors of these types.
absl::Status CheckElement(const Element& element, const DataTypeVector& types);
// InvalidArgument, in TensorFlow's words, where types or shapes of `actual` cannot pass for `expected`.
absl::Status CheckTypesMatch(const DataTypeVector& expected, const DataTypeVector& actual);
absl::Status CheckShapesCompatible(const std::vector<PartialTensorShape>& expected,
                                   const std::vector<PartialTensorShape>& actual);

// The value that variants of datasets hold.
class DatasetVariant final : public VariantValue {
 public:
  explicit DatasetVariant(DatasetPtr dataset) : dataset_(std::move(dataset)) {}
  const DatasetPtr& dataset() const { return dataset_; }
  std::string TypeName() const override { return "tensorflow::DatasetVariantWrapper"; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<DatasetVariant>(dataset_); }
  std::string DebugString() const override { return dataset_->DebugString(); }
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;

 private:
  const DatasetPtr dataset_;
};

Tensor DatasetTensor(DatasetPtr dataset);
// InvalidArgument unless `tensor` is a variant scalar that holds a dataset.
absl::StatusOr<DatasetPtr> DatasetFromTensor(const Tensor& tensor);

}  // namespace weir
