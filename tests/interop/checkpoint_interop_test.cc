// Checkpoints between Weir and TensorFlow: each reads what the other wrote, and the files are equal byte for byte.
#include <cstdio>
#include <cstring>

#include "absl/strings/str_format.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/files/scratch_directory_testing.h"
#include "core/tensor/numeric_types.h"
#include "core/testing.h"
#include "tests/interop/tensorflow_python.h"

namespace weir {
namespace {

bool RunTensorFlow(const std::string& command, const std::string& dir) {
  return RunWithTensorFlow(WEIR_INTEROP_SCRIPT, command, dir);
}

// The values of checkpoint_interop.py.
template <typename T>
Tensor Plain() {
  Tensor tensor(DataTypeOf<T>(), TensorShape({2, 3, 4}));
  for (int i = 0; i < 24; ++i) tensor.data<T>()[i] = static_cast<T>(static_cast<float>(i % 7));
  return tensor;
}

Tensor PlainBools() {
  Tensor tensor(DT_BOOL, TensorShape({2, 3, 4}));
  for (int i = 0; i < 24; ++i) tensor.data<bool>()[i] = i % 7 % 2 == 1;
  return tensor;
}

std::vector<std::pair<std::string, Tensor>> Tensors() {
  std::vector<std::pair<std::string, Tensor>> named = {
      {"type/float32", Plain<float>()},
      {"type/float64", Plain<double>()},
      {"type/float16", Plain<half>()},
      {"type/bfloat16", Plain<bfloat16>()},
      {"type/int8", Plain<int8_t>()},
      {"type/int16", Plain<int16_t>()},
      {"type/int32", Plain<int32_t>()},
      {"type/int64", Plain<int64_t>()},
      {"type/uint8", Plain<uint8_t>()},
      {"type/uint16", Plain<uint16_t>()},
      {"type/uint32", Plain<uint32_t>()},
      {"type/uint64", Plain<uint64_t>()},
      {"type/bool", PlainBools()},
      {"type/complex64", Plain<complex64>()},
      {"type/complex128", Plain<complex128>()},
      {"text", AsTensor<tstring>({"", "one", std::string(200, 'x'), std::string("\0\xff", 2)}, {2, 2})},
      {"scalar", Tensor::Scalar<float>(3.5f)},
      {"empty", Tensor(DT_INT32, TensorShape({0, 4}))}};
  for (int i = 0; i < 5000; ++i) {
    named.emplace_back(absl::StrFormat("many/%04d", i), AsTensor<float>({static_cast<float>(i)}));
  }
  return named;
}

Tensor Full() {
  Tensor tensor(DT_FLOAT, TensorShape({5, 3}));
  for (int i = 0; i < 15; ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

struct SpecAndTensor {
  std::string spec;
  Tensor tensor;
};

std::vector<SpecAndTensor> Slices() {
  return {{"5 3 0,2:-", AsTensor<float>({0, 1, 2, 3, 4, 5}, {2, 3})},
          {"5 3 2,3:0,1", AsTensor<float>({6, 9, 12}, {3, 1})},
          {"5 3 2,3:1,2", AsTensor<float>({7, 8, 10, 11, 13, 14}, {3, 2})}};
}

bool SameElements(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DT_STRING) return a.flat<tstring>() == b.flat<tstring>();
  return a.TotalBytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.TotalBytes()) == 0;
}

class CheckpointInterop : public testing::Test {
 protected:
  void WriteOurs(const std::string& dir) {
    const auto save = [&](const std::string& name, const auto& add) {
      ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), JoinPath(dir, name)));
      add(writer.get());
      ASSERT_THAT(writer->Finish(), IsOk());
    };
    save("all", [](BundleWriter* writer) {
      for (const auto& [name, tensor] : Tensors()) ASSERT_THAT(writer->Add(name, tensor), IsOk());
    });
    save("sliced", [](BundleWriter* writer) {
      for (const auto& [spec, tensor] : Slices()) ASSERT_THAT(writer->Save("v", spec, tensor), IsOk());
    });
    for (int part = 0; part < 2; ++part) {
      save(absl::StrCat("part", part), [part](BundleWriter* writer) {
        ASSERT_THAT(writer->Add(absl::StrCat("p", part), AsTensor<float>({static_cast<float>(part)})), IsOk());
      });
    }
    ASSERT_THAT(MergeBundles(fs_.get(), {JoinPath(dir, "part0"), JoinPath(dir, "part1")}, JoinPath(dir, "merged")),
                IsOk());
    for (int step = 0; step < 3; ++step) {
      const std::string prefix = absl::StrCat("managed/ckpt-", step);
      save(prefix, [](BundleWriter* writer) { ASSERT_THAT(writer->Add("w", Full()), IsOk()); });
      AddCheckpointOptions options;
      options.keep = 2;
      options.timestamp = 1000 + step;
      ASSERT_THAT(AddCheckpoint(fs_.get(), JoinPath(dir, "managed"), JoinPath(dir, prefix), options), IsOk());
    }
  }

  ScratchDirectory scratch_;
  const std::string& dir_ = scratch_.path();
  std::unique_ptr<FileSystem> fs_ = NewPosixFileSystem();
};

TEST_F(CheckpointInterop, TensorFlowReadsOurs) {
  WriteOurs(dir_);
  EXPECT_TRUE(RunTensorFlow("check", dir_));
}

TEST_F(CheckpointInterop, WeReadTensorFlowsAndWriteTheSameBytes) {
  const std::string theirs = JoinPath(dir_, "theirs"), ours = JoinPath(dir_, "ours");
  ASSERT_THAT(fs_->CreateDir(theirs), IsOk());
  ASSERT_TRUE(RunTensorFlow("write", theirs));
  WriteOurs(ours);

  ASSERT_OK_AND_ASSIGN(auto all, BundleReader::Open(fs_.get(), JoinPath(theirs, "all")));
  for (const auto& [name, tensor] : Tensors()) {
    ASSERT_OK_AND_ASSIGN(Tensor read, all->Read(name));
    EXPECT_TRUE(SameElements(read, tensor)) << name << ": " << read.DebugString();
  }
  ASSERT_OK_AND_ASSIGN(auto sliced, BundleReader::Open(fs_.get(), JoinPath(theirs, "sliced")));
  EXPECT_TRUE(SameElements(*sliced->Read("v"), Full()));
  for (const auto& [spec, tensor] : Slices()) EXPECT_TRUE(SameElements(*sliced->Restore("v", spec, DT_FLOAT), tensor));

  ASSERT_OK_AND_ASSIGN(std::string latest, LatestCheckpoint(fs_.get(), JoinPath(theirs, "managed")));
  EXPECT_EQ(BaseName(latest), "ckpt-2");
  ASSERT_OK_AND_ASSIGN(auto model, BundleReader::Open(fs_.get(), latest));
  EXPECT_TRUE(SameElements(*model->Read("w/.ATTRIBUTES/VARIABLE_VALUE"), Full()));
  EXPECT_EQ(model->Read("step/.ATTRIBUTES/VARIABLE_VALUE")->scalar<int64_t>(), 7);
  for (const auto& info : model->List()) EXPECT_THAT(model->Read(info.name), IsOk()) << info.name;

  for (const char* name : {"all.index", "all.data-00000-of-00001", "sliced.index", "sliced.data-00000-of-00001",
                           "merged.index", "merged.data-00000-of-00002", "merged.data-00001-of-00002"}) {
    EXPECT_TRUE(*ReadFileToString(fs_.get(), JoinPath(theirs, name)) ==
                *ReadFileToString(fs_.get(), JoinPath(ours, name)))
        << name << " differs";
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!weir::HasTensorFlow()) return weir::kTestsSkipped;
  return RUN_ALL_TESTS();
}
