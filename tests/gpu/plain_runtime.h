// A simulated GPU that is not recognised as one: it forwards all calls.
#pragma once

#include <memory>
#include <string>

#include "core/gpu/gpu_runtime.h"

namespace weir {

class PlainStream : public GpuStream {
 public:
  PlainStream(std::unique_ptr<GpuStream> stream, GpuRuntime* runtime) : stream_(std::move(stream)), runtime_(runtime) {}

  const std::string& name() const override { return stream_->name(); }
  GpuRuntime* runtime() const override { return runtime_; }
  absl::Status CopyToDevice(void* device, const void* pinned, size_t bytes) override {
    return stream_->CopyToDevice(device, pinned, bytes);
  }
  absl::Status CopyToHost(void* pinned, const void* device, size_t bytes) override {
    return stream_->CopyToHost(pinned, device, bytes);
  }
  absl::Status CopyOnDevice(void* to, const void* from, size_t bytes) override {
    return stream_->CopyOnDevice(to, from, bytes);
  }
  absl::Status CopyToPeer(GpuStream* theirs, void* to, const void* from, size_t bytes) override {
    return errors::InvalidArgument("Nobody reaches ", theirs->runtime()->properties().name);
  }
  absl::Status Fill(void* device, uint8_t value, size_t bytes) override { return stream_->Fill(device, value, bytes); }
  absl::Status Launch(const GpuKernel& kernel, absl::Span<const char> args,
                      absl::Span<const GpuAccess> accesses) override {
    return stream_->Launch(kernel, args, accesses);
  }
  absl::Status Call(absl::AnyInvocable<void()> callback) override { return stream_->Call(std::move(callback)); }
  absl::Status Record(GpuEvent* event) override { return stream_->Record(event); }
  absl::Status Wait(const GpuEvent& event) override { return stream_->Wait(event); }
  absl::StatusOr<bool> IsIdle() override { return stream_->IsIdle(); }
  absl::Status Synchronize(absl::Time deadline) override { return stream_->Synchronize(deadline); }
  absl::Status BeginCapture(GpuCaptureMode mode) override { return stream_->BeginCapture(mode); }
  absl::StatusOr<std::unique_ptr<GpuGraph>> EndCapture() override { return stream_->EndCapture(); }
  bool IsCapturing() const override { return stream_->IsCapturing(); }
  absl::Status LaunchGraph(GpuGraph* graph) override { return stream_->LaunchGraph(graph); }

 private:
  const std::unique_ptr<GpuStream> stream_;
  GpuRuntime* const runtime_;
};

class PlainRuntime : public GpuRuntime {
 public:
  explicit PlainRuntime(std::shared_ptr<GpuRuntime> gpu) : gpu_(std::move(gpu)) {}

  const GpuProperties& properties() const override { return gpu_->properties(); }
  absl::StatusOr<GpuMemoryInfo> MemoryInfo() override { return gpu_->MemoryInfo(); }
  absl::StatusOr<void*> AllocateDevice(size_t bytes) override { return gpu_->AllocateDevice(bytes); }
  absl::StatusOr<void*> AllocateManaged(size_t bytes) override { return gpu_->AllocateManaged(bytes); }
  absl::Status FreeDevice(void* data) override { return gpu_->FreeDevice(data); }
  absl::StatusOr<void*> AllocatePinned(size_t bytes) override { return gpu_->AllocatePinned(bytes); }
  absl::Status FreePinned(void* data) override { return gpu_->FreePinned(data); }
  absl::StatusOr<std::unique_ptr<GpuStream>> CreateStream(absl::string_view name) override {
    ASSIGN_OR_RETURN(std::unique_ptr<GpuStream> stream, gpu_->CreateStream(name));
    return Wrap(std::move(stream));
  }
  absl::StatusOr<std::unique_ptr<GpuEvent>> CreateEvent() override { return gpu_->CreateEvent(); }
  // Nobody here measures, and the device's own timer wants the device's own stream.
  absl::StatusOr<std::unique_ptr<GpuTimer>> CreateTimer() override {
    return errors::Unimplemented("There is no timer on ", properties().name);
  }
  bool Reaches(const GpuRuntime&) override { return false; }
  void HostAccess(absl::string_view what, const GpuAccess& access) override { gpu_->HostAccess(what, access); }

 protected:
  virtual std::unique_ptr<GpuStream> Wrap(std::unique_ptr<GpuStream> stream) {
    return std::make_unique<PlainStream>(std::move(stream), this);
  }

 private:
  const std::shared_ptr<GpuRuntime> gpu_;
};

}  // namespace weir
