#include <algorithm>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "kernels/fusion/nvrtc_compiler.h"
#include "kernels/fusion/nvrtc_functions.h"

namespace weir {

absl::StatusOr<NvrtcCompiler> NvrtcCompiler::Create(int arch) {
  ASSIGN_OR_RETURN(const NvrtcFunctions* nvrtc, LoadNvrtc());
  int count = 0;
  RETURN_IF_ERROR(nvrtc->StatusOf(nvrtc->GetNumSupportedArchs(&count), "architectures"));
  std::vector<int> known(count);
  RETURN_IF_ERROR(nvrtc->StatusOf(nvrtc->GetSupportedArchs(known.data()), "architectures"));
  int best = 0;
  for (const int one : known) {
    if (one <= arch) best = std::max(best, one);
  }
  if (best == 0) {
    return errors::Unavailable("NVRTC ", nvrtc->version, " has no code for compute capability ", arch / 10, ".",
                               arch % 10);
  }
  return NvrtcCompiler(nvrtc, best, best != arch);
}

NvrtcCompiler::NvrtcCompiler(const NvrtcFunctions* nvrtc, int arch, bool to_ptx)
    : nvrtc_(nvrtc),
      arch_(arch),
      to_ptx_(to_ptx),
      identity_(absl::StrCat("NVRTC ", nvrtc->version, to_ptx ? " compute_" : " sm_", arch)) {}

absl::StatusOr<std::string> NvrtcCompiler::Compile(const std::string& source) const { return Compile(source, to_ptx_); }

absl::StatusOr<std::string> NvrtcCompiler::CompileToPtx(const std::string& source) const {
  return Compile(source, true);
}

absl::StatusOr<std::string> NvrtcCompiler::Compile(const std::string& source, bool to_ptx) const {
  nvrtcProgram program = nullptr;
  RETURN_IF_ERROR(nvrtc_->StatusOf(
      nvrtc_->CreateProgram(&program, source.c_str(), "weir_fused.cu", 0, nullptr, nullptr), "a program"));
  const auto destroy = absl::MakeCleanup([&] { nvrtc_->DestroyProgram(&program); });
  const std::string arch = absl::StrCat("--gpu-architecture=", to_ptx ? "compute_" : "sm_", arch_);
  const char* const options[] = {arch.c_str(), "--std=c++17", "--fmad=false"};
  const nvrtcResult result = nvrtc_->CompileProgram(program, std::size(options), options);
  if (result != NVRTC_SUCCESS) {
    size_t size = 0;
    std::string log;
    if (nvrtc_->GetProgramLogSize(program, &size) == NVRTC_SUCCESS && size > 1) {
      log.resize(size);
      if (nvrtc_->GetProgramLog(program, log.data()) != NVRTC_SUCCESS) log.clear();
      log.resize(std::min(log.find('\0'), log.size()));
    }
    return nvrtc_->StatusOf(result, absl::StrCat("a fused kernel: ", log));
  }
  size_t size = 0;
  const char* const what = "its code";
  RETURN_IF_ERROR(
      nvrtc_->StatusOf(to_ptx ? nvrtc_->GetPTXSize(program, &size) : nvrtc_->GetCUBINSize(program, &size), what));
  std::string code(size, '\0');
  RETURN_IF_ERROR(
      nvrtc_->StatusOf(to_ptx ? nvrtc_->GetPTX(program, code.data()) : nvrtc_->GetCUBIN(program, code.data()), what));
  return code;
}

}  // namespace weir
