// Models between Weir and TensorFlow: Weir runs those that TensorFlow wrote, with the same results, and TensorFlow runs
// those that Weir froze or exported; each reads the other's checkpoints of objects.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/strip.h"
#include "client/estimator/saved_model.h"
#include "client/initializers.h"
#include "client/lookup/static_hash_table.h"
#include "client/models/frozen_graph.h"
#include "client/models/npy_file.h"
#include "client/models/object_checkpoint.h"
#include "client/models/saved_model_loader.h"
#include "client/ops.h"
#include "client/saver.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tests/interop/tensorflow_python.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kServing[] = "serving_default";

std::string directory;  // set by main

bool RunTensorFlow(const std::string& command) { return RunWithTensorFlow(WEIR_INTEROP_SCRIPT, command, directory); }

std::string PathIn(absl::string_view name) { return JoinPath(directory, name); }

class ModelsInterop : public ::testing::Test {
 protected:
  // The arrays in directory/NAME/KIND.
  TensorMap ReadValues(const std::string& name, const std::string& kind) {
    TensorMap values;
    const std::string folder = PathIn(JoinPath(name, kind));
    const auto names = files_->List(folder);
    EXPECT_THAT(names, IsOk());
    for (const std::string& file : names.value_or(std::vector<std::string>())) {
      auto value = ReadNpyFile(files_.get(), JoinPath(folder, file));
      EXPECT_THAT(value, IsOk());
      if (value.ok()) values.emplace(absl::StripSuffix(file, ".npy"), *std::move(value));
    }
    return values;
  }

  // Outputs of deep networks differ by the order of sums.
  static void ExpectAgree(const TensorMap& actual, const TensorMap& expected, const std::string& context) {
    EXPECT_EQ(actual.size(), expected.size()) << context;
    for (const auto& [name, value] : expected) {
      const auto found = actual.find(name);
      if (found == actual.end()) {
        ADD_FAILURE() << context << " lacks " << name;
        continue;
      }
      double largest = 0;
      for (int64_t i = 0; value.dtype() == DT_FLOAT && i < value.NumElements(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(value.data<float>()[i])));
      }
      if (value.dtype() == DT_FLOAT) {
        ExpectTensorNear(found->second, value, 1e-4 * largest, 1e-3, absl::StrCat(context, " ", name));
      } else {
        ExpectTensorEqual(found->second, value, absl::StrCat(context, " ", name));
      }
    }
  }

  void WriteTensorNames(const std::string& name, const FrozenModel& frozen) {
    std::string text;
    for (const auto& input : frozen.signature.inputs)
      absl::StrAppend(&text, "input ", input.name, " ", input.tensor, "\n");
    for (const auto& output : frozen.signature.outputs) {
      absl::StrAppend(&text, "output ", output.name, " ", output.tensor, "\n");
    }
    if (!frozen.init_op.empty()) absl::StrAppend(&text, "init - ", frozen.init_op, "\n");
    EXPECT_THAT(WriteStringToFile(files_.get(), PathIn(JoinPath(name, "weir_frozen.txt")), text), IsOk());
  }

  // Freezes the model beside it, and runs what it wrote.
  void Freeze(const std::string& name, const LoadedModel& model, const TensorMap& inputs, const TensorMap& outputs) {
    const std::string file = PathIn(JoinPath(name, "weir_frozen.pb"));
    ASSERT_OK_AND_ASSIGN(const FrozenModel frozen, FreezeModel(model, kServing, file));
    WriteTensorNames(name, frozen);
    FrozenGraphOptions options{.init_op = frozen.init_op};
    TensorMap by_tensor;
    for (const auto& input : frozen.signature.inputs) {
      options.inputs.push_back(input.tensor);
      by_tensor[std::string(absl::StripSuffix(input.tensor, ":0"))] = inputs.at(input.name);
    }
    for (const auto& output : frozen.signature.outputs) options.outputs.push_back(output.tensor);
    ASSERT_OK_AND_ASSIGN(const auto loaded, LoadFrozenGraph(file, options));
    ASSERT_OK_AND_ASSIGN(const TensorMap result, loaded->Run(kServing, by_tensor));
    TensorMap by_name;
    for (const auto& output : frozen.signature.outputs) {
      by_name[output.name] = result.at(std::string(absl::StripSuffix(output.tensor, ":0")));
    }
    ExpectAgree(by_name, outputs, name + ", frozen");
  }

  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

class ModelOfTensorFlow : public ModelsInterop, public ::testing::WithParamInterface<const char*> {};

TEST_P(ModelOfTensorFlow, GivesItsResults) {
  const std::string name = GetParam();
  if (!files_->Exists(PathIn(name))) GTEST_SKIP() << "not written without WEIR_ALL_MODELS=1";
  ASSERT_OK_AND_ASSIGN(const auto model, LoadSavedModel(PathIn(JoinPath(name, "model"))));
  const TensorMap inputs = ReadValues(name, "inputs"), outputs = ReadValues(name, "outputs");
  ASSERT_OK_AND_ASSIGN(const TensorMap actual, model->Run(kServing, inputs));
  ExpectAgree(actual, outputs, name);
  Freeze(name, *model, inputs, outputs);
}

INSTANTIATE_TEST_SUITE_P(Interop, ModelOfTensorFlow,
                         ::testing::Values("mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "resnet50",
                                           "transformer", "recurrent", "words", "examples", "loop", "builder"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(ModelsInterop, AFrozenGraphNeedsNoNames) {
  ASSERT_OK_AND_ASSIGN(const auto model, LoadFrozenGraph(PathIn("frozen/frozen.pb")));
  ASSERT_OK_AND_ASSIGN(const TensorMap actual, model->Run(kServing, ReadValues("frozen", "inputs")));
  ExpectAgree(actual, ReadValues("frozen", "outputs"), "frozen");
}

TEST_F(ModelsInterop, SignaturesAndTagsAreListed) {
  ASSERT_OK_AND_ASSIGN(const auto loop, LoadSavedModel(PathIn("loop/model")));
  ASSERT_EQ(loop->signatures().size(), 2u);
  EXPECT_EQ(loop->signatures()[0].ToString(),
            "serving_default(double: bool[], x: float[?]) -> (steps: int32[], y: float[?])");
  ASSERT_OK_AND_ASSIGN(const auto square, loop->Run("square", {{"x", AsTensor<float>({3})}}));
  ExpectTensorEqual(square.at("y"), AsTensor<float>({9}));
  EXPECT_THAT(loop->Run("cube", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("it has 'serving_default', 'square'")));
  EXPECT_THAT(LoadSavedModel(PathIn("builder/model"), {.tags = {"train"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("it has {serve}, {serve, tpu}")));
}

ResourceVariable Variable(const Scope& scope, const std::string& name, const TensorShape& shape, DataType dtype) {
  return ResourceVariable::Make(scope.WithName(name), shape, dtype, initializers::Zeros());
}

Output TenTimes(const Scope& scope, const ResourceVariable& variable) {
  return ops::Mul(scope, variable.Read(scope), ops::Cast(scope, 10, variable.dtype()));
}

TEST_F(ModelsInterop, ObjectsAreRestoredByPathAndName) {
  const Scope scope = Scope::NewRoot();
  const ResourceVariable kernel = Variable(scope, "dense/kernel", TensorShape({2, 3}), DT_FLOAT),
                         bias = Variable(scope, "dense/bias", TensorShape({3}), DT_FLOAT),
                         step = Variable(scope, "step", TensorShape(), DT_INT64);
  const ObjectSaver saver(scope, {{"model/dense/kernel", kernel}, {"model/dense/bias", bias}, {"step", step}});
  const ObjectSaver by_other_path(scope, {{"same/kernel", kernel}});
  std::vector<Operation> updates;
  for (const auto& variable : {kernel, bias, step})
    updates.push_back(variable.Assign(scope, TenTimes(scope, variable)));
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
  ASSERT_THAT(session->RunTargets({InitializeAll(scope)}), IsOk());
  const auto read = [&](const ResourceVariable& variable) { return (*session->Run({variable.Read(scope)}))[0]; };

  ASSERT_THAT(by_other_path.Restore(*session, PathIn("objects-1")), IsOk());
  ExpectTensorEqual(read(kernel), AsTensor<float>({0, 1, 2, 3, 4, 5}, {2, 3}));
  ASSERT_THAT(saver.Restore(*session, PathIn("objects-1")), IsOk());
  ExpectTensorEqual(read(step), AsScalar<int64_t>(7));
  ASSERT_THAT(saver.Restore(*session, PathIn("objects-1"), ObjectSaver::Match::kName), IsOk());
  ExpectTensorEqual(read(bias), AsTensor<float>({0, 1, 2}));

  ASSERT_THAT(session->RunTargets(updates), IsOk());
  ASSERT_THAT(saver.SaveLike(*session, PathIn("objects-1"), PathIn("weir_objects")), IsOk());
}

TEST_F(ModelsInterop, ObjectsOfKerasAreWrittenBack) {
  const Scope scope = Scope::NewRoot();
  ASSERT_OK_AND_ASSIGN(const auto checkpoint, ObjectCheckpoint::Open(PathIn("keras_objects")));
  const auto first =
      std::find_if(checkpoint->variables().begin(), checkpoint->variables().end(), [](const auto& variable) {
        return variable.shape == TensorShape({4, 3});
      });
  ASSERT_NE(first, checkpoint->variables().end());
  const ResourceVariable kernel =
      ResourceVariable::Make(scope.WithName("kernel"), first->shape, DT_FLOAT, initializers::Constant(2.5));
  const ObjectSaver saver(scope, {{first->path, kernel}});
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
  ASSERT_THAT(session->RunTargets({InitializeAll(scope)}), IsOk());
  ASSERT_THAT(saver.SaveLike(*session, PathIn("keras_objects"), PathIn("weir_keras_objects")), IsOk());
}

TEST_F(ModelsInterop, TreesOfObjectsAreWritten) {
  const Scope scope = Scope::NewRoot();
  const ResourceVariable weights =
      ResourceVariable::Make(scope.WithName("weights"), TensorShape({2}), DT_FLOAT, initializers::Constant(1.5));
  const ObjectSaver saver(scope, {{"net/layer..1/weights", weights}});
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
  ASSERT_THAT(session->RunTargets({InitializeAll(scope)}), IsOk());
  ASSERT_THAT(saver.Save(*session, PathIn("weir_tree")), IsOk());
}

TEST_F(ModelsInterop, AnExportGivesTheSameResults) {
  const Scope scope = Scope::NewRoot();
  const Output x = ops::Placeholder(scope.WithName("x"), DT_FLOAT, {.shape = *PartialTensorShape::Build({-1, 2})});
  const ResourceVariable w =
      ResourceVariable::Make(scope.WithName("w"), TensorShape({2, 2}), DT_FLOAT, initializers::Constant(0.5));
  const Output y = ops::Tanh(scope.WithName("y"), ops::MatMul(scope, x, w.value()));
  const Saver saver(scope);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
  ASSERT_THAT(session->RunTargets({InitializeAll(scope)}), IsOk());
  ASSERT_THAT(saver.SaveTo(*session, PathIn("export_checkpoint")), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string exported, WriteSavedModel(scope, {.inputs = {{"x", x}}, .outputs = {{"y", y}}},
                                                                   PathIn("export_checkpoint"), PathIn("export")));
  ASSERT_OK_AND_ASSIGN(const auto model, LoadSavedModel(exported));
  ASSERT_OK_AND_ASSIGN(const auto result, model->Run(kServing, {{"x", AsTensor<float>({1, 2, 3, 4}, {2, 2})}}));
  ASSERT_THAT(WriteNpyFile(files_.get(), PathIn("export_expected.npy"), result.at("y")), IsOk());
}

// A graph with a table, no variables, and a file that is gone when the model is loaded.
TEST_F(ModelsInterop, AnExportBringsItsTablesAndAssets) {
  const Scope scope = Scope::NewRoot();
  const Output words =
      ops::Placeholder(scope.WithName("words"), DT_STRING, {.shape = *PartialTensorShape::Build({-1})});
  const std::string vocabulary = PathIn("vocabulary.txt");
  ASSERT_THAT(WriteStringToFile(files_.get(), vocabulary, "the\nquick\nfox\n"), IsOk());
  const auto ids = StaticHashTable::FromTextFile(scope, vocabulary, -1);
  const auto lengths =
      StaticHashTable::FromTensors(scope, Tensor::Vector<tstring>({"the", "fox"}), Tensor::Vector<int64_t>({3, 33}), 0);
  const Output y = ops::AddV2(scope, ids.Lookup(scope, words), lengths.Lookup(scope, words));
  ASSERT_OK_AND_ASSIGN(
      const std::string exported,
      WriteSavedModel(scope, {.inputs = {{"words", words}}, .outputs = {{"y", y}}}, "", PathIn("export_tables")));
  ASSERT_THAT(files_->DeleteFile(vocabulary), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto model, LoadSavedModel(exported));
  ASSERT_OK_AND_ASSIGN(const auto result, model->Run(kServing, {{"words", Tensor::Vector<tstring>({"fox", "a"})}}));
  ExpectTensorEqual(result.at("y"), Tensor::Vector<int64_t>({35, -1}));
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!weir::HasTensorFlow()) return weir::kTestsSkipped;
  const weir::ScratchDirectory scratch;
  weir::directory = scratch.path();
  if (!weir::RunTensorFlow("write")) {
    std::puts("TensorFlow did not write its models");
    return 1;
  }
  if (RUN_ALL_TESTS() != 0) return 1;
  if (testing::GTEST_FLAG(filter) != "*") return 0;
  // Now that all have written their files.
  if (weir::RunTensorFlow("check")) return 0;
  std::puts("TensorFlow did not load Weir's files, or not with these results");
  return 1;
}
