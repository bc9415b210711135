#include "kernels/normalization/gpu/cudnn_norms.h"

#include <array>
#include <utility>
#include <vector>

#include "kernels/device/cudnn/cudnn_graph_parts.h"
#include "kernels/device/cudnn/cudnn_library.h"

namespace weir {
namespace {

using Name = cudnnBackendAttributeName_t;
using Sizes = std::array<int64_t, 4>;

// How the graph's tensors are called in the arguments of a call.
enum Tensors : int64_t {
  kX = 1,
  kDy,
  kSide,
  kResult,
  kScale,
  kOffset,
  kOldMean,
  kOldVariance,
  kNewMean,
  kNewVariance,
  kMean,
  kInverse,
  kDscale,
  kDoffset,
  kEpsilon,
  kFactor,
  kFirstInner  // and what follows: what no memory ever holds
};

class GraphMaker {
 public:
  GraphMaker(const CudnnTarget& target, const NormProblem& problem)
      : target_(target), cudnn_(target.cudnn()), p_(problem), type_(CudnnTypeOf(problem.dtype)) {}

  absl::StatusOr<CudnnDescriptor> Make() {
    RETURN_IF_ERROR(p_.direction == NormDirection::kForward ? AddForward() : AddBackward());
    return NewCudnnGraph(target_, operations_);
  }

 private:
  // The result in float where something follows: it is rounded once.
  absl::Status AddForward() {
    ASSIGN_OR_RETURN(CudnnDescriptor norm,
                     CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR));
    RETURN_IF_ERROR(norm.Set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, CUDNN_BATCH_NORM));
    RETURN_IF_ERROR(norm.Set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, CUDNN_NORM_FWD_TRAINING));
    RETURN_IF_ERROR(SetImage(norm, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, kX));
    for (const auto& [attribute, name] : {std::pair<Name, int64_t>{CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, kMean},
                                          {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, kInverse},
                                          {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, kScale},
                                          {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, kOffset},
                                          {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, kOldMean},
                                          {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, kOldVariance},
                                          {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, kNewMean},
                                          {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, kNewVariance}}) {
      RETURN_IF_ERROR(SetVector(norm, attribute, name));
    }
    RETURN_IF_ERROR(SetNumber(norm, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, kEpsilon));
    RETURN_IF_ERROR(SetNumber(norm, CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, kFactor));
    ASSIGN_OR_RETURN(CudnnDescriptor y, p_.has_side || p_.has_relu ? Inner() : Image(kResult));
    RETURN_IF_ERROR(norm.SetDescriptor(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y));
    RETURN_IF_ERROR(Add(std::move(norm)));
    if (p_.has_side) {
      ASSIGN_OR_RETURN(const CudnnDescriptor side, Image(kSide));
      ASSIGN_OR_RETURN(CudnnDescriptor sum, p_.has_relu ? Inner() : Image(kResult));
      RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_ADD, y, &side, sum));
      y = std::move(sum);
    }
    if (!p_.has_relu) return absl::OkStatus();
    ASSIGN_OR_RETURN(const CudnnDescriptor result, Image(kResult));
    return AddPointwise(CUDNN_POINTWISE_RELU_FWD, y, nullptr, result);
  }

  absl::Status AddBackward() {
    ASSIGN_OR_RETURN(CudnnDescriptor norm,
                     CudnnDescriptor::New(cudnn_, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR));
    RETURN_IF_ERROR(norm.Set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, CUDNN_BATCH_NORM));
    for (const auto& [attribute, name] : {std::pair<Name, int64_t>{CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, kX},
                                          {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, kDy},
                                          {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, kResult}}) {
      RETURN_IF_ERROR(SetImage(norm, attribute, name));
    }
    for (const auto& [attribute, name] : {std::pair<Name, int64_t>{CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, kMean},
                                          {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, kInverse},
                                          {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, kScale},
                                          {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, kDscale},
                                          {CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, kDoffset}}) {
      RETURN_IF_ERROR(SetVector(norm, attribute, name));
    }
    return Add(std::move(norm));
  }

  absl::StatusOr<CudnnDescriptor> NewImage(int64_t name, cudnnDataType_t type, std::optional<Name> kind) const {
    const int64_t plane = p_.rows * p_.columns;
    const Sizes sizes = {p_.batch, p_.channels, p_.rows, p_.columns};
    const Sizes steps = p_.channels_first ? Sizes{p_.channels * plane, plane, p_.columns, 1}
                                          : Sizes{p_.channels * plane, 1, p_.columns * p_.channels, p_.channels};
    return NewCudnnTensor(cudnn_, type, name, sizes, steps, kind);
  }
  absl::StatusOr<CudnnDescriptor> Image(int64_t name) const { return NewImage(name, type_, std::nullopt); }
  absl::StatusOr<CudnnDescriptor> Inner() {
    return NewImage(next_inner_++, CUDNN_DATA_FLOAT, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  }
  absl::Status SetImage(CudnnDescriptor& operation, Name attribute, int64_t name) const {
    ASSIGN_OR_RETURN(const CudnnDescriptor image, Image(name));
    return operation.SetDescriptor(attribute, image);
  }
  absl::Status SetVector(CudnnDescriptor& operation, Name attribute, int64_t name) const {
    const Sizes sizes = {1, p_.channels, 1, 1}, steps = {p_.channels, 1, p_.channels, p_.channels};
    ASSIGN_OR_RETURN(const CudnnDescriptor vector, NewCudnnTensor(cudnn_, CUDNN_DATA_FLOAT, name, sizes, steps));
    return operation.SetDescriptor(attribute, vector);
  }
  absl::Status SetNumber(CudnnDescriptor& operation, Name attribute, int64_t name) const {
    const Sizes ones = {1, 1, 1, 1};
    ASSIGN_OR_RETURN(const CudnnDescriptor number,
                     NewCudnnTensor(cudnn_, CUDNN_DATA_FLOAT, name, ones, ones, CUDNN_ATTR_TENSOR_IS_BY_VALUE));
    return operation.SetDescriptor(attribute, number);
  }
  absl::Status AddPointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& a, const CudnnDescriptor* b,
                            const CudnnDescriptor& result) {
    ASSIGN_OR_RETURN(CudnnDescriptor operation, NewCudnnPointwise(cudnn_, mode, a, b, result));
    operations_.push_back(std::move(operation));
    return absl::OkStatus();
  }
  absl::Status Add(CudnnDescriptor operation) {
    RETURN_IF_ERROR(operation.Finalize("an operation"));
    operations_.push_back(std::move(operation));
    return absl::OkStatus();
  }

  const CudnnTarget& target_;
  const CudnnFunctions& cudnn_;
  const NormProblem& p_;
  const cudnnDataType_t type_;
  int64_t next_inner_ = kFirstInner;
  std::vector<CudnnDescriptor> operations_;
};

absl::StatusOr<CudnnDescriptor> GraphOf(const CudnnTarget& target, const NormProblem& problem) {
  return GraphMaker(target, problem).Make();
}

CudnnArguments ArgumentsOf(const NormProblem& problem, const NormBuffers& b) {
  CudnnArguments arguments;
  arguments.Add(kX, b.x);
  arguments.Add(kResult, b.result);
  arguments.Add(kScale, b.scale);
  arguments.Add(kMean, b.mean);
  arguments.Add(kInverse, b.inverse_deviation);
  if (problem.direction == NormDirection::kBackward) {
    arguments.Add(kDy, b.dy);
    arguments.Add(kDscale, b.dscale);
    arguments.Add(kDoffset, b.doffset);
    return arguments;
  }
  arguments.Add(kOffset, b.offset);
  arguments.Add(kOldMean, b.zeros);
  arguments.Add(kOldVariance, b.zeros);
  arguments.Add(kNewMean, b.running_mean);
  arguments.Add(kNewVariance, b.running_variance);
  arguments.Add(kEpsilon, &b.epsilon);
  arguments.Add(kFactor, &b.average_factor);
  if (problem.has_side) arguments.Add(kSide, b.side);
  return arguments;
}

}  // namespace

std::shared_ptr<NormLibrary> NewCudnnNorms(std::shared_ptr<const CudnnTarget> target, std::string identity,
                                           const GpuMathSettings& settings) {
  return std::make_shared<CudnnLibrary<NormProblem, NormBuffers>>(
      std::move(target), std::move(identity), settings, CudnnForm<NormProblem, NormBuffers>{&GraphOf, &ArgumentsOf});
}

absl::StatusOr<std::shared_ptr<NormLibrary>> CudaNorms(GpuRuntime& gpu, const GpuMathSettings& settings) {
  ASSIGN_OR_RETURN(CudnnOfDevice opened, OpenCudnn(gpu));
  return NewCudnnNorms(std::move(opened.target), std::move(opened.identity), settings);
}

}  // namespace weir
