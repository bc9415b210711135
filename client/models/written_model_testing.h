// A SavedModel for tests: y = x w, of a variable w = [[1, 2], [3, 4]], in a folder of its own.
#pragma once

#include <string>

#include "client/estimator/saved_model.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/session.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {

class WrittenModel {
 public:
  WrittenModel() {
    const Scope scope = Scope::NewRoot();
    const Output x = ops::Placeholder(scope.WithName("x"), DT_FLOAT, {.shape = *PartialTensorShape::Build({-1, 2})});
    const ResourceVariable w = ResourceVariable::Make(scope.WithName("w"), TensorShape({2, 2}), DT_FLOAT,
                                                      initializers::Value(AsTensor<float>({1, 2, 3, 4}, {2, 2})));
    const Output y = ops::MatMul(scope.WithName("y"), x, w.value());
    const Saver saver(scope);
    const auto session = Session::Local(scope);
    EXPECT_THAT(session, IsOk());
    EXPECT_THAT((*session)->RunTargets({InitializeAll(scope)}), IsOk());
    EXPECT_THAT(saver.SaveTo(**session, directory_.Path("checkpoint")), IsOk());
    const auto written = WriteSavedModel(scope, {.inputs = {{"x", x}}, .outputs = {{"y", y}}},
                                         directory_.Path("checkpoint"), directory_.Path("models"));
    EXPECT_THAT(written, IsOk());
    path_ = written.value_or("");
  }

  // The folder of the model, and the one around it.
  const std::string& path() const { return path_; }
  std::string base() const { return directory_.Path("models"); }
  std::string Path(absl::string_view name) const { return directory_.Path(name); }

 private:
  const ScratchDirectory directory_;
  std::string path_;
};

}  // namespace weir
