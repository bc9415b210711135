// GPU runtime errors as Status, with CUDA's numbers and names.
#pragma once

#include <optional>

#include "core/status.h"

namespace weir {

// The values are CUDA's (cudaError_t). Values not listed here pass through by number.
enum class GpuError : int {
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInsufficientDriver = 35,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kEccUncorrectable = 214,
  kInvalidResourceHandle = 400,
  kIllegalState = 401,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailure = 719,
  kNotPermitted = 800,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureMerge = 902,
  kStreamCaptureUnmatched = 903,
  kStreamCaptureUnjoined = 904,
  kStreamCaptureIsolation = 905,
  kCapturedEvent = 907,
  kStreamCaptureWrongThread = 908,
};

// "cudaErrorIllegalAddress: an illegal memory access was encountered in <what>", with a payload for GpuErrorOf.
// RESOURCE_EXHAUSTED for memory, FAILED_PRECONDITION for calls that captures forbid, INVALID_ARGUMENT for bad values,
// UNAVAILABLE without a device or driver, INTERNAL otherwise.
absl::Status GpuStatus(GpuError error, absl::string_view what);
// The error of a status that GpuStatus created; nullopt for others.
std::optional<GpuError> GpuErrorOf(const absl::Status& status);
// Whether every later call of this process on this device will fail the same way.
bool IsSticky(GpuError error);

}  // namespace weir
