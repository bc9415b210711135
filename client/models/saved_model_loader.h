// Loads SavedModels that TensorFlow 1, TensorFlow 2, Keras or Weir wrote.
#pragma once

#include <memory>
#include <string>

#include "client/models/loaded_model.h"
#include "core/api.h"

namespace WEIR_API weir {

// Loads the model in the folder `dir`: imports the part of its graph that signatures need, restores the variables,
// fills tables, and checks that assets exist. Blocks until the model can be called.
//
//   ASSIGN_OR_RETURN(auto model, LoadSavedModel("models/digits/3"));
//   ASSIGN_OR_RETURN(TensorMap result, model->Run("serving_default", {{"pixels", pixels}}));
//
// - NotFound: no saved_model.pb (the error names the model's versions if `dir` holds some), no graph with these tags
//   (lists those that there are), a missing asset or missing variables.
// - DataLoss: a truncated or damaged file.
// - Unimplemented: ops that this build does not have; names them all.
absl::StatusOr<std::unique_ptr<LoadedModel>> LoadSavedModel(const std::string& dir, const LoadOptions& options = {});

}  // namespace weir
