// Session options by RewriterConfig's custom_optimizers, for switches without parameters.
#pragma once

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"

namespace weir {

// Whether `name` is among them. INVALID_ARGUMENT, naming it, if it has parameters.
absl::StatusOr<bool> AsksForCustomOptimizer(const tensorflow::RewriterConfig& rewrite, absl::string_view name);

}  // namespace weir
