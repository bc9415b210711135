// The op lists of mixed precision: TensorFlow's, and the changes from its environment variables.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/api.h"
#include "core/status.h"
#include "core/tensor/types.h"

namespace WEIR_API weir {

enum class MixedPrecisionMode {
  kFloat16OnGpu,   // RewriterConfig.auto_mixed_precision
  kBfloat16OnCpu,  // auto_mixed_precision_onednn_bfloat16, or its deprecated name auto_mixed_precision_mkl
  kFloat16OnCpu,   // auto_mixed_precision_cpu
  kBfloat16OnGpu,  // the custom optimizer "GpuBfloat16": TensorFlow has no switch for it
};

// The 16-bit type of the mode.
DataType TypeOf(MixedPrecisionMode mode);

// The name in RewriterConfig: a switch, or for kBfloat16OnGpu a custom optimizer, which has no parameters.
absl::string_view MixedPrecisionModeName(MixedPrecisionMode mode);

// Settings of the pass from a task's environment. A value type.
struct MixedPrecisionSettings {
  enum class Level {
    kDefault,
    kUnsafeForceAll,    // every op with a kernel; float16 only
    kTreatInferAsDeny,  // only the allow list, and ops without arithmetic
    kTensorCoresOnly,   // only the allow list; float16 only
  };
  // Names of ops.
  struct ListChange {
    std::vector<std::string> add, remove;
  };

  Level level = Level::kDefault;
  ListChange allow, infer, deny, clear;

  // Reads TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_LEVEL and, with the same prefix, ALLOWLIST_ADD, ALLOWLIST_REMOVE and so
  // on for INFERLIST, DENYLIST and CLEARLIST, and their deprecated names WHITELIST, GRAYLIST and BLACKLIST. `variable`
  // returns a variable's value, empty if it is not set. InvalidArgument, naming the variable or the op, for an unknown
  // level or an op that would be on two lists for both types.
  static absl::StatusOr<MixedPrecisionSettings> FromEnvironment(
      const std::function<std::string(const std::string& variable)>& variable);
};

// An op on none of the lists keeps its types, and precision does not propagate through it.
struct MixedPrecisionLists {
  using Ops = absl::flat_hash_set<std::string>;
  // Worth converting, and safe.
  Ops allow;
  // Safe unless its inputs depend on ops of `deny`.
  Ops infer;
  // Unsafe with few bits or a small range; computations with its results stay in float.
  Ops deny;
  // Moves or compares values: follows its neighbours.
  Ops clear;

  // InvalidArgument, naming it, for an op on two lists.
  static absl::StatusOr<MixedPrecisionLists> Make(MixedPrecisionMode mode, const MixedPrecisionSettings& settings);
};

}  // namespace weir
