#include "distribute/collective/nccl/nccl_library.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cuda/cuda_runtime.h"
#include "core/cuda/cuda_stream.h"
#include "distribute/collective/gpu/simulated_gpu_collectives.h"
#include "distribute/collective/nccl/gpu_libraries.h"
#include "distribute/collective/nccl/nccl_functions.h"

namespace weir {
namespace {

using Kind = GpuTransfer::Kind;

absl::Status NcclStatus(const NcclFunctions& nccl, ncclComm_t communicator, ncclResult_t result,
                        absl::string_view what) {
  if (result == ncclSuccess || result == ncclInProgress) return absl::OkStatus();
  const char* const more = nccl.GetLastError(communicator);
  const std::string text = absl::StrCat("NCCL: ", what, ": ", nccl.GetErrorString(result),
                                        more != nullptr && *more != '\0' ? absl::StrCat(" (", more, ")") : "");
  switch (result) {
    case ncclSystemError:
    case ncclRemoteError:
      return errors::Unavailable(text);
    case ncclInvalidArgument:
    case ncclInvalidUsage:
      return errors::InvalidArgument(text);
    default:
      return errors::Internal(text);
  }
}

absl::StatusOr<ncclDataType_t> TypeOf(DataType dtype) {
  switch (dtype) {
    case DT_FLOAT:
      return ncclFloat32;
    case DT_DOUBLE:
      return ncclFloat64;
    case DT_HALF:
      return ncclFloat16;
    case DT_BFLOAT16:
      return ncclBfloat16;
    case DT_INT32:
      return ncclInt32;
    case DT_INT64:
      return ncclInt64;
    default:
      return errors::Unimplemented("NCCL has no ", DataTypeName(dtype));
  }
}

ncclRedOp_t OperationOf(const GpuTransfer& transfer) {
  if (transfer.is_mean && transfer.reduction == Reduction::kAdd) return ncclAvg;
  switch (transfer.reduction) {
    case Reduction::kMul:
      return ncclProd;
    case Reduction::kMin:
      return ncclMin;
    case Reduction::kMax:
      return ncclMax;
    default:
      return ncclSum;
  }
}

class NcclCommunicator : public GpuCommunicator {
 public:
  NcclCommunicator(const NcclFunctions& nccl, int ordinal, ncclComm_t communicator)
      : nccl_(nccl), ordinal_(ordinal), communicator_(communicator) {}
  ~NcclCommunicator() override { Abort(); }

  absl::StatusOr<bool> IsReady() override {
    if (communicator_ == nullptr) return errors::Aborted("the NCCL communicator was aborted");
    ncclResult_t state = ncclSuccess;
    RETURN_IF_ERROR(
        NcclStatus(nccl_, communicator_, nccl_.CommGetAsyncError(communicator_, &state), "asking for errors"));
    RETURN_IF_ERROR(NcclStatus(nccl_, communicator_, state, "communicator"));
    return state == ncclSuccess;
  }

  absl::Status Enqueue(GpuStream& stream, absl::Span<const GpuTransfer> group) override {
    if (communicator_ == nullptr) return errors::Aborted("the NCCL communicator was aborted");
    for (const GpuTransfer& transfer : group) {
      if (transfer.is_mean && transfer.reduction != Reduction::kAdd) {
        return errors::Unimplemented("NCCL averages only sums");
      }
      RETURN_IF_ERROR(TypeOf(transfer.dtype).status());
    }
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    RETURN_IF_ERROR(NcclStatus(nccl_, communicator_, nccl_.GroupStart(), "beginning a group"));
    ncclResult_t worst = ncclSuccess;
    for (const GpuTransfer& transfer : group) {
      const ncclResult_t result = Add(transfer, *TypeOf(transfer.dtype), static_cast<cudaStream_t>(stream.native()));
      if (result != ncclSuccess && result != ncclInProgress) worst = result;
    }
    const ncclResult_t end = nccl_.GroupEnd();
    RETURN_IF_ERROR(NcclStatus(nccl_, communicator_, worst, "an operation"));
    return NcclStatus(nccl_, communicator_, end, "ending a group");
  }

  void Abort() override {
    if (communicator_ == nullptr) return;
    SelectCudaDevice(ordinal_).IgnoreError();
    nccl_.CommAbort(std::exchange(communicator_, nullptr));
  }

 private:
  ncclResult_t Add(const GpuTransfer& t, ncclDataType_t type, cudaStream_t stream) {
    const auto count = static_cast<size_t>(t.count);
    switch (t.kind) {
      case Kind::kAllReduce:
        return nccl_.AllReduce(t.input, t.output, count, type, OperationOf(t), communicator_, stream);
      case Kind::kReduce:
        return nccl_.Reduce(t.input, t.output, count, type, OperationOf(t), t.peer, communicator_, stream);
      case Kind::kReduceScatter:
        return nccl_.ReduceScatter(t.input, t.output, count, type, OperationOf(t), communicator_, stream);
      case Kind::kAllGather:
        return nccl_.AllGather(t.input, t.output, count, type, communicator_, stream);
      case Kind::kBroadcast:
        return nccl_.Broadcast(t.input, t.output, count, type, t.peer, communicator_, stream);
      case Kind::kSend:
        return nccl_.Send(t.input, count, type, t.peer, communicator_, stream);
      default:
        return nccl_.Recv(t.output, count, type, t.peer, communicator_, stream);
    }
  }

  const NcclFunctions& nccl_;
  const int ordinal_;
  ncclComm_t communicator_;
};

class NcclLibrary : public GpuCollectiveLibrary {
 public:
  explicit NcclLibrary(absl::StatusOr<const NcclFunctions*> nccl)
      : nccl_(std::move(nccl)), name_(absl::StrCat("nccl ", nccl_.ok() ? (*nccl_)->version : "(none)")) {}

  const std::string& name() const override { return name_; }
  absl::Status Serves(const GpuRuntime& gpu) const override {
    if (!CudaOrdinalOf(gpu)) return errors::Unavailable(gpu.properties().name, " is not a CUDA device");
    return nccl_.status();
  }
  std::string PlaceOf(const GpuRuntime& gpu) const override { return gpu.properties().pci_bus_id; }

  absl::StatusOr<GpuCollectiveId> NewId() override {
    RETURN_IF_ERROR(nccl_.status());
    ncclUniqueId made;
    RETURN_IF_ERROR(NcclStatus(**nccl_, nullptr, (*nccl_)->GetUniqueId(&made), "making an id"));
    GpuCollectiveId id;
    static_assert(sizeof(made) == sizeof(id.bytes));
    std::memcpy(id.bytes.data(), &made, sizeof(made));
    return id;
  }

  absl::StatusOr<std::unique_ptr<GpuCommunicator>> Connect(GpuRuntime& gpu, const GpuCollectiveId& id, int rank,
                                                           int size) override {
    RETURN_IF_ERROR(Serves(gpu));
    const int ordinal = *CudaOrdinalOf(gpu);
    RETURN_IF_ERROR(SelectCudaDevice(ordinal));
    ncclUniqueId given;
    std::memcpy(&given, id.bytes.data(), sizeof(given));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t communicator = nullptr;
    const ncclResult_t result = (*nccl_)->CommInitRankConfig(&communicator, size, given, rank, &config);
    auto made = std::make_unique<NcclCommunicator>(**nccl_, ordinal, communicator);
    RETURN_IF_ERROR(NcclStatus(**nccl_, communicator, result, absl::StrCat("joining as rank ", rank, " of ", size)));
    return made;
  }

 private:
  const absl::StatusOr<const NcclFunctions*> nccl_;
  const std::string name_;
};

}  // namespace

std::shared_ptr<GpuCollectiveLibrary> NewNcclLibrary() { return std::make_shared<NcclLibrary>(LoadNccl()); }

std::vector<std::shared_ptr<GpuCollectiveLibrary>> GpuCollectiveLibraries() {
  return {NewSimulatedGpuCollectives(), NewNcclLibrary()};
}

}  // namespace weir
