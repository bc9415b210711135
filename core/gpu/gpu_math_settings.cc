#include "core/gpu/gpu_math_settings.h"

#include "absl/strings/numbers.h"
#include "core/flag_variable.h"

namespace weir {
namespace {

using FindVariable = std::function<const char*(const char* name)>;

absl::Status ReadFlag(const FindVariable& find, const char* name, bool* value) {
  const char* const text = find(name);
  if (text == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(*value, ParseFlagVariable(name, text));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GpuMathSettings> GpuMathSettings::FromEnvironment(const FindVariable& find) {
  GpuMathSettings settings;
  RETURN_IF_ERROR(ReadFlag(find, "TF_CUDNN_USE_AUTOTUNE", &settings.autotune));
  bool cudnn = false, ops = false;
  RETURN_IF_ERROR(ReadFlag(find, "TF_CUDNN_DETERMINISTIC", &cudnn));
  RETURN_IF_ERROR(ReadFlag(find, "TF_DETERMINISTIC_OPS", &ops));
  settings.deterministic = cudnn || ops;
  RETURN_IF_ERROR(ReadFlag(find, "NVIDIA_TF32_OVERRIDE", &settings.allow_tf32));
  if (const char* const text = find("TF_CUDNN_WORKSPACE_LIMIT_IN_MB"); text != nullptr) {
    constexpr int64_t kMaxMegabytes = int64_t{1} << 30;
    int64_t megabytes = 0;
    if (!absl::SimpleAtoi(text, &megabytes) || megabytes < 0 || megabytes > kMaxMegabytes) {
      return errors::InvalidArgument("Environment variable TF_CUDNN_WORKSPACE_LIMIT_IN_MB is '", text,
                                     "'; expected a number of megabytes, at most ", kMaxMegabytes);
    }
    settings.workspace_limit = static_cast<size_t>(megabytes) << 20;
  }
  if (const char* const text = find("WEIR_GPU_PLAN_CACHE"); text != nullptr) settings.plan_cache = text;
  return settings;
}

}  // namespace weir
