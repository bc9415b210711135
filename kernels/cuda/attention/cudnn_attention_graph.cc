#include "kernels/cuda/attention/cudnn_attention_graph.h"

#include <array>
#include <vector>

#include "kernels/cuda/cudnn/cudnn_graph_parts.h"

namespace weir {
namespace {

using Sizes = std::array<int64_t, 4>;

Sizes Dense(const Sizes& sizes) { return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1}; }

// The operations that cuDNN knows as attention: a product, a scale, perhaps a mask, a softmax in its parts, a product.
// Its engines of Ampere and later take them as one only where the statistics of rows are asked for, as by a training
// step: without, others are proposed, for a depth of 64 alone.
class GraphMaker {
 public:
  GraphMaker(const CudnnTarget& target, const AttentionProblem& problem)
      : target_(target),
        cudnn_(target.cudnn()),
        p_(problem),
        type_(CudnnTypeOf(problem.dtype)),
        scores_({p_.batch, p_.heads, p_.queries, p_.keys}),
        rows_({p_.batch, p_.heads, p_.queries, 1}) {}

  absl::StatusOr<CudnnDescriptor> Make() {
    ASSIGN_OR_RETURN(const CudnnDescriptor q, Argument(kCudnnQueries, {p_.batch, p_.heads, p_.queries, p_.depth},
                                                       {p_.q[0], p_.q[1], p_.depth, 1}));
    ASSIGN_OR_RETURN(const CudnnDescriptor k,
                     Argument(kCudnnKeys, {p_.batch, p_.heads, p_.depth, p_.keys}, {p_.k[0], p_.k[1], 1, p_.depth}));
    ASSIGN_OR_RETURN(CudnnDescriptor scores, Inner(scores_));
    RETURN_IF_ERROR(AddProduct(q, k, scores));
    ASSIGN_OR_RETURN(const CudnnDescriptor scale, NewTensor(CUDNN_DATA_FLOAT, kCudnnScale, {1, 1, 1, 1}, {1, 1, 1, 1},
                                                            CUDNN_ATTR_TENSOR_IS_BY_VALUE));
    ASSIGN_OR_RETURN(scores, Added(CUDNN_POINTWISE_MUL, scores, &scale, scores_));
    if (p_.has_mask) {
      const Sizes sizes = {p_.MaskSize(0), p_.MaskSize(1), p_.MaskSize(2), p_.keys};
      ASSIGN_OR_RETURN(const CudnnDescriptor mask, Argument(kCudnnMask, sizes, Dense(sizes)));
      ASSIGN_OR_RETURN(scores, Added(CUDNN_POINTWISE_ADD, scores, &mask, scores_));
    }
    ASSIGN_OR_RETURN(const CudnnDescriptor weights, Softmax(scores));
    ASSIGN_OR_RETURN(const CudnnDescriptor v, Argument(kCudnnValues, {p_.batch, p_.heads, p_.keys, p_.columns},
                                                       {p_.v[0], p_.v[1], p_.columns, 1}));
    const Sizes mixed = {p_.batch, p_.heads, p_.queries, p_.columns};
    ASSIGN_OR_RETURN(const CudnnDescriptor out, Argument(kCudnnMixed, mixed, Dense(mixed)));
    RETURN_IF_ERROR(AddProduct(weights, v, out));
    return NewCudnnGraph(target_, operations_);
  }

 private:
  absl::StatusOr<CudnnDescriptor> Softmax(const CudnnDescriptor& scores) {
    ASSIGN_OR_RETURN(const CudnnDescriptor largest, Reduced(CUDNN_REDUCE_TENSOR_MAX, scores));
    ASSIGN_OR_RETURN(const CudnnDescriptor shifted, Added(CUDNN_POINTWISE_SUB, scores, &largest, scores_));
    ASSIGN_OR_RETURN(const CudnnDescriptor powers, Added(CUDNN_POINTWISE_EXP, shifted, nullptr, scores_));
    ASSIGN_OR_RETURN(const CudnnDescriptor sum, Reduced(CUDNN_REDUCE_TENSOR_ADD, powers));
    ASSIGN_OR_RETURN(const CudnnDescriptor log, Added(CUDNN_POINTWISE_LOG, sum, nullptr, rows_));
    ASSIGN_OR_RETURN(const CudnnDescriptor statistics,
                     NewTensor(CUDNN_DATA_FLOAT, kCudnnStatistics, rows_, Dense(rows_)));
    RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_ADD, largest, &log, statistics));
    ASSIGN_OR_RETURN(CudnnDescriptor weights, Inner(scores_, type_));
    RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_DIV, powers, &sum, weights));
    return weights;
  }

  absl::StatusOr<CudnnDescriptor> NewTensor(cudnnDataType_t type, int64_t name, const Sizes& sizes, const Sizes& steps,
                                            std::optional<cudnnBackendAttributeName_t> kind = std::nullopt) const {
    return NewCudnnTensor(cudnn_, type, name, sizes, steps, kind);
  }
  absl::StatusOr<CudnnDescriptor> Argument(int64_t name, const Sizes& sizes, const Sizes& steps) const {
    return NewTensor(type_, name, sizes, steps);
  }
  // What no memory ever holds.
  absl::StatusOr<CudnnDescriptor> Inner(const Sizes& sizes, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return NewTensor(type, next_++, sizes, Dense(sizes), CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  }

  absl::Status AddProduct(const CudnnDescriptor& a, const CudnnDescriptor& b, const CudnnDescriptor& c) {
    ASSIGN_OR_RETURN(CudnnDescriptor how, CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
    RETURN_IF_ERROR(how.Set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    RETURN_IF_ERROR(how.Finalize("a product"));
    ASSIGN_OR_RETURN(CudnnDescriptor operation,
                     CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, how));
    return Add(std::move(operation));
  }
  // `b` is null for operations of one operand.
  absl::Status AddPointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& a, const CudnnDescriptor* b,
                            const CudnnDescriptor& result) {
    ASSIGN_OR_RETURN(CudnnDescriptor operation, NewCudnnPointwise(cudnn_, mode, a, b, result));
    operations_.push_back(std::move(operation));
    return absl::OkStatus();
  }
  absl::StatusOr<CudnnDescriptor> Added(cudnnPointwiseMode_t mode, const CudnnDescriptor& a, const CudnnDescriptor* b,
                                        const Sizes& sizes) {
    ASSIGN_OR_RETURN(CudnnDescriptor result, Inner(sizes));
    RETURN_IF_ERROR(AddPointwise(mode, a, b, result));
    return result;
  }
  // Over the keys.
  absl::StatusOr<CudnnDescriptor> Reduced(cudnnReduceTensorOp_t mode, const CudnnDescriptor& scores) {
    ASSIGN_OR_RETURN(CudnnDescriptor how, CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
    RETURN_IF_ERROR(how.Set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, mode));
    RETURN_IF_ERROR(how.Set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    RETURN_IF_ERROR(how.Finalize("a reduction"));
    ASSIGN_OR_RETURN(CudnnDescriptor result, Inner(rows_));
    ASSIGN_OR_RETURN(CudnnDescriptor operation,
                     CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, scores));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result));
    RETURN_IF_ERROR(Add(std::move(operation)));
    return result;
  }
  absl::Status Add(CudnnDescriptor operation) {
    RETURN_IF_ERROR(operation.Finalize("an operation"));
    operations_.push_back(std::move(operation));
    return absl::OkStatus();
  }

  const CudnnTarget& target_;
  const CudnnFunctions& cudnn_;
  const AttentionProblem& p_;
  const cudnnDataType_t type_;
  const Sizes scores_, rows_;
  int64_t next_ = 1000;  // names of inner tensors
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace

absl::StatusOr<CudnnDescriptor> CudnnAttentionGraphOf(const CudnnTarget& target, const AttentionProblem& problem) {
  return GraphMaker(target, problem).Make();
}

}  // namespace weir
