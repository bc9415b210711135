// Which ops compute with 16-bit floats: TensorFlow's lists, and what its environment variables change in them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/status.h"
#include "core/types.h"

namespace weir {

enum class MixedPrecisionMode {
  kFloat16OnGpu,   // RewriterConfig.auto_mixed_precision
  kBfloat16OnCpu,  // auto_mixed_precision_onednn_bfloat16, and its former name auto_mixed_precision_mkl
  kFloat16OnCpu,   // auto_mixed_precision_cpu
  kBfloat16OnGpu,  // the custom optimizer "GpuBfloat16": TensorFlow has no switch for it
};

// The type that nodes get.
DataType TypeOf(MixedPrecisionMode mode);

// The name in RewriterConfig: a switch's or, of kBfloat16OnGpu, a custom optimizer's, which has no parameters.
absl::string_view MixedPrecisionModeName(MixedPrecisionMode mode);

// What a task's environment says of the pass. A value.
struct MixedPrecisionSettings {
  enum class Level {
    kDefault,
    kUnsafeForceAll,    // all that has a kernel, with float16 alone
    kTreatInferAsDeny,  // only what is on the allow list, and what has no arithmetic
    kTensorCoresOnly,   // only what is on the allow list, with float16 alone
  };
  // Names of ops.
  struct ListChange {
    std::vector<std::string> add, remove;
  };

  Level level = Level::kDefault;
  ListChange allow, infer, deny, clear;

  // Reads TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_LEVEL, and, with the same prefix, ALLOWLIST_ADD, ALLOWLIST_REMOVE and
  // so on for INFERLIST, DENYLIST and CLEARLIST, with their former names WHITELIST, GRAYLIST and BLACKLIST. `variable`
  // gives a variable's value, empty where it is not set. InvalidArgument, naming the variable or the op, for an unknown
  // level and for an op that would be on two lists whichever the type.
  static absl::StatusOr<MixedPrecisionSettings> FromEnvironment(
      const std::function<std::string(const std::string& variable)>& variable);
};

// An op that is on none of them stays as it is, and so does what follows it as far as precision goes.
struct MixedPrecisionLists {
  using Ops = absl::flat_hash_set<std::string>;
  // Worth converting, and safe.
  Ops allow;
  // Safe unless what they read has gone through one of `deny`.
  Ops infer;
  // Dangerous with few bits or a small range; what they give is kept in float as far as it is computed with.
  Ops deny;
  // Move or compare values: follow what is around them.
  Ops clear;

  // InvalidArgument, naming it, for an op that is on two lists.
  static absl::StatusOr<MixedPrecisionLists> Make(MixedPrecisionMode mode, const MixedPrecisionSettings& settings);
};

}  // namespace weir
