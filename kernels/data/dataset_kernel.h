// Base classes of the kernels that make datasets.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/api.h"
#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "kernels/data/captured_function.h"
#include "kernels/data/dataset.h"

namespace WEIR_API weir {

// The attributes of a node that calls functions, and where each argument of its op lies among its inputs. Read once.
class NodeArguments {
 public:
  absl::Status Init(OpKernelConstruction& ctx);

  // [first, limit) among the inputs; empty for an argument that the op does not have.
  std::pair<int, int> Range(absl::string_view argument) const;
  bool Has(absl::string_view argument) const;
  // The function attribute `attr`; null when there is none.
  std::shared_ptr<const FunctionTemplate> Function(absl::string_view attr) const;
  const DataTypeVector& output_types() const { return output_types_; }
  const std::vector<PartialTensorShape>& output_shapes() const { return output_shapes_; }
  const std::shared_ptr<const tensorflow::NodeDef>& node() const { return node_; }
  const std::shared_ptr<FunctionRuntime>& library() const { return library_; }

 private:
  struct Argument {
    std::string name;
    int first = 0, limit = 0;
  };
  std::vector<Argument> arguments_;
  std::vector<std::pair<std::string, std::shared_ptr<const FunctionTemplate>>> functions_;
  DataTypeVector output_types_;
  std::vector<PartialTensorShape> output_shapes_;
  std::shared_ptr<const tensorflow::NodeDef> node_;
  std::shared_ptr<FunctionRuntime> library_;
};

// The inputs of one run of a node, by the names of its op's arguments. Every access checks.
class NodeInputs {
 public:
  NodeInputs(OpKernelContext& ctx, const NodeArguments& node) : ctx_(ctx), node_(node) {}

  OpKernelContext& ctx() const { return ctx_; }
  const NodeArguments& node() const { return node_; }
  bool Has(absl::string_view name) const { return node_.Has(name); }
  Tensor Get(absl::string_view name) const;
  Element List(absl::string_view name) const;
  absl::StatusOr<DatasetPtr> Dataset(absl::string_view name) const;
  absl::StatusOr<std::vector<DatasetPtr>> Datasets(absl::string_view name) const;
  // InvalidArgument unless the input is a scalar.
  absl::StatusOr<int64_t> Int(absl::string_view name) const;
  absl::StatusOr<bool> Bool(absl::string_view name) const;
  absl::StatusOr<std::string> String(absl::string_view name) const;
  // InvalidArgument unless it is a scalar or a vector.
  absl::StatusOr<std::vector<std::string>> Strings(absl::string_view name) const;
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view name) const;
  // The function attribute `attr` with the tensors of input `captured`.
  CapturedFunction Function(absl::string_view attr, absl::string_view captured) const;
  // Iterators and functions that this run uses for itself.
  IteratorContext NewIteratorContext() const;

 private:
  absl::StatusOr<Tensor> Scalar(absl::string_view name, DataType dtype) const;

  OpKernelContext& ctx_;
  const NodeArguments& node_;
};

// Makes one dataset a run.
class DatasetKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) final;
  absl::Status Compute(OpKernelContext& ctx) final;
  bool IsExpensive() const override { return false; }

 protected:
  // Reads attributes other than output_types, output_shapes and functions.
  virtual absl::Status InitDataset(OpKernelConstruction& ctx) { return absl::OkStatus(); }
  virtual absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) = 0;

 private:
  NodeArguments node_;
};

// Runs Work, which may wait for iterators, on a thread that may block.
class DatasetConsumerKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) final;
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final;

 protected:
  virtual absl::Status InitConsumer(OpKernelConstruction& ctx) { return absl::OkStatus(); }
  virtual absl::Status Work(const NodeInputs& inputs) = 0;

 private:
  NodeArguments node_;
};

// Sets outputs from `first` on to an element's tensors; InvalidArgument where number or types do not agree.
absl::Status SetElementOutputs(OpKernelContext& ctx, Element element, int first = 0);

// The attribute "deterministic" ("true", "false", "default") or the older "sloppy": whether order must be kept.
absl::Status ReadDeterminism(OpKernelConstruction& ctx, bool* deterministic);

}  // namespace weir
