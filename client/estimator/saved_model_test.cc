#include "client/estimator/saved_model.h"

#include <functional>
#include <future>
#include <set>

#include "client/estimator/model_assets.h"
#include "client/ops.h"
#include "core/files/object_store_testing.h"
#include "core/files/scratch_directory_testing.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kBase[] = "store://models";

// In memory, where directories need to be made. Calls `on_write` before a file is written.
class Store : public TestObjectStore {
 public:
  explicit Store(FileSystem* base) : TestObjectStore(base), base_(base) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    if (on_write) RETURN_IF_ERROR(on_write(path));
    RETURN_IF_ERROR(base_->CreateDir(DirectoryOf(path)));
    written.push_back(path);
    return TestObjectStore::NewWritableFile(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override {
    RETURN_IF_ERROR(list_status);
    return TestObjectStore::List(dir);
  }

  std::function<absl::Status(const std::string& path)> on_write;
  absl::Status list_status;
  std::vector<std::string> written;

 private:
  FileSystem* const base_;
};

class SavedModelTest : public ::testing::Test {
 protected:
  SavedModelTest() { EXPECT_THAT(registry_->Register("store", store_), IsOk()); }

  // A model without variables.
  absl::StatusOr<std::string> Write() { return WriteTo(kBase, registry_); }
  static absl::StatusOr<std::string> WriteTo(const std::string& base,
                                             const std::shared_ptr<FileSystemRegistry>& registry) {
    const Scope scope = Scope::NewRoot();
    const Output x = ops::Placeholder(scope.WithName("x"), DT_FLOAT, {.shape = TensorShape({1})});
    const Output y = ops::Mul(scope, x, 2);
    return WriteSavedModel(scope, {.inputs = {{"x", x}}, .outputs = {{"y", y}}}, "", base, registry);
  }
  std::vector<std::string> FilesIn(const std::string& dir) {
    return memory_->List(dir).value_or(std::vector<std::string>());
  }

  const std::unique_ptr<FileSystem> memory_ = NewMemoryFileSystem();
  const std::shared_ptr<Store> store_ = std::make_shared<Store>(memory_.get());
  const std::shared_ptr<FileSystemRegistry> registry_ = std::make_shared<FileSystemRegistry>();
};

TEST_F(SavedModelTest, AnObjectStoresVersionsHaveTheirModelFileLast) {
  ASSERT_OK_AND_ASSIGN(const std::string first, Write());
  ASSERT_OK_AND_ASSIGN(const std::string second, Write());
  EXPECT_NE(first, second);
  for (const std::string& dir : {first, second}) EXPECT_THAT(FilesIn(dir), ElementsAre("saved_model.pb"));
  EXPECT_THAT(store_->written.back(), EndsWith("/saved_model.pb"));
}

TEST_F(SavedModelTest, AVersionThatAnotherProcessWritesIsLeftAlone) {
  std::string taken;
  store_->on_write = [&](const std::string& path) -> absl::Status {
    if (!taken.empty()) return absl::OkStatus();
    // Between the search for a version and the claim.
    taken = DirectoryOf(path);
    RETURN_IF_ERROR(memory_->CreateDir(taken));
    return WriteStringToFile(memory_.get(), JoinPath(taken, "writer-other"), "");
  };
  ASSERT_OK_AND_ASSIGN(const std::string dir, Write());
  EXPECT_NE(dir, taken);
  EXPECT_THAT(FilesIn(taken), ElementsAre("writer-other"));
  EXPECT_THAT(FilesIn(dir), ElementsAre("saved_model.pb"));
}

TEST_F(SavedModelTest, AFailedExportDeletesOnlyItsOwnVersion) {
  ASSERT_OK_AND_ASSIGN(const std::string good, Write());
  std::string failed;
  store_->on_write = [&](const std::string& path) -> absl::Status {
    failed = DirectoryOf(path);
    return BaseName(path) == "saved_model.pb" ? errors::ResourceExhausted("the store is full") : absl::OkStatus();
  };
  EXPECT_THAT(Write(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(FilesIn(good), ElementsAre("saved_model.pb"));
  EXPECT_NE(failed, good);
  EXPECT_THAT(FilesIn(failed), IsEmpty());
}

TEST_F(SavedModelTest, VersionsThatCannotBeListedAreAnError) {
  store_->list_status = errors::Unavailable("the store does not answer");
  EXPECT_THAT(Write(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer")));
  EXPECT_THAT(store_->written, IsEmpty());
}

TEST_F(SavedModelTest, ExportsOfTheSameSecondAreDifferentVersions) {
  const ScratchDirectory scratch;
  std::vector<std::future<absl::StatusOr<std::string>>> exports;
  for (int i = 0; i < 4; ++i) {
    exports.push_back(std::async(
        std::launch::async, [&scratch] { return WriteTo(scratch.Path("models"), FileSystemRegistry::Default()); }));
  }
  std::set<std::string> dirs;
  for (auto& writer : exports) {
    ASSERT_OK_AND_ASSIGN(const std::string dir, writer.get());
    EXPECT_TRUE(dirs.insert(dir).second) << dir;
  }
}

tensorflow::NodeDef* AddNode(tensorflow::GraphDef* graph, const std::string& name, const std::string& op,
                             const std::vector<std::string>& inputs) {
  tensorflow::NodeDef* const node = graph->add_node();
  node->set_name(name);
  node->set_op(op);
  for (const std::string& input : inputs) node->add_input(input);
  return node;
}

TEST(ModelAssetsTest, OtherUsersOfAPathKeepIt) {
  tensorflow::MetaGraphDef model;
  tensorflow::GraphDef* const graph = model.mutable_graph_def();
  SetNodeAttr("value", Tensor::Scalar<tstring>("/data/words.txt"), AddNode(graph, "path", "Const", {}));
  AddNode(graph, "fill", "InitializeTableFromTextFileV2", {"table", "path"});
  AddNode(graph, "read", "ReadFile", {"path"});
  const std::vector<ModelAssetFile> assets = FindAssets(*graph);
  ASSERT_EQ(assets.size(), 1);
  DescribeAssets(assets, &model);
  std::map<std::string, const tensorflow::NodeDef*> nodes;
  for (const tensorflow::NodeDef& node : graph->node()) nodes[node.name()] = &node;
  const auto value = [&](const std::string& name) {
    Tensor path;
    EXPECT_THAT(GetNodeAttr(*nodes.at(name), "value", &path), IsOk());
    return std::string(path.scalar<tstring>());
  };
  EXPECT_EQ(nodes.at("read")->input(0), "path");
  EXPECT_EQ(value("path"), "/data/words.txt");
  EXPECT_EQ(value(nodes.at("fill")->input(1)), "assets/words.txt");
  EXPECT_EQ(model.asset_file_def(0).tensor_info().name(), nodes.at("fill")->input(1) + ":0");
}

TEST(ModelAssetsTest, ConstantsThatAreNoPathAreNoAssets) {
  for (const Tensor& value : {Tensor::Scalar<int64_t>(7), Tensor(DT_STRING, TensorShape({0}))}) {
    tensorflow::GraphDef graph;
    SetNodeAttr("value", value, AddNode(&graph, "path", "Const", {}));
    AddNode(&graph, "fill", "InitializeTableFromTextFileV2", {"table", "path"});
    EXPECT_THAT(FindAssets(graph), IsEmpty());
  }
}

}  // namespace
}  // namespace weir
