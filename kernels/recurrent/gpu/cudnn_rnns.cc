#include "kernels/recurrent/gpu/cudnn_rnns.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cuda/cuda_status.h"
#include "core/cuda/cuda_stream.h"
#include "core/mutex.h"
#include "kernels/device/cudnn/cudnn_library.h"
#include "kernels/recurrent/gpu/cudnn_rnn_descriptors.h"

namespace weir {
namespace {

// A handle is one thread's at a time.
struct Session {
  std::shared_ptr<const CudnnTarget> target;
  const CudnnRnnFunctions* rnn = nullptr;
  Mutex mu;

  const CudnnFunctions& cudnn() const { return target->cudnn(); }
  cudnnHandle_t handle() const { return target->handle(); }
  absl::Status Select() const { return handle() == nullptr ? absl::OkStatus() : SelectCudaDevice(target->ordinal()); }
  absl::Status SetStream(GpuStream& stream) const REQUIRES(mu) {
    return cudnn().StatusOf(cudnn().SetStream(handle(), static_cast<cudaStream_t>(stream.native())),
                            "choosing a stream");
  }
  // Of a call that enqueues work. What broke the device says more than that the library noticed.
  absl::Status StatusOf(cudnnStatus_t status, const char* what) const {
    if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
    const cudaError_t error = cudaGetLastError();  // which must not show in a later call
    if (CUDNN_STATUS_CATEGORY(status) != CUDNN_STATUS_NOT_SUPPORTED) {
      RETURN_IF_CUDA_ERROR(error, what);
    }
    return cudnn().StatusOf(status, what);
  }
};

using DropoutDescriptor = CudnnRnnDescriptor<cudnnDropoutDescriptor_t>;

// That the library has parameters where RnnSizes says: an address is asked for each of them, of memory that nobody
// looks at.
absl::Status CheckParameters(const Session& session, cudnnRNNDescriptor_t network, const RnnProblem& problem)
    REQUIRES(session.mu) {
  const CudnnFunctions& cudnn = session.cudnn();
  const CudnnRnnFunctions& rnn = *session.rnn;
  const RnnSizes& sizes = problem.batch.sizes;
  const size_t element = DataTypeSize(problem.dtype);
  const size_t wanted = static_cast<size_t>(sizes.NumParams()) * element;
  size_t bytes = 0;
  RETURN_IF_ERROR(cudnn.StatusOf(rnn.WeightSpaceSize(session.handle(), network, &bytes), "the size of parameters"));
  if (bytes != wanted) {
    return errors::Unimplemented("cuDNN wants ", bytes, " bytes of parameters for a network of ", wanted);
  }
  ASSIGN_OR_RETURN(const auto matrix, NewCudnnRnnDescriptor(cudnn, rnn.CreateTensor, rnn.DestroyTensor));
  ASSIGN_OR_RETURN(const auto bias, NewCudnnRnnDescriptor(cudnn, rnn.CreateTensor, rnn.DestroyTensor));
  const uintptr_t base = uintptr_t{1} << 40;
  for (int64_t part = 0; part < sizes.parts(); ++part) {
    for (int64_t i = 0; i < sizes.MatricesPerPart(); ++i) {
      void *matrix_at = nullptr, *bias_at = nullptr;
      RETURN_IF_ERROR(cudnn.StatusOf(
          rnn.WeightParams(session.handle(), network, static_cast<int32_t>(part), bytes, reinterpret_cast<void*>(base),
                           static_cast<int32_t>(i), matrix.get(), &matrix_at, bias.get(), &bias_at),
          "where parameters lie"));
      const auto is_at = [base, element](const void* at, int64_t offset) {
        return reinterpret_cast<uintptr_t>(at) == base + static_cast<uintptr_t>(offset) * element;
      };
      const bool has_matrix = sizes.MatrixColumns(part, i) > 0, has_bias = i < sizes.BiasesPerPart();
      if ((has_matrix && !is_at(matrix_at, sizes.MatrixOffset(part, i))) ||
          (has_bias && !is_at(bias_at, sizes.BiasOffset(part, i)))) {
        return errors::Unimplemented("cuDNN has parameter ", i, " of part ", part, " of a network elsewhere");
      }
    }
  }
  return absl::OkStatus();
}

class CudnnRnnPlan : public RnnPlan {
 public:
  CudnnRnnPlan(std::shared_ptr<Session> session, const RnnProblem& problem)
      : session_(std::move(session)), problem_(problem), dropout_(nullptr, nullptr) {}
  ~CudnnRnnPlan() override { session_->Select().IgnoreError(); }  // from its own device, whichever this thread has

  // Once, before all else.
  absl::Status Init(bool allow_tf32) {
    RETURN_IF_ERROR(session_->Select());
    MutexLock lock(session_->mu);
    const CudnnRnnFunctions& rnn = *session_->rnn;
    const CudnnFunctions& cudnn = session_->cudnn();
    ASSIGN_OR_RETURN(dropout_, NewCudnnRnnDescriptor(cudnn, rnn.CreateDropout, rnn.DestroyDropout));
    const RnnDropout& d = problem_.dropout;
    RETURN_IF_ERROR(session_->StatusOf(
        d.ratio == 0 ? rnn.SetDropout(dropout_.get(), session_->handle(), 0, nullptr, 0, 0)
                     : rnn.RestoreDropout(dropout_.get(), session_->handle(), d.ratio, d.state.raw_data(),
                                          static_cast<size_t>(d.state.TotalBytes()), d.seed),
        "dropout"));
    ASSIGN_OR_RETURN(CudnnRnnDescriptors made,
                     CudnnRnnDescriptors::Make(cudnn, rnn, problem_, allow_tf32, dropout_.get()));
    descriptors_.emplace(std::move(made));
    RETURN_IF_ERROR(CheckParameters(*session_, descriptors_->network.get(), problem_));
    return session_->StatusOf(rnn.TempSpaceSizes(session_->handle(), descriptors_->network.get(), Mode(),
                                                 descriptors_->x.get(), &workspace_bytes_, &reserve_bytes_),
                              "the memory of a recurrent network");
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  size_t reserve_bytes() const override { return problem_.is_training ? reserve_bytes_ : 0; }

  absl::Status Forward(GpuStream& stream, const RnnForwardBuffers& b) override {
    RETURN_IF_ERROR(session_->Select());
    MutexLock lock(session_->mu);
    RETURN_IF_ERROR(session_->SetStream(stream));
    const CudnnRnnDescriptors& d = *descriptors_;
    return session_->StatusOf(session_->rnn->Forward(session_->handle(), d.network.get(), Mode(), b.lengths, d.x.get(),
                                                     b.x, d.y.get(), b.y, d.h.get(), b.h, b.last_h, Cells(), b.c,
                                                     b.last_c, ParamsBytes(), b.params, workspace_bytes_, b.workspace,
                                                     reserve_bytes(), problem_.is_training ? b.reserve : nullptr),
                              "a recurrent network by cuDNN");
  }

  absl::Status Backward(GpuStream& stream, const RnnBackwardBuffers& b) override {
    RETURN_IF_ERROR(stream.Fill(b.dparams, 0, ParamsBytes()));  // the library adds to it
    RETURN_IF_ERROR(session_->Select());
    MutexLock lock(session_->mu);
    RETURN_IF_ERROR(session_->SetStream(stream));
    const CudnnRnnDescriptors& d = *descriptors_;
    const cudnnHandle_t handle = session_->handle();
    RETURN_IF_ERROR(session_->StatusOf(
        session_->rnn->BackwardData(handle, d.network.get(), b.lengths, d.y.get(), b.y, b.dy, d.x.get(), b.dx,
                                    d.h.get(), b.h, b.dlast_h, b.dh, Cells(), b.c, b.dlast_c, b.dc, ParamsBytes(),
                                    b.params, workspace_bytes_, b.workspace, reserve_bytes_, b.reserve),
        "the gradient of a recurrent network by cuDNN"));
    return session_->StatusOf(
        session_->rnn->BackwardWeights(handle, d.network.get(), CUDNN_WGRAD_MODE_ADD, b.lengths, d.x.get(), b.x,
                                       d.h.get(), b.h, d.y.get(), b.y, ParamsBytes(), b.dparams, workspace_bytes_,
                                       b.workspace, reserve_bytes_, b.reserve),
        "the gradient of a recurrent network's parameters by cuDNN");
  }

 private:
  cudnnForwardMode_t Mode() const { return problem_.is_training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE; }
  cudnnTensorDescriptor_t Cells() const {
    return problem_.batch.sizes.mode == RnnMode::kLstm ? descriptors_->c.get() : nullptr;
  }
  size_t ParamsBytes() const {
    return static_cast<size_t>(problem_.batch.sizes.NumParams()) * DataTypeSize(problem_.dtype);
  }

  const std::shared_ptr<Session> session_;
  const RnnProblem problem_;
  DropoutDescriptor dropout_;
  std::optional<CudnnRnnDescriptors> descriptors_;
  size_t workspace_bytes_ = 0, reserve_bytes_ = 0;
};

class CudnnRnns : public RnnLibrary {
 public:
  CudnnRnns(std::shared_ptr<const CudnnTarget> target, std::string identity, const CudnnRnnFunctions& rnn,
            bool allow_tf32)
      : identity_(std::move(identity)), allow_tf32_(allow_tf32) {
    session_->target = std::move(target);
    session_->rnn = &rnn;
  }

  std::string DebugString() const override { return absl::StrCat("recurrent networks by ", identity_); }

  // What it does not support it says of a network.
  absl::Status Check(const OpKernelConstruction&, const RnnAttrs&) const override { return absl::OkStatus(); }

  absl::StatusOr<std::shared_ptr<RnnPlan>> Make(const RnnProblem& problem) override {
    auto plan = std::make_shared<CudnnRnnPlan>(session_, problem);
    RETURN_IF_ERROR(plan->Init(allow_tf32_));
    return plan;
  }

  absl::StatusOr<RnnDropout> NewDropout(GpuDevice& gpu, GpuStream& stream, float ratio, uint64_t seed) override {
    const CudnnRnnFunctions& rnn = *session_->rnn;
    RETURN_IF_ERROR(session_->Select());
    size_t bytes = 0;
    {
      MutexLock lock(session_->mu);
      RETURN_IF_ERROR(session_->StatusOf(rnn.DropoutStatesSize(session_->handle(), &bytes), "the memory of dropout"));
    }
    RnnDropout dropout{.ratio = ratio, .seed = seed};
    ASSIGN_OR_RETURN(dropout.state,
                     Tensor::Allocate(gpu.allocator(), DT_UINT8, TensorShape({static_cast<int64_t>(bytes)})));
    MutexLock lock(session_->mu);
    RETURN_IF_ERROR(session_->SetStream(stream));
    ASSIGN_OR_RETURN(const DropoutDescriptor made,
                     NewCudnnRnnDescriptor(session_->cudnn(), rnn.CreateDropout, rnn.DestroyDropout));
    RETURN_IF_ERROR(session_->StatusOf(
        rnn.SetDropout(made.get(), session_->handle(), ratio, dropout.state.raw_data(), bytes, seed), "dropout"));
    return dropout;
  }

 private:
  const std::shared_ptr<Session> session_ = std::make_shared<Session>();
  const std::string identity_;
  const bool allow_tf32_;
};

}  // namespace

std::shared_ptr<RnnLibrary> NewCudnnRnns(std::shared_ptr<const CudnnTarget> target, std::string identity,
                                         const CudnnRnnFunctions& rnn, const GpuMathSettings& settings) {
  return std::make_shared<CudnnRnns>(std::move(target), std::move(identity), rnn, settings.allow_tf32);
}

absl::StatusOr<std::shared_ptr<RnnLibrary>> CudaRnns(GpuRuntime& gpu, const GpuMathSettings& settings) {
  ASSIGN_OR_RETURN(CudnnOfDevice opened, OpenCudnn(gpu));
  ASSIGN_OR_RETURN(const CudnnRnnFunctions* const rnn, LoadCudnnRnn());
  return NewCudnnRnns(std::move(opened.target), std::move(opened.identity), *rnn, settings);
}

}  // namespace weir
