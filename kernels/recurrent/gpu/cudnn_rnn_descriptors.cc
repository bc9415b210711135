#include "kernels/recurrent/gpu/cudnn_rnn_descriptors.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/device/cudnn/cudnn_graph_parts.h"

namespace weir {
namespace {

cudnnRNNMode_t ModeOf(RnnMode mode) {
  switch (mode) {
    case RnnMode::kRelu:
      return CUDNN_RNN_RELU;
    case RnnMode::kTanh:
      return CUDNN_RNN_TANH;
    case RnnMode::kGru:
      return CUDNN_GRU;
    default:
      return CUDNN_LSTM;
  }
}

cudnnMathType_t MathOf(DataType type, bool allow_tf32) {
  if (type == DT_HALF || type == DT_BFLOAT16) return CUDNN_TENSOR_OP_MATH;
  return type == DT_FLOAT && !allow_tf32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

class Maker {
 public:
  Maker(const CudnnFunctions& cudnn, const CudnnRnnFunctions& rnn, const RnnProblem& problem)
      : cudnn_(cudnn), rnn_(rnn), p_(problem), s_(problem.batch.sizes), type_(CudnnTypeOf(problem.dtype)) {}

  absl::Status Check() const {
    const RnnBatch& b = p_.batch;
    constexpr int64_t kLargest = std::numeric_limits<int>::max();
    if (b.steps <= kLargest && b.rows <= kLargest / s_.hidden && s_.parts() <= kLargest) return absl::OkStatus();
    return errors::Unimplemented("cuDNN takes no recurrent network of ", s_.parts(), " layers, ", b.steps,
                                 " steps and ", b.rows, " rows of ", s_.hidden, " units");
  }

  // Sequences of one length lie without padding.
  absl::StatusOr<CudnnRnnDescriptor<cudnnRNNDescriptor_t>> Network(bool allow_tf32,
                                                                   cudnnDropoutDescriptor_t dropout) const {
    ASSIGN_OR_RETURN(auto made, NewCudnnRnnDescriptor(cudnn_, rnn_.CreateRnn, rnn_.DestroyRnn));
    const cudnnStatus_t status =
        rnn_.SetRnn(made.get(), CUDNN_RNN_ALGO_STANDARD, ModeOf(s_.mode), CUDNN_RNN_DOUBLE_BIAS,
                    s_.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                    s_.skips_input ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT, type_,
                    p_.dtype == DT_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, MathOf(p_.dtype, allow_tf32),
                    static_cast<int32_t>(s_.input), static_cast<int32_t>(s_.hidden), static_cast<int32_t>(s_.Outputs()),
                    static_cast<int32_t>(s_.layers), dropout,
                    IsPadded() ? CUDNN_RNN_PADDED_IO_ENABLED : CUDNN_RNN_PADDED_IO_DISABLED);
    RETURN_IF_ERROR(cudnn_.StatusOf(status, "a recurrent network"));
    return made;
  }

  // What lies behind the end of a sequence is written as zero.
  absl::StatusOr<CudnnRnnDescriptor<cudnnRNNDataDescriptor_t>> Sequences(int64_t width) const {
    const std::vector<int> lengths(p_.batch.lengths.begin(), p_.batch.lengths.end());
    ASSIGN_OR_RETURN(auto made, NewCudnnRnnDescriptor(cudnn_, rnn_.CreateData, rnn_.DestroyData));
    double zero = 0;  // of any type
    const cudnnRNNDataLayout_t layout =
        IsPadded() ? CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED : CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
    RETURN_IF_ERROR(
        cudnn_.StatusOf(rnn_.SetData(made.get(), type_, layout, static_cast<int>(p_.batch.steps),
                                     static_cast<int>(p_.batch.rows), static_cast<int>(width), lengths.data(), &zero),
                        "sequences of a recurrent network"));
    return made;
  }

  absl::StatusOr<CudnnRnnDescriptor<cudnnTensorDescriptor_t>> State(int64_t width) const {
    ASSIGN_OR_RETURN(auto made, NewCudnnRnnDescriptor(cudnn_, rnn_.CreateTensor, rnn_.DestroyTensor));
    const int rows = static_cast<int>(p_.batch.rows), columns = static_cast<int>(width);
    const int sizes[] = {static_cast<int>(s_.parts()), rows, columns}, steps[] = {rows * columns, columns, 1};
    RETURN_IF_ERROR(cudnn_.StatusOf(rnn_.SetTensor(made.get(), type_, 3, sizes, steps), "states of a network"));
    return made;
  }

 private:
  bool IsPadded() const {
    return std::any_of(p_.batch.lengths.begin(), p_.batch.lengths.end(),
                       [this](int64_t length) { return length != p_.batch.steps; });
  }

  const CudnnFunctions& cudnn_;
  const CudnnRnnFunctions& rnn_;
  const RnnProblem& p_;
  const RnnSizes& s_;
  const cudnnDataType_t type_;
};

}  // namespace

absl::StatusOr<CudnnRnnDescriptors> CudnnRnnDescriptors::Make(const CudnnFunctions& cudnn, const CudnnRnnFunctions& rnn,
                                                              const RnnProblem& problem, bool allow_tf32,
                                                              cudnnDropoutDescriptor_t dropout) {
  const Maker maker(cudnn, rnn, problem);
  const RnnSizes& sizes = problem.batch.sizes;
  RETURN_IF_ERROR(maker.Check());
  ASSIGN_OR_RETURN(auto network, maker.Network(allow_tf32, dropout));
  ASSIGN_OR_RETURN(auto x, maker.Sequences(sizes.input));
  ASSIGN_OR_RETURN(auto y, maker.Sequences(sizes.directions * sizes.Outputs()));
  ASSIGN_OR_RETURN(auto h, maker.State(sizes.Outputs()));
  ASSIGN_OR_RETURN(auto c, maker.State(sizes.hidden));
  return CudnnRnnDescriptors{std::move(network), std::move(x), std::move(y), std::move(h), std::move(c)};
}

}  // namespace weir
