// Compiles CUDA C++ by NVRTC. Needs no GPU.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"

namespace weir {

struct NvrtcFunctions;

// For devices of one compute capability. Thread-safe.
class NvrtcCompiler {
 public:
  // For compute capability `arch`, as 90 for 9.0; newer devices than NVRTC knows get PTX, which the driver compiles on.
  // UNAVAILABLE without the library, or where it is too new for the device.
  static absl::StatusOr<NvrtcCompiler> Create(int arch);

  // "NVRTC 13.0 sm_90".
  const std::string& identity() const { return identity_; }
  // Code for the device: without contraction to fused multiply-adds, and precise otherwise. INTERNAL, with the
  // compiler's log, for source that it does not accept.
  absl::StatusOr<std::string> Compile(const std::string& source) const;
  // The same as PTX, to be read.
  absl::StatusOr<std::string> CompileToPtx(const std::string& source) const;

 private:
  NvrtcCompiler(const NvrtcFunctions* nvrtc, int arch, bool to_ptx);
  absl::StatusOr<std::string> Compile(const std::string& source, bool to_ptx) const;

  const NvrtcFunctions* nvrtc_;
  int arch_;
  bool to_ptx_;
  std::string identity_;
};

}  // namespace weir
