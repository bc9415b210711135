#include "client/models/object_checkpoint.h"

#include "client/initializers.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/trackable_object_graph.pb.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ResourceVariable Filled(const Scope& scope, const std::string& name, double value) {
  return ResourceVariable::Make(scope.WithName(name), TensorShape({2}), DT_FLOAT, initializers::Constant(value));
}

class ObjectCheckpointTest : public ::testing::Test {
 protected:
  // A checkpoint of net/a and net/b..c; `a` is called first.
  void Save() {
    const Scope scope = Scope::NewRoot();
    const ObjectSaver saver(scope, {{"net/a", Filled(scope, "first", 1)}, {"net/b..c", Filled(scope, "second", 2)}});
    ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
    ASSERT_THAT(session->RunTargets({InitializeAll(scope)}), IsOk());
    ASSERT_THAT(saver.Save(*session, prefix_), IsOk());
  }
  // Writes a checkpoint with these objects and a value "v".
  void WriteObjects(const std::string& objects) {
    ASSERT_OK_AND_ASSIGN(const auto writer, BundleWriter::Create(files_.get(), prefix_));
    ASSERT_THAT(writer->Add("v", AsScalar<float>(1)), IsOk());
    ASSERT_THAT(writer->Add("_CHECKPOINTABLE_OBJECT_GRAPH", AsScalar<tstring>(objects)), IsOk());
    ASSERT_THAT(writer->Finish(), IsOk());
  }

  const ScratchDirectory directory_;
  const std::string prefix_ = directory_.Path("objects");
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(ObjectCheckpointTest, ListsItsVariables) {
  Save();
  ASSERT_OK_AND_ASSIGN(const auto checkpoint, ObjectCheckpoint::Open(prefix_));
  std::vector<std::string> paths;
  for (const ObjectVariable& variable : checkpoint->variables()) paths.push_back(variable.path);
  EXPECT_THAT(paths, ElementsAre("net/a", "net/b..c", "save_counter"));
  ASSERT_OK_AND_ASSIGN(const ObjectVariable second, checkpoint->FindByName("second"));
  EXPECT_EQ(second.path, "net/b..c");
  ASSERT_OK_AND_ASSIGN(const Tensor value, checkpoint->Read(second));
  ExpectTensorEqual(value, AsTensor<float>({2, 2}));
  EXPECT_THAT(checkpoint->Find("net/d"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'d' beside a, b..c")));
  EXPECT_THAT(checkpoint->Find("net"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no variable")));
  EXPECT_THAT(checkpoint->FindByName("third"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ObjectCheckpointTest, RestoresByPathAndByName) {
  Save();
  const Scope scope = Scope::NewRoot();
  const ResourceVariable variable = Filled(scope, "second", 0);
  const ObjectSaver saver(scope, {{"net/a", variable}});
  const ObjectSaver missing(scope, {{"net/a", variable}, {"net/z", Filled(scope, "third", 0)}});
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
  ASSERT_THAT(session->RunTargets({InitializeAll(scope)}), IsOk());
  const auto value = [&] { return (*session->Run({variable.Read(scope)}))[0]; };
  EXPECT_THAT(missing.Restore(*session, prefix_), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'net/z'")));
  ExpectTensorEqual(value(), AsTensor<float>({0, 0}));
  ASSERT_THAT(saver.Restore(*session, prefix_), IsOk());
  ExpectTensorEqual(value(), AsTensor<float>({1, 1}));
  ASSERT_THAT(saver.Restore(*session, prefix_, ObjectSaver::Match::kName), IsOk());
  ExpectTensorEqual(value(), AsTensor<float>({2, 2}));
}

TEST_F(ObjectCheckpointTest, OtherShapesAreRejected) {
  Save();
  const Scope scope = Scope::NewRoot();
  const ObjectSaver saver(
      scope,
      {{"net/a", ResourceVariable::Make(scope.WithName("w"), TensorShape({3}), DT_FLOAT, initializers::Zeros())}});
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
  EXPECT_THAT(saver.Restore(*session, prefix_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'w' is float[3], but 'net/a'")));
}

TEST_F(ObjectCheckpointTest, KeepsWhatItDoesNotKnow) {
  Save();
  const std::string copy = directory_.Path("copy");
  {
    const Scope scope = Scope::NewRoot();
    const ObjectSaver saver(scope, {{"net/a", Filled(scope, "a", 9)}});
    ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope));
    ASSERT_THAT(session->RunTargets({InitializeAll(scope)}), IsOk());
    ASSERT_THAT(saver.SaveLike(*session, prefix_, copy), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const auto checkpoint, ObjectCheckpoint::Open(copy));
  ASSERT_EQ(checkpoint->variables().size(), 3u);
  ExpectTensorEqual(*checkpoint->Read(checkpoint->variables()[0]), AsTensor<float>({9, 9}));
  ExpectTensorEqual(*checkpoint->Read(checkpoint->variables()[1]), AsTensor<float>({2, 2}));
}

TEST_F(ObjectCheckpointTest, DamagedObjectsAreRejected) {
  WriteObjects("\xff\xff");
  EXPECT_THAT(ObjectCheckpoint::Open(prefix_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged")));
  tensorflow::TrackableObjectGraph objects;
  objects.add_nodes()->add_children()->set_node_id(7);
  WriteObjects(objects.SerializeAsString());
  EXPECT_THAT(ObjectCheckpoint::Open(prefix_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("child 7 of 1")));
  objects.mutable_nodes(0)->mutable_children(0)->set_node_id(0);
  auto* const attribute = objects.mutable_nodes(0)->add_attributes();
  attribute->set_name("VARIABLE_VALUE");
  attribute->set_checkpoint_key("gone");
  WriteObjects(objects.SerializeAsString());
  EXPECT_THAT(ObjectCheckpoint::Open(prefix_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'gone'")));
  EXPECT_THAT(ObjectCheckpoint::Open(directory_.Path("none")), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ObjectCheckpointTest, PathsAreChecked) {
  const Scope scope = Scope::NewRoot();
  for (const char* path : {"net//a", "", "a.b", ".ATTRIBUTES/x"}) {
    const Scope own = Scope::NewRoot();
    const ObjectSaver saver(own, {{path, Filled(own, "w", 0)}});
    ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(own));
    EXPECT_THAT(saver.Save(*session, prefix_), StatusIs(absl::StatusCode::kInvalidArgument)) << path;
  }
}

}  // namespace
}  // namespace weir
