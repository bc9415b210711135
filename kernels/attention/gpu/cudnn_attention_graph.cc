#include "kernels/attention/gpu/cudnn_attention_graph.h"

#include "kernels/attention/gpu/cudnn_attention_operations.h"

namespace weir {
namespace {

// The operations that cuDNN knows as attention: a product, a scale, perhaps a mask, a softmax in its parts, a product.
// Its engines of Ampere and later take them as one only where the statistics of rows are asked for, as by a training
// step: without, others are proposed, for a depth of 64 alone.
class AttentionGraph : public CudnnAttentionOperations {
 public:
  AttentionGraph(const CudnnTarget& target, const AttentionProblem& problem)
      : CudnnAttentionOperations(target, problem) {}

  absl::StatusOr<CudnnDescriptor> Make() {
    ASSIGN_OR_RETURN(const CudnnDescriptor q, Queries());
    ASSIGN_OR_RETURN(const CudnnDescriptor k, Keys());
    ASSIGN_OR_RETURN(CudnnDescriptor scores, Inner(scores_));
    RETURN_IF_ERROR(AddProduct(q, k, scores));
    ASSIGN_OR_RETURN(const CudnnDescriptor scale, Number(kCudnnScale));
    ASSIGN_OR_RETURN(scores, Added(CUDNN_POINTWISE_MUL, scores, &scale, scores_));
    if (p_.has_mask) {
      ASSIGN_OR_RETURN(const CudnnDescriptor mask, Mask());
      ASSIGN_OR_RETURN(scores, Added(CUDNN_POINTWISE_ADD, scores, &mask, scores_));
    }
    ASSIGN_OR_RETURN(const CudnnDescriptor weights, Softmax(scores));
    ASSIGN_OR_RETURN(const CudnnDescriptor v, Argument(kCudnnValues, {p_.batch, p_.heads, p_.keys, p_.columns},
                                                       {p_.v[0], p_.v[1], p_.columns, 1}));
    const Sizes mixed = {p_.batch, p_.heads, p_.queries, p_.columns};
    ASSIGN_OR_RETURN(const CudnnDescriptor out, Argument(kCudnnMixed, mixed, Dense(mixed)));
    RETURN_IF_ERROR(AddProduct(weights, v, out));
    return Graph();
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
};

// The operations that cuDNN knows as the gradient of attention, in the order and the form that its engines look for:
// the dot of each row of the output with its gradient, weights from scores and statistics, gradients of weights and of
// scores, and three products. Those for values and keys want the weights, and the gradients of scores, transposed, as
// another view of them. The dots and a sum for the queries' gradient lie in memory, both of the call's.
class AttentionGradientGraph : public CudnnAttentionOperations {
 public:
  AttentionGradientGraph(const CudnnTarget& target, const AttentionProblem& problem)
      : CudnnAttentionOperations(target, problem),
        transposed_({p_.batch, p_.heads, p_.keys, p_.queries}),
        mixed_({p_.batch, p_.heads, p_.queries, p_.columns}) {}

  absl::StatusOr<CudnnDescriptor> Make() {
    ASSIGN_OR_RETURN(const CudnnDescriptor gradient, Argument(kCudnnGradient, mixed_, Dense(mixed_)));
    ASSIGN_OR_RETURN(const CudnnDescriptor dots, Dots(gradient));
    ASSIGN_OR_RETURN(const CudnnDescriptor q, Queries());
    ASSIGN_OR_RETURN(const CudnnDescriptor k, Keys());
    ASSIGN_OR_RETURN(const CudnnDescriptor scale, Number(kCudnnScale));
    ASSIGN_OR_RETURN(const CudnnDescriptor weights, Weights(q, k, scale));

    const Sizes values = {p_.batch, p_.heads, p_.keys, p_.columns};
    ASSIGN_OR_RETURN(const CudnnDescriptor columns, Transposed(weights));
    ASSIGN_OR_RETURN(const CudnnDescriptor dv, Argument(kCudnnValuesGradient, values, Dense(values)));
    RETURN_IF_ERROR(AddProduct(columns, gradient, dv));

    ASSIGN_OR_RETURN(const CudnnDescriptor v, Argument(kCudnnValues, {p_.batch, p_.heads, p_.columns, p_.keys},
                                                       {p_.v[0], p_.v[1], 1, p_.columns}));
    ASSIGN_OR_RETURN(CudnnDescriptor of_scores, Inner(scores_));
    RETURN_IF_ERROR(AddProduct(gradient, v, of_scores));
    ASSIGN_OR_RETURN(of_scores, Added(CUDNN_POINTWISE_SUB, of_scores, &dots, scores_));
    ASSIGN_OR_RETURN(of_scores, Added(CUDNN_POINTWISE_MUL, of_scores, &weights, scores_));
    ASSIGN_OR_RETURN(of_scores, Added(CUDNN_POINTWISE_MUL, of_scores, &scale, scores_));

    const Sizes keys = {p_.batch, p_.heads, p_.keys, p_.depth};
    ASSIGN_OR_RETURN(const CudnnDescriptor of_keys, Transposed(of_scores));
    ASSIGN_OR_RETURN(const CudnnDescriptor dk, Argument(kCudnnKeysGradient, keys, Dense(keys)));
    RETURN_IF_ERROR(AddProduct(of_keys, q, dk));

    const Sizes queries = {p_.batch, p_.heads, p_.queries, p_.depth};
    ASSIGN_OR_RETURN(const CudnnDescriptor rows,
                     View(k, NewTensor(type_, next_++, keys, {p_.k[0], p_.k[1], p_.depth, 1}, kIsVirtual)));
    ASSIGN_OR_RETURN(const CudnnDescriptor sum, NewTensor(CUDNN_DATA_FLOAT, kCudnnQueriesSum, queries, Dense(queries)));
    RETURN_IF_ERROR(AddProduct(of_scores, rows, sum));
    ASSIGN_OR_RETURN(const CudnnDescriptor dq, Argument(kCudnnQueriesGradient, queries, Dense(queries)));
    RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_IDENTITY, sum, nullptr, dq));
    return Graph();
  }

 private:
  static constexpr cudnnBackendAttributeName_t kIsVirtual = CUDNN_ATTR_TENSOR_IS_VIRTUAL;

  absl::StatusOr<CudnnDescriptor> Dots(const CudnnDescriptor& gradient) {
    ASSIGN_OR_RETURN(const CudnnDescriptor out, Argument(kCudnnMixed, mixed_, Dense(mixed_)));
    ASSIGN_OR_RETURN(const CudnnDescriptor products, Added(CUDNN_POINTWISE_MUL, gradient, &out, mixed_));
    ASSIGN_OR_RETURN(const CudnnDescriptor sums, Reduced(CUDNN_REDUCE_TENSOR_ADD, products));
    ASSIGN_OR_RETURN(const CudnnDescriptor one, Number(kCudnnOne));
    ASSIGN_OR_RETURN(CudnnDescriptor dots, NewTensor(CUDNN_DATA_FLOAT, kCudnnDots, rows_, Dense(rows_)));
    RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_MUL, sums, &one, dots));
    return dots;
  }

  absl::StatusOr<CudnnDescriptor> Weights(const CudnnDescriptor& q, const CudnnDescriptor& k,
                                          const CudnnDescriptor& scale) {
    ASSIGN_OR_RETURN(CudnnDescriptor scores, Inner(scores_));
    RETURN_IF_ERROR(AddProduct(q, k, scores));
    ASSIGN_OR_RETURN(scores, Added(CUDNN_POINTWISE_MUL, scores, &scale, scores_));
    if (p_.has_mask) {
      ASSIGN_OR_RETURN(const CudnnDescriptor mask, Mask());
      ASSIGN_OR_RETURN(scores, Added(CUDNN_POINTWISE_ADD, scores, &mask, scores_));
    }
    ASSIGN_OR_RETURN(const CudnnDescriptor statistics,
                     NewTensor(CUDNN_DATA_FLOAT, kCudnnStatistics, rows_, Dense(rows_)));
    ASSIGN_OR_RETURN(scores, Added(CUDNN_POINTWISE_SUB, scores, &statistics, scores_));
    return Added(CUDNN_POINTWISE_EXP, scores, nullptr, scores_);
  }

  // Rounded to the problem's type.
  absl::StatusOr<CudnnDescriptor> Transposed(const CudnnDescriptor& scores) {
    const Sizes steps = {p_.heads * p_.queries * p_.keys, p_.queries * p_.keys, 1, p_.keys};
    return View(scores, NewTensor(type_, next_++, transposed_, steps, kIsVirtual));
  }
  absl::StatusOr<CudnnDescriptor> View(const CudnnDescriptor& x, absl::StatusOr<CudnnDescriptor> as) {
    RETURN_IF_ERROR(as.status());
    ASSIGN_OR_RETURN(CudnnDescriptor operation,
                     CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *as));
    RETURN_IF_ERROR(Add(std::move(operation)));
    return as;
  }

  const Sizes transposed_, mixed_;
};

}  // namespace

absl::StatusOr<CudnnDescriptor> CudnnAttentionGraphOf(const CudnnTarget& target, const AttentionProblem& problem) {
  return problem.is_gradient ? AttentionGradientGraph(target, problem).Make() : AttentionGraph(target, problem).Make();
}

}  // namespace weir
