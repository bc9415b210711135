#include "core/gpu/gpu_error.h"

#include "absl/strings/numbers.h"

namespace weir {
namespace {

constexpr char kPayload[] = "weir/gpu_error";

struct Entry {
  GpuError error;
  absl::StatusCode code;
  const char* name;
  const char* meaning;
};

constexpr Entry kEntries[] = {
    {GpuError::kInvalidValue, absl::StatusCode::kInvalidArgument, "cudaErrorInvalidValue", "invalid argument"},
    {GpuError::kMemoryAllocation, absl::StatusCode::kResourceExhausted, "cudaErrorMemoryAllocation", "out of memory"},
    {GpuError::kInsufficientDriver, absl::StatusCode::kUnavailable, "cudaErrorInsufficientDriver",
     "there is no driver, or it is older than the runtime"},
    {GpuError::kNoDevice, absl::StatusCode::kUnavailable, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {GpuError::kInvalidDevice, absl::StatusCode::kInvalidArgument, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {GpuError::kEccUncorrectable, absl::StatusCode::kInternal, "cudaErrorECCUncorrectable",
     "uncorrectable ECC error encountered"},
    {GpuError::kInvalidResourceHandle, absl::StatusCode::kInvalidArgument, "cudaErrorInvalidResourceHandle",
     "a stream, event or graph is not of this device"},
    {GpuError::kIllegalState, absl::StatusCode::kFailedPrecondition, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {GpuError::kNotReady, absl::StatusCode::kUnavailable, "cudaErrorNotReady", "the work has not ended yet"},
    {GpuError::kIllegalAddress, absl::StatusCode::kInternal, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {GpuError::kLaunchOutOfResources, absl::StatusCode::kInternal, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {GpuError::kLaunchTimeout, absl::StatusCode::kInternal, "cudaErrorLaunchTimeout",
     "the launch timed out and was terminated"},
    {GpuError::kAssert, absl::StatusCode::kInternal, "cudaErrorAssert", "device-side assert triggered"},
    {GpuError::kHardwareStackError, absl::StatusCode::kInternal, "cudaErrorHardwareStackError", "hardware stack error"},
    {GpuError::kIllegalInstruction, absl::StatusCode::kInternal, "cudaErrorIllegalInstruction",
     "an illegal instruction was encountered"},
    {GpuError::kMisalignedAddress, absl::StatusCode::kInternal, "cudaErrorMisalignedAddress", "misaligned address"},
    {GpuError::kInvalidAddressSpace, absl::StatusCode::kInternal, "cudaErrorInvalidAddressSpace",
     "operation not supported on this address space"},
    {GpuError::kInvalidPc, absl::StatusCode::kInternal, "cudaErrorInvalidPc", "invalid program counter"},
    {GpuError::kLaunchFailure, absl::StatusCode::kInternal, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {GpuError::kNotPermitted, absl::StatusCode::kFailedPrecondition, "cudaErrorNotPermitted",
     "not permitted within a host callback"},
    {GpuError::kStreamCaptureUnsupported, absl::StatusCode::kFailedPrecondition, "cudaErrorStreamCaptureUnsupported",
     "not permitted while a stream is capturing"},
    {GpuError::kStreamCaptureInvalidated, absl::StatusCode::kFailedPrecondition, "cudaErrorStreamCaptureInvalidated",
     "an earlier error has invalidated the capture"},
    {GpuError::kStreamCaptureMerge, absl::StatusCode::kFailedPrecondition, "cudaErrorStreamCaptureMerge",
     "it would merge two independent captures"},
    {GpuError::kStreamCaptureUnmatched, absl::StatusCode::kFailedPrecondition, "cudaErrorStreamCaptureUnmatched",
     "the capture was not begun on this stream"},
    {GpuError::kStreamCaptureUnjoined, absl::StatusCode::kFailedPrecondition, "cudaErrorStreamCaptureUnjoined",
     "a stream of the capture was not joined to the one that began it"},
    {GpuError::kStreamCaptureIsolation, absl::StatusCode::kFailedPrecondition, "cudaErrorStreamCaptureIsolation",
     "a dependency would cross the boundary of the capture"},
    {GpuError::kCapturedEvent, absl::StatusCode::kFailedPrecondition, "cudaErrorCapturedEvent",
     "the event was last recorded in a capturing stream"},
    {GpuError::kStreamCaptureWrongThread, absl::StatusCode::kFailedPrecondition, "cudaErrorStreamCaptureWrongThread",
     "the capture was begun by another thread"},
};

const Entry* Find(GpuError error) {
  for (const Entry& entry : kEntries) {
    if (entry.error == error) return &entry;
  }
  return nullptr;
}

}  // namespace

absl::Status GpuStatus(GpuError error, absl::string_view what) {
  const Entry* const entry = Find(error);
  absl::Status status = entry == nullptr
                            ? errors::Internal("CUDA error ", static_cast<int>(error), " in ", what)
                            : absl::Status(entry->code, absl::StrCat(entry->name, ": ", entry->meaning, " in ", what));
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(static_cast<int>(error))));
  return status;
}

std::optional<GpuError> GpuErrorOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  int number = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &number)) return std::nullopt;
  return static_cast<GpuError>(number);
}

bool IsSticky(GpuError error) {
  switch (error) {
    case GpuError::kEccUncorrectable:
    case GpuError::kIllegalAddress:
    case GpuError::kLaunchTimeout:
    case GpuError::kAssert:
    case GpuError::kHardwareStackError:
    case GpuError::kIllegalInstruction:
    case GpuError::kMisalignedAddress:
    case GpuError::kInvalidAddressSpace:
    case GpuError::kInvalidPc:
    case GpuError::kLaunchFailure:
      return true;
    default:
      return false;
  }
}

}  // namespace weir
