#include "kernels/device/cudnn/cudnn_graph_parts.h"

#include "kernels/device/plans/gpu_library.h"

namespace weir {

cudnnDataType_t CudnnTypeOf(DataType type) {
  switch (type) {
    case DT_HALF:
      return CUDNN_DATA_HALF;
    case DT_BFLOAT16:
      return CUDNN_DATA_BFLOAT16;
    case DT_DOUBLE:
      return CUDNN_DATA_DOUBLE;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

absl::StatusOr<CudnnDescriptor> NewCudnnTensor(const CudnnFunctions& cudnn, cudnnDataType_t type, int64_t name,
                                               absl::Span<const int64_t> sizes, absl::Span<const int64_t> steps,
                                               std::optional<cudnnBackendAttributeName_t> kind) {
  ASSIGN_OR_RETURN(CudnnDescriptor tensor, CudnnDescriptor::New(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
  RETURN_IF_ERROR(tensor.SetInt64s(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes));
  RETURN_IF_ERROR(tensor.SetInt64s(CUDNN_ATTR_TENSOR_STRIDES, steps));
  RETURN_IF_ERROR(tensor.SetInt64(CUDNN_ATTR_TENSOR_UNIQUE_ID, name));
  RETURN_IF_ERROR(tensor.SetInt64(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kPlanAlignment));
  if (kind.has_value()) RETURN_IF_ERROR(tensor.Set(*kind, CUDNN_TYPE_BOOLEAN, true));
  RETURN_IF_ERROR(tensor.Finalize("a tensor"));
  return tensor;
}

absl::StatusOr<CudnnDescriptor> NewCudnnPointwise(const CudnnFunctions& cudnn, cudnnPointwiseMode_t mode,
                                                  const CudnnDescriptor& a, const CudnnDescriptor* b,
                                                  const CudnnDescriptor& result) {
  ASSIGN_OR_RETURN(CudnnDescriptor how, CudnnDescriptor::New(cudnn, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  RETURN_IF_ERROR(how.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode));
  RETURN_IF_ERROR(how.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  RETURN_IF_ERROR(how.Finalize("an element-wise operation"));
  ASSIGN_OR_RETURN(CudnnDescriptor operation,
                   CudnnDescriptor::New(cudnn, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how));
  RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a));
  if (b != nullptr) RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b));
  RETURN_IF_ERROR(operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result));
  RETURN_IF_ERROR(operation.Finalize("an operation"));
  return operation;
}

absl::StatusOr<CudnnDescriptor> NewCudnnGraph(const CudnnTarget& target, absl::Span<const CudnnDescriptor> operations) {
  ASSIGN_OR_RETURN(CudnnDescriptor graph,
                   CudnnDescriptor::New(target.cudnn(), CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  RETURN_IF_ERROR(graph.SetDescriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations));
  RETURN_IF_ERROR(target.TellGraph(graph));
  RETURN_IF_ERROR(graph.Finalize("a graph"));
  return graph;
}

}  // namespace weir
