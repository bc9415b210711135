// What a session asks for by RewriterConfig's custom_optimizers, where a switch has no parameters.
#pragma once

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"

namespace weir {

// Whether `name` is among them. INVALID_ARGUMENT, naming it, for a parameter.
absl::StatusOr<bool> AsksForCustomOptimizer(const tensorflow::RewriterConfig& rewrite, absl::string_view name);

}  // namespace weir
