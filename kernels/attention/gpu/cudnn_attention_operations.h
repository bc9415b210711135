// The operations that attention and its gradient are made of, as cuDNN describes them.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/attention/gpu/attention_problem.h"
#include "kernels/attention/gpu/cudnn_attention_graph.h"
#include "kernels/device/cudnn/cudnn_graph_parts.h"
#include "kernels/device/cudnn/cudnn_target.h"

namespace weir {

// Collects operations, and makes a graph of them. What computes is float, but for what memory holds.
class CudnnAttentionOperations {
 protected:
  using Sizes = std::array<int64_t, 4>;
  static Sizes Dense(const Sizes& sizes) { return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1}; }

  CudnnAttentionOperations(const CudnnTarget& target, const AttentionProblem& problem)
      : target_(target),
        cudnn_(target.cudnn()),
        p_(problem),
        type_(CudnnTypeOf(problem.dtype)),
        scores_({p_.batch, p_.heads, p_.queries, p_.keys}),
        rows_({p_.batch, p_.heads, p_.queries, 1}) {}

  absl::StatusOr<CudnnDescriptor> Graph() const { return NewCudnnGraph(target_, operations_); }

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
  // Over the last dimension.
  absl::StatusOr<CudnnDescriptor> Reduced(cudnnReduceTensorOp_t mode, const CudnnDescriptor& x) {
    ASSIGN_OR_RETURN(CudnnDescriptor how, CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
    RETURN_IF_ERROR(how.Set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, mode));
    RETURN_IF_ERROR(how.Set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    RETURN_IF_ERROR(how.Finalize("a reduction"));
    ASSIGN_OR_RETURN(CudnnDescriptor result, Inner(rows_));
    ASSIGN_OR_RETURN(CudnnDescriptor operation,
                     CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x));
    RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result));
    RETURN_IF_ERROR(Add(std::move(operation)));
    return result;
  }
  absl::Status Add(CudnnDescriptor operation) {
    RETURN_IF_ERROR(operation.Finalize("an operation"));
    operations_.push_back(std::move(operation));
    return absl::OkStatus();
  }

  // A number that comes with each call.
  absl::StatusOr<CudnnDescriptor> Number(int64_t name) const {
    return NewTensor(CUDNN_DATA_FLOAT, name, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  }
  absl::StatusOr<CudnnDescriptor> Mask() const {
    const Sizes sizes = {p_.MaskSize(0), p_.MaskSize(1), p_.MaskSize(2), p_.keys};
    return Argument(kCudnnMask, sizes, Dense(sizes));
  }
  absl::StatusOr<CudnnDescriptor> Queries() const {
    return Argument(kCudnnQueries, {p_.batch, p_.heads, p_.queries, p_.depth}, {p_.q[0], p_.q[1], p_.depth, 1});
  }
  // In columns.
  absl::StatusOr<CudnnDescriptor> Keys() const {
    return Argument(kCudnnKeys, {p_.batch, p_.heads, p_.depth, p_.keys}, {p_.k[0], p_.k[1], 1, p_.depth});
  }

  const CudnnTarget& target_;
  const CudnnFunctions& cudnn_;
  const AttentionProblem& p_;
  const cudnnDataType_t type_;
  const Sizes scores_, rows_;
  int64_t next_ = 1000;  // names of inner tensors
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace weir
