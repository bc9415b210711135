// ComputeBatchSize: how large the batches of a dataset are, as far as that shows in how it was made.
#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

constexpr int64_t kUnknownSize = -1;

// The op without its version.
absl::string_view BaseOp(const DatasetBase& dataset) {
  if (dataset.origin().node == nullptr) return "";
  const absl::string_view op = dataset.origin().node->op();
  const size_t end = op.rfind("Dataset");
  return end == absl::string_view::npos ? op : op.substr(0, end);
}

// Input `index` (negative: from the end) of the node that made it.
int64_t SizeInput(const DatasetBase& dataset, int64_t index) {
  const std::vector<Tensor>& inputs = dataset.origin().inputs;
  const int64_t count = static_cast<int64_t>(inputs.size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) return kUnknownSize;
  const Tensor& size = inputs[index];
  return size.dtype() == DT_INT64 && size.NumElements() == 1 ? size.flat<int64_t>()[0] : kUnknownSize;
}

// Remembers datasets, for one may be reached in many ways.
class BatchSizes {
 public:
  int64_t Of(const DatasetBase& dataset) {
    const auto [known, is_new] = known_.try_emplace(&dataset, kUnknownSize);
    if (!is_new) return known->second;
    const int64_t size = Find(dataset);
    known_[&dataset] = size;
    return size;
  }

 private:
  int64_t Find(const DatasetBase& dataset);

  absl::flat_hash_map<const DatasetBase*, int64_t> known_;
};

int64_t BatchSizes::Find(const DatasetBase& dataset) {
  static constexpr std::array<absl::string_view, 16> kPassing = {
      "AssertCardinality", "Cache",   "Filter", "Model", "Optimize", "ParseExample", "Prefetch", "Repeat", "Shard",
      "ShuffleAndRepeat",  "Shuffle", "Skip",   "Take",  "Options",  "Finalize",     "Rewrite"};
  const absl::string_view op = BaseOp(dataset);
  if (op == "Batch" || op == "PaddedBatch") return SizeInput(dataset, 1);
  if (op == "MapAndBatch" || op == "ExperimentalMapAndBatch") return SizeInput(dataset, -3);
  const std::vector<DatasetPtr>& inputs = dataset.inputs();
  if (inputs.empty()) return kUnknownSize;
  if (op == "Zip" || op == "Concatenate") {
    const int64_t first = Of(*inputs[0]);
    const bool agree = std::all_of(inputs.begin(), inputs.end(),
                                   [this, first](const DatasetPtr& input) { return Of(*input) == first; });
    return agree ? first : kUnknownSize;
  }
  const bool passes = std::find(kPassing.begin(), kPassing.end(), op) != kPassing.end();
  return passes ? Of(*inputs[0]) : kUnknownSize;
}

class BatchSizeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetFromTensor(ctx.locked_input(0)));
    ctx.set_output(0, Tensor::Scalar<int64_t>(BatchSizes().Of(*dataset)));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterBatchSizeKernels(KernelRegistry& kernels) {
  return kernels.Register<BatchSizeKernel>(Kernel("ComputeBatchSize").Cpu());
}

}  // namespace weir
