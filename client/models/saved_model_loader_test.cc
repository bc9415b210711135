// Models that Weir wrote: calls, and what is wrong with calls and folders.

#include "client/models/saved_model_loader.h"

#include <functional>
#include <thread>

#include "client/models/written_model_testing.h"
#include "core/files/file_system.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kServing[] = "serving_default";

Tensor Row() { return AsTensor<float>({1, 1}, {1, 2}); }

class SavedModelLoaderTest : public ::testing::Test {
 protected:
  std::unique_ptr<LoadedModel> Load() {
    auto model = LoadSavedModel(written_.path());
    EXPECT_THAT(model, IsOk());
    return model.ok() ? *std::move(model) : nullptr;
  }
  // Rewrites saved_model.pb.
  void Change(const std::function<void(tensorflow::MetaGraphDef*)>& change) {
    const std::string path = JoinPath(written_.path(), "saved_model.pb");
    ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFileToString(files_.get(), path));
    tensorflow::SavedModel model;
    ASSERT_TRUE(model.ParseFromString(bytes));
    change(model.mutable_meta_graphs(0));
    ASSERT_THAT(WriteStringToFile(files_.get(), path, model.SerializeAsString()), IsOk());
  }
  absl::Status LoadStatus(const LoadOptions& options = {}) { return LoadSavedModel(written_.path(), options).status(); }

  const WrittenModel written_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(SavedModelLoaderTest, RunsASignatureByNamesAndInOrder) {
  const auto model = Load();
  ASSERT_EQ(model->signatures().size(), 1u);
  EXPECT_EQ(model->signatures()[0].ToString(), "serving_default(x: float[?,2]) -> (y: float[?,2])");
  EXPECT_EQ(model->signatures()[0].method, "tensorflow/serving/predict");
  ASSERT_OK_AND_ASSIGN(const TensorMap named, model->Run(kServing, {{"x", Row()}}));
  ExpectTensorEqual(named.at("y"), AsTensor<float>({4, 6}, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const auto signature, model->Signature(kServing));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> ordered, signature->Run({Row()}));
  ExpectTensorEqual(ordered[0], named.at("y"));
}

TEST_F(SavedModelLoaderTest, APreparedSignatureOutlivesItsModel) {
  auto model = Load();
  ASSERT_OK_AND_ASSIGN(const auto signature, model->Signature(kServing));
  model.reset();
  EXPECT_THAT(signature->Run({Row()}), IsOk());
}

TEST_F(SavedModelLoaderTest, ThreadsCallAtOnce) {
  const auto model = Load();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const float value = static_cast<float>(t);
      for (int i = 0; i < 50; ++i) {
        const auto result = model->Run(kServing, {{"x", AsTensor<float>({value, 0}, {1, 2})}});
        ASSERT_THAT(result, IsOk());
        ExpectTensorEqual(result->at("y"), AsTensor<float>({value, 2 * value}, {1, 2}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SavedModelLoaderTest, WrongInputsAreNamed) {
  const auto model = Load();
  const auto status = [&](const TensorMap& inputs) { return model->Run(kServing, inputs).status(); };
  const auto invalid = [](const char* text) { return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)); };
  EXPECT_THAT(status({}), invalid("lacks inputs: x"));
  EXPECT_THAT(status({{"x", Row()}, {"z", Row()}}), invalid("has no inputs z; it takes x"));
  EXPECT_THAT(status({{"x", AsTensor<int32_t>({1, 1}, {1, 2})}}), invalid("must be float[?,2], but got int32[1,2]"));
  EXPECT_THAT(status({{"x", AsTensor<float>({1, 1, 1}, {1, 3})}}), invalid("must be float[?,2], but got float[1,3]"));
  EXPECT_THAT(status({{"x", AsTensor<float>({1, 1})}}), invalid("must be float[?,2], but got float[2]"));
  ASSERT_OK_AND_ASSIGN(const auto signature, model->Signature(kServing));
  EXPECT_THAT(signature->Run({Row(), Row()}), invalid("takes 1 inputs (x), but got 2"));
  EXPECT_THAT(model->Run("nothing", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no signature 'nothing'; it has 'serving_default'")));
}

TEST_F(SavedModelLoaderTest, DefaultsStandInForInputs) {
  Change([](tensorflow::MetaGraphDef* graph) {
    auto& value = (*(*graph->mutable_signature_def())[kServing].mutable_defaults())["x"];
    value.set_dtype(tensorflow::DT_FLOAT);
    value.mutable_tensor_shape()->add_dim()->set_size(1);
    value.mutable_tensor_shape()->add_dim()->set_size(2);
    value.add_float_val(2);
  });
  const auto model = Load();
  ASSERT_OK_AND_ASSIGN(const TensorMap result, model->Run(kServing, {}));
  ExpectTensorEqual(result.at("y"), AsTensor<float>({8, 12}, {1, 2}));
}

TEST_F(SavedModelLoaderTest, TensorsMayBeInputAndOutputAndFetchedTwice) {
  Change([](tensorflow::MetaGraphDef* graph) {
    auto& signature = (*graph->mutable_signature_def())[kServing];
    (*signature.mutable_outputs())["again"] = signature.outputs().at("y");
    (*signature.mutable_outputs())["echo"] = signature.inputs().at("x");
  });
  ASSERT_OK_AND_ASSIGN(const TensorMap result, Load()->Run(kServing, {{"x", Row()}}));
  ASSERT_EQ(result.size(), 3u);
  ExpectTensorEqual(result.at("echo"), Row());
  ExpectTensorEqual(result.at("again"), result.at("y"));
}

TEST_F(SavedModelLoaderTest, SignaturesThatDoNotMatchTheGraphFailAlone) {
  Change([](tensorflow::MetaGraphDef* graph) {
    auto wrong = graph->signature_def().at(kServing);
    (*wrong.mutable_inputs())["x"].set_dtype(tensorflow::DT_INT32);
    (*graph->mutable_signature_def())["wrong"] = wrong;
  });
  const auto model = Load();
  EXPECT_THAT(model->Run(kServing, {{"x", Row()}}), IsOk());
  EXPECT_THAT(model->Signature("wrong"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("but x:0 is float")));
}

TEST_F(SavedModelLoaderTest, TagsAreListed) {
  EXPECT_THAT(LoadStatus({.tags = {"train", "gpu"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no graph with tags {gpu, train}; it has {serve}")));
}

TEST_F(SavedModelLoaderTest, AllUnknownOpsAreNamed) {
  Change([](tensorflow::MetaGraphDef* graph) {
    for (const char* op : {"FancyOp", "OtherOp", "UnusedOp"}) {
      auto* const node = graph->mutable_graph_def()->add_node();
      node->set_op(op);
      node->set_name(op);
    }
    auto& outputs = *(*graph->mutable_signature_def())[kServing].mutable_outputs();
    outputs["fancy"] = outputs.at("y");
    outputs["fancy"].set_name("FancyOp:0");
    outputs["other"] = outputs.at("y");
    outputs["other"].set_name("OtherOp:0");
  });
  const absl::Status status = LoadStatus();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("FancyOp (node FancyOp), OtherOp (node OtherOp)")));
  EXPECT_THAT(std::string(status.message()), ::testing::Not(HasSubstr("UnusedOp")));
}

TEST_F(SavedModelLoaderTest, IncompleteFoldersAreExplained) {
  EXPECT_THAT(LoadSavedModel(written_.base()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(std::string(BaseName(written_.path())))));
  EXPECT_THAT(LoadSavedModel(written_.Path("nowhere")), StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));

  Change([](tensorflow::MetaGraphDef* graph) {
    auto* const asset = graph->add_asset_file_def();
    asset->set_filename("words.txt");
    asset->mutable_tensor_info()->set_name("x:0");
  });
  EXPECT_THAT(LoadStatus(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("assets/words.txt does not exist")));
}

TEST_F(SavedModelLoaderTest, TruncatedVariablesAreFound) {
  const std::string variables = JoinPath(written_.path(), "variables");
  const std::string data = JoinPath(variables, "variables.data-00000-of-00001");
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFileToString(files_.get(), data));
  ASSERT_THAT(WriteStringToFile(files_.get(), data, bytes.substr(0, bytes.size() / 2)), IsOk());
  EXPECT_THAT(LoadStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("variables.data-00000-of-00001")));
  ASSERT_THAT(files_->DeleteRecursively(variables), IsOk());
  EXPECT_THAT(LoadStatus(), StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("variables.index does not exist"),
                                                                        HasSubstr("1 variables, such as 'w'"))));
}

TEST_F(SavedModelLoaderTest, ATruncatedGraphIsFound) {
  const std::string path = JoinPath(written_.path(), "saved_model.pb");
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFileToString(files_.get(), path));
  for (const size_t length : {bytes.size() - 1, bytes.size() / 2, size_t{0}}) {
    ASSERT_THAT(WriteStringToFile(files_.get(), path, bytes.substr(0, length)), IsOk());
    EXPECT_THAT(LoadStatus(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("saved_model.pb"))) << length;
  }
}

TEST_F(SavedModelLoaderTest, DevicesAreForgotten) {
  Change([](tensorflow::MetaGraphDef* graph) {
    for (auto& node : *graph->mutable_graph_def()->mutable_node()) node.set_device("/job:ps/task:3");
  });
  EXPECT_THAT(Load()->Run(kServing, {{"x", Row()}}), IsOk());
  const auto kept = LoadSavedModel(written_.path(), {.keep_devices = true});
  EXPECT_THAT(kept, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/job:ps")));
}

}  // namespace
}  // namespace weir
