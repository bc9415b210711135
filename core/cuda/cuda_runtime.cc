#include "core/cuda/cuda_runtime.h"
#include "core/cuda/cupti/cuda_activities.h"

#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_format.h"
#include "core/cuda/cuda_status.h"
#include "core/cuda/cuda_stream.h"
#include "core/mutex.h"

namespace weir {
namespace {

class CudaRuntime : public GpuRuntime, public GpuActivitySource {
 public:
  CudaRuntime(int ordinal, GpuProperties properties) : ordinal_(ordinal), properties_(std::move(properties)) {}

  int ordinal() const { return ordinal_; }
  absl::StatusOr<std::unique_ptr<GpuActivityRecording>> RecordActivities() override {
    return RecordCudaActivities(ordinal_);
  }
  const GpuProperties& properties() const override { return properties_; }

  absl::StatusOr<GpuMemoryInfo> MemoryInfo() override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    GpuMemoryInfo info;
    RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&info.free, &info.total), "cudaMemGetInfo");
    return info;
  }

  absl::StatusOr<void*> AllocateDevice(size_t bytes) override {
    if (bytes == 0) return GpuStatus(GpuError::kInvalidValue, "AllocateDevice");
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    void* data = nullptr;
    RETURN_IF_CUDA_ERROR(cudaMalloc(&data, bytes), absl::StrCat("cudaMalloc of ", bytes, " bytes"));
    return data;
  }
  absl::StatusOr<void*> AllocateManaged(size_t bytes) override {
    if (bytes == 0) return GpuStatus(GpuError::kInvalidValue, "AllocateManaged");
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    void* data = nullptr;
    RETURN_IF_CUDA_ERROR(cudaMallocManaged(&data, bytes), absl::StrCat("cudaMallocManaged of ", bytes, " bytes"));
    return data;
  }
  absl::Status FreeDevice(void* data) override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    return CudaStatus(cudaFree(data), "cudaFree");
  }
  absl::StatusOr<void*> AllocatePinned(size_t bytes) override {
    if (bytes == 0) return GpuStatus(GpuError::kInvalidValue, "AllocatePinned");
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    void* data = nullptr;
    RETURN_IF_CUDA_ERROR(cudaHostAlloc(&data, bytes, cudaHostAllocPortable),
                         absl::StrCat("cudaHostAlloc of ", bytes, " bytes"));
    return data;
  }
  absl::Status FreePinned(void* data) override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    // cudaFree waits for pending work that uses the memory; for cudaFreeHost that is not documented.
    RETURN_IF_CUDA_ERROR(cudaDeviceSynchronize(), "waiting for the device before cudaFreeHost");
    return CudaStatus(cudaFreeHost(data), "cudaFreeHost");
  }

  absl::StatusOr<std::unique_ptr<GpuStream>> CreateStream(absl::string_view name) override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    cudaStream_t stream = nullptr;
    RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    return std::make_unique<CudaStream>(this, ordinal_, std::string(name), stream);
  }
  absl::StatusOr<std::unique_ptr<GpuEvent>> CreateEvent() override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    cudaEvent_t event = nullptr;
    RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    return std::make_unique<CudaEvent>(ordinal_, event);
  }
  absl::StatusOr<std::unique_ptr<GpuTimer>> CreateTimer() override {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    cudaEvent_t start = nullptr, stop = nullptr;
    RETURN_IF_CUDA_ERROR(cudaEventCreate(&start), "cudaEventCreate");
    if (const cudaError_t error = cudaEventCreate(&stop); error != cudaSuccess) {
      cudaEventDestroy(start);
      return CudaStatus(error, "cudaEventCreate");
    }
    return std::make_unique<CudaTimer>(ordinal_, start, stop);
  }

  bool Reaches(const GpuRuntime& peer) override {
    const std::optional<int> other = CudaOrdinalOf(peer);
    if (!other) return false;
    if (*other == ordinal_) return true;
    MutexLock lock(mu_);
    const auto [known, is_new] = reaches_.try_emplace(*other, false);
    if (!is_new) return known->second;
    int can = 0;
    if (cudaDeviceCanAccessPeer(&can, ordinal_, *other) != cudaSuccess || can == 0 ||
        !SelectCudaDevice(ordinal_).ok()) {
      cudaGetLastError();
      return false;
    }
    const cudaError_t error = cudaDeviceEnablePeerAccess(*other, 0);
    if (error != cudaSuccess) cudaGetLastError();
    known->second = error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
    return known->second;
  }

 private:
  Mutex mu_;
  std::map<int, bool> reaches_ GUARDED_BY(mu_);  // other devices, by ordinal
  const int ordinal_;
  const GpuProperties properties_;
};

// An empty variable counts as unset.
const char* SetVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

std::string PciBusId(const cudaDeviceProp& device) {
  return absl::StrFormat("%04x:%02x:%02x.0", device.pciDomainID, device.pciBusID, device.pciDeviceID);
}

}  // namespace

absl::StatusOr<int> CountCudaDevices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return GpuStatus(GpuError::kNoDevice, "cudaGetDeviceCount");
  }
  if (error == cudaSuccess) return count;
  return errors::Unavailable(CudaStatus(error, "cudaGetDeviceCount").message());
}

absl::StatusOr<std::unique_ptr<GpuRuntime>> NewCudaRuntime(int ordinal) {
  ASSIGN_OR_RETURN(const int count, CountCudaDevices());
  if (ordinal < 0 || ordinal >= count) {
    return GpuStatus(GpuError::kInvalidDevice, absl::StrCat("GPU ", ordinal, " of ", count));
  }
  cudaDeviceProp device;
  RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&device, ordinal), "cudaGetDeviceProperties");
  RETURN_IF_ERROR(SelectCudaDevice(ordinal));
  RETURN_IF_CUDA_ERROR(cudaFree(nullptr), "starting the device");  // creates its context
  int memory_kilohertz = 0;
  if (cudaDeviceGetAttribute(&memory_kilohertz, cudaDevAttrMemoryClockRate, ordinal) != cudaSuccess) {
    cudaGetLastError();  // a device without this attribute has an unknown bandwidth
  }
  return std::make_unique<CudaRuntime>(
      ordinal, GpuProperties{.name = device.name,
                             .pci_bus_id = PciBusId(device),
                             .compute_major = device.major,
                             .compute_minor = device.minor,
                             .multiprocessors = device.multiProcessorCount,
                             .memory_bytes = device.totalGlobalMem,
                             // Two transfers per cycle.
                             .bytes_per_second = 2e3 * memory_kilohertz * device.memoryBusWidth / 8});
}

std::optional<int> CudaOrdinalOf(const GpuRuntime& runtime) {
  const auto* const cuda = dynamic_cast<const CudaRuntime*>(&runtime);
  if (cuda == nullptr) return std::nullopt;
  return cuda->ordinal();
}

GpuPlatform CudaPlatform() {
  return {.count = CountCudaDevices,
          .open = [](int id) -> absl::StatusOr<std::shared_ptr<GpuRuntime>> { return NewCudaRuntime(id); },
          .math = [] { return GpuMathSettings::FromEnvironment(&SetVariable); }};
}

}  // namespace weir
