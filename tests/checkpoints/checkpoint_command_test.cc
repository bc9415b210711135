// The commands of `weir checkpoint`: what they print, and their exit codes.

#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/manifest.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tests/command_line/weir_output.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class CheckpointCommandTest : public ::testing::Test {
 protected:
  // model.ckpt-1 to -3, each with a number of its own and a tensor in two slices; the first has no manifest.
  void SetUp() override {
    for (int step = 1; step <= 3; ++step) {
      const std::string staged = directory_.Path("staged"), prefix = Path(step);
      ASSERT_OK_AND_ASSIGN(const auto writer, BundleWriter::Create(files_.get(), step == 1 ? prefix : staged));
      ASSERT_THAT(writer->Add("weights", Tensor::Vector<float>({1, 2, static_cast<float>(step)})), IsOk());
      ASSERT_THAT(writer->Add("name", Tensor::Scalar<tstring>("weir")), IsOk());
      for (const char* slice : {"4 0,2", "4 2,2"}) {
        ASSERT_THAT(writer->Save("sliced", slice, Tensor::Vector<float>({5, 6})), IsOk());
      }
      if (step == 3) {
        ASSERT_THAT(writer->Add("extra", Tensor::Scalar<int64_t>(7)), IsOk());
      }
      ASSERT_THAT(writer->Finish(), IsOk());
      if (step > 1) {
        CheckpointManifest manifest;
        manifest.set_global_step(step);
        manifest.set_token(1);
        manifest.set_holder("chief-0");
        ASSERT_OK_AND_ASSIGN(const auto described, BundleFiles(files_.get(), staged, std::string(BaseName(prefix))));
        for (const auto& file : described) *manifest.add_file() = file;
        ASSERT_THAT(PublishCheckpoint(files_.get(), staged, prefix, manifest), IsOk());
      }
      ASSERT_THAT(AddCheckpoint(files_.get(), dir(), prefix, {}), IsOk());
    }
    ASSERT_THAT(CheckpointLease::Take(files_.get(), dir(), {.holder = "chief-0"}), IsOk());
  }

  static WeirOutput Weir(const std::string& arguments) { return RunWeir("checkpoint " + arguments); }
  void Damage(const std::string& path) {
    ASSERT_OK_AND_ASSIGN(std::string content, ReadFileToString(files_.get(), path));
    content.back() ^= 1;
    ASSERT_THAT(WriteStringToFile(files_.get(), path, content), IsOk());
  }
  std::string dir() const { return directory_.path(); }
  std::string Path(int step) const { return directory_.Path(absl::StrCat("model.ckpt-", step)); }

  const ScratchDirectory directory_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(CheckpointCommandTest, ListsADirectoryAndACheckpoint) {
  const WeirOutput all = Weir("list " + dir());
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.text, AllOf(ContainsRegex("model.ckpt-1 +- +1 +- "), ContainsRegex("model.ckpt-2 +1 +2 +1 "),
                              ContainsRegex("model.ckpt-3 +2 +3 +1 .*complete, latest"),
                              HasSubstr("lease: token 1, chief-0 (host ")));
  const WeirOutput one = Weir("list " + Path(2) + ".index");
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.text, AllOf(HasSubstr("sliced float[4] in 2 slices"), HasSubstr("3 tensors")));
}

TEST_F(CheckpointCommandTest, ShowsValuesAndTheManifest) {
  const WeirOutput newest = Weir("show " + dir());
  EXPECT_EQ(newest.code, 0);
  EXPECT_THAT(newest.text, AllOf(HasSubstr("model.ckpt-3: generation 2, global step 3, by chief-0 with token 1"),
                                 HasSubstr("extra"), HasSubstr("weir")));
  const WeirOutput named = Weir("show " + Path(2) + " weights");
  EXPECT_EQ(named.code, 0);
  EXPECT_THAT(named.text, AllOf(HasSubstr("weights"), Not(HasSubstr("sliced")), Not(HasSubstr("generation"))));
  const WeirOutput missing = Weir("show " + Path(2) + " nothing");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.text, HasSubstr("nothing"));
}

TEST_F(CheckpointCommandTest, VerifyNamesWhatIsDamaged) {
  const WeirOutput intact = Weir("verify " + dir());
  EXPECT_EQ(intact.code, 0) << intact.text;
  EXPECT_THAT(intact.text, AllOf(HasSubstr("model.ckpt-1: 3 tensors are intact; there is no manifest"),
                                 HasSubstr("model.ckpt-3: 4 tensors and 2 files are intact, generation 2")));
  Damage(Path(2) + ".data-00000-of-00001");
  const WeirOutput damaged = Weir("verify " + dir());
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.text, AllOf(HasSubstr("model.ckpt-2: DAMAGED"), HasSubstr("1 of 3 checkpoints")));
  EXPECT_EQ(Weir("verify " + Path(2)).code, 1);
  EXPECT_EQ(Weir("verify " + Path(3)).code, 0);
  EXPECT_EQ(Weir("verify " + directory_.Path("nothing")).code, 1);
}

TEST_F(CheckpointCommandTest, DiffPrintsTheTensorsThatDiffer) {
  const WeirOutput equal = Weir(absl::StrCat("diff ", Path(2), " ", Path(2)));
  EXPECT_EQ(equal.code, 0);
  EXPECT_THAT(equal.text, HasSubstr("0 of 3 tensors differ"));
  const WeirOutput different = Weir(absl::StrCat("diff ", Path(1), " ", Path(3)));
  EXPECT_EQ(different.code, 1);
  EXPECT_THAT(different.text,
              AllOf(HasSubstr("weights: 1 of 3 elements differ, by at most 2"), HasSubstr("extra: only in "),
                    Not(HasSubstr("sliced:")), HasSubstr("2 of 4 tensors differ")));
}

TEST_F(CheckpointCommandTest, ExportWritesACheckpointOfItsOwn) {
  const std::string copy = directory_.Path("copies/small");
  const WeirOutput exported = Weir(absl::StrCat("export ", dir(), " ", copy, " sliced weights"));
  EXPECT_EQ(exported.code, 0) << exported.text;
  ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(files_.get(), copy));
  EXPECT_EQ(reader->List().size(), 2);
  EXPECT_TRUE(reader->Lookup("sliced")->slices.empty());
  ExpectTensorEqual(*reader->Read("sliced"), Tensor::Vector<float>({5, 6, 5, 6}));
  EXPECT_EQ(ReadManifest(files_.get(), copy)->global_step(), 3);
  EXPECT_EQ(files_->List(directory_.Path("copies"))->size(), 3);
  EXPECT_EQ(Weir("verify " + copy).code, 0);
  const WeirOutput again = Weir(absl::StrCat("export ", dir(), " ", copy));
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.text, HasSubstr("There is already a checkpoint"));
  EXPECT_EQ(Weir(absl::StrCat("export ", dir(), " ", dir())).code, 2);
}

TEST_F(CheckpointCommandTest, HelpAndWrongUse) {
  const WeirOutput help = Weir("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"list", "show", "verify", "diff", "export"}) {
    EXPECT_THAT(help.text, HasSubstr(command));
    EXPECT_EQ(Weir(absl::StrCat(command, " --help")).code, 0) << command;
    EXPECT_EQ(Weir(command).code, 2) << command;
  }
  EXPECT_EQ(Weir("").code, 2);
}

}  // namespace
}  // namespace weir
