// CUDA streams, events and graphs. Private to core/cuda/.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "core/gpu/gpu_runtime.h"

namespace weir {

// Makes `ordinal` the calling thread's current device. The previous one is not restored: every call selects its own
// device, and restoring the default (0) would create a context there and use its memory.
absl::Status SelectCudaDevice(int ordinal);

class CudaEvent : public GpuEvent {
 public:
  CudaEvent(int ordinal, cudaEvent_t event) : ordinal_(ordinal), event_(event) {}
  ~CudaEvent() override;
  absl::StatusOr<bool> IsDone() override;
  absl::Status Synchronize(absl::Time deadline) override;
  cudaEvent_t native() const { return event_; }

 private:
  const int ordinal_;
  const cudaEvent_t event_;
};

class CudaTimer : public GpuTimer {
 public:
  CudaTimer(int ordinal, cudaEvent_t start, cudaEvent_t stop) : ordinal_(ordinal), start_(start), stop_(stop) {}
  ~CudaTimer() override;
  absl::Status Start(GpuStream* stream) override;
  absl::Status Stop(GpuStream* stream) override;
  absl::StatusOr<std::optional<absl::Duration>> Elapsed() override;

 private:
  const int ordinal_;
  const cudaEvent_t start_, stop_;
};

class CudaGraph : public GpuGraph {
 public:
  CudaGraph(int ordinal, cudaGraphExec_t executable, size_t num_operations)
      : ordinal_(ordinal), executable_(executable), num_operations_(num_operations) {}
  ~CudaGraph() override;
  size_t num_operations() const override { return num_operations_; }
  cudaGraphExec_t native() const { return executable_; }

 private:
  const int ordinal_;
  const cudaGraphExec_t executable_;
  const size_t num_operations_;
};

class CudaStream : public GpuStream {
 public:
  CudaStream(GpuRuntime* runtime, int ordinal, std::string name, cudaStream_t stream)
      : runtime_(runtime), ordinal_(ordinal), name_(std::move(name)), stream_(stream) {}
  ~CudaStream() override;
  const std::string& name() const override { return name_; }
  GpuRuntime* runtime() const override { return runtime_; }

  absl::Status CopyToDevice(void* device, const void* pinned, size_t bytes) override;
  absl::Status CopyToHost(void* pinned, const void* device, size_t bytes) override;
  absl::Status CopyOnDevice(void* to, const void* from, size_t bytes) override;
  absl::Status CopyToPeer(GpuStream* theirs, void* to, const void* from, size_t bytes) override;
  absl::Status Fill(void* device, uint8_t value, size_t bytes) override;
  absl::Status Launch(const GpuKernel& kernel, absl::Span<const char> args,
                      absl::Span<const GpuAccess> accesses) override;
  absl::Status Call(absl::AnyInvocable<void()> callback) override;
  absl::Status Record(GpuEvent* event) override;
  absl::Status Wait(const GpuEvent& event) override;
  absl::StatusOr<bool> IsIdle() override;
  absl::Status Synchronize(absl::Time deadline) override;
  absl::Status BeginCapture(GpuCaptureMode mode) override;
  absl::StatusOr<std::unique_ptr<GpuGraph>> EndCapture() override;
  bool IsCapturing() const override;
  absl::Status LaunchGraph(GpuGraph* graph) override;
  void* native() const override { return stream_; }

 private:
  absl::Status Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, absl::string_view what);
  std::string What(absl::string_view operation) const;

  GpuRuntime* const runtime_;
  const int ordinal_;
  const std::string name_;
  const cudaStream_t stream_;
};

}  // namespace weir
