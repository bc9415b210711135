#include "kernels/convolution/gpu/cudnn_graph_of.h"

#include "kernels/device/cudnn/cudnn_graph_parts.h"

namespace weir {
namespace {

using Name = cudnnBackendAttributeName_t;

// The attributes of the operation of one direction.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  Name convolution, in, filter, out, alpha, beta;
};

OperationNames NamesOf(ConvolutionDirection direction) {
  switch (direction) {
    case ConvolutionDirection::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionDirection::kBackwardData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

absl::StatusOr<CudnnDescriptor> NewConvolution(const CudnnFunctions& cudnn, const ConvolutionProblem& problem) {
  ASSIGN_OR_RETURN(CudnnDescriptor made, CudnnDescriptor::New(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  RETURN_IF_ERROR(made.SetInt64(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2));
  RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  RETURN_IF_ERROR(made.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION));
  RETURN_IF_ERROR(made.SetInt64s(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, problem.padding));
  RETURN_IF_ERROR(made.SetInt64s(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, problem.padding));
  RETURN_IF_ERROR(made.SetInt64s(CUDNN_ATTR_CONVOLUTION_DILATIONS, problem.dilation));
  RETURN_IF_ERROR(made.SetInt64s(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, problem.stride));
  RETURN_IF_ERROR(made.Finalize("a convolution"));
  return made;
}

}  // namespace

// The number of groups follows from the channels of input and filter.
absl::StatusOr<CudnnDescriptor> CudnnGraphOf(const CudnnTarget& target, const ConvolutionProblem& problem) {
  const CudnnFunctions& cudnn = target.cudnn();
  const ConvolutionSteps steps = ConvolutionSteps::Of(problem);
  const cudnnDataType_t type = CudnnTypeOf(problem.dtype);
  ASSIGN_OR_RETURN(const CudnnDescriptor in,
                   NewCudnnTensor(cudnn, type, kCudnnIn,
                                  {problem.batch, problem.in_channels, problem.in[0], problem.in[1]}, steps.in));
  ASSIGN_OR_RETURN(
      const CudnnDescriptor filter,
      NewCudnnTensor(cudnn, type, kCudnnFilter,
                     {problem.out_channels, problem.in_channels / problem.groups, problem.filter[0], problem.filter[1]},
                     steps.filter));
  ASSIGN_OR_RETURN(const CudnnDescriptor out,
                   NewCudnnTensor(cudnn, type, kCudnnOut,
                                  {problem.batch, problem.out_channels, problem.out[0], problem.out[1]}, steps.out));
  ASSIGN_OR_RETURN(const CudnnDescriptor convolution, NewConvolution(cudnn, problem));

  const OperationNames names = NamesOf(problem.direction);
  const float alpha = 1, beta = 0;
  ASSIGN_OR_RETURN(CudnnDescriptor operation, CudnnDescriptor::New(cudnn, names.type));
  RETURN_IF_ERROR(operation.SetDescriptor(names.convolution, convolution));
  RETURN_IF_ERROR(operation.SetDescriptor(names.in, in));
  RETURN_IF_ERROR(operation.SetDescriptor(names.filter, filter));
  RETURN_IF_ERROR(operation.SetDescriptor(names.out, out));
  RETURN_IF_ERROR(operation.Set(names.alpha, CUDNN_TYPE_FLOAT, alpha));
  RETURN_IF_ERROR(operation.Set(names.beta, CUDNN_TYPE_FLOAT, beta));
  RETURN_IF_ERROR(operation.Finalize("an operation"));

  return NewCudnnGraph(target, absl::MakeConstSpan(&operation, 1));
}

}  // namespace weir
