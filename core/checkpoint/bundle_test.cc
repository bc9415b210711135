#include <cstring>

#include "absl/strings/match.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/files/fault_injecting_file_system.h"
#include "core/files/object_store_testing.h"
#include "core/tensor/tensor_variant.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TensorSlice Slice(absl::string_view text) { return *TensorSlice::Parse(text); }

Tensor Range(const TensorShape& shape, float first = 0) {
  Tensor tensor(DT_FLOAT, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = first + static_cast<float>(i);
  return tensor;
}

std::vector<float> Floats(const Tensor& tensor) {
  return std::vector<float>(tensor.flat<float>().begin(), tensor.flat<float>().end());
}

class BundleTest : public testing::Test {
 protected:
  void Write(const std::string& prefix, const std::vector<std::pair<std::string, Tensor>>& tensors) {
    ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), prefix));
    for (const auto& [name, tensor] : tensors) ASSERT_THAT(writer->Add(name, tensor), IsOk());
    ASSERT_THAT(writer->Finish(), IsOk());
  }
  void WriteRaw(const std::string& path, absl::string_view bytes) {
    auto file = fs_->NewWritableFile(path);
    ASSERT_THAT((*file)->Append(bytes), IsOk());
  }
  std::unique_ptr<BundleReader> Open(const std::string& prefix) {
    auto reader = BundleReader::Open(fs_.get(), prefix);
    EXPECT_THAT(reader, IsOk());
    return reader.ok() ? *std::move(reader) : nullptr;
  }

  std::unique_ptr<FileSystem> fs_ = NewMemoryFileSystem();
};

TEST_F(BundleTest, ReadsWhatItWrote) {
  Write("dir/ckpt", {{"w", Range({2, 3})},
                     {"b", AsTensor<int64_t>({1, 2, 3})},
                     {"names", AsTensor<tstring>({"x", "", std::string(300, 'y')})},
                     {"flags", AsTensor<bool>({true, false})},
                     {"step", Tensor::Scalar<int64_t>(100)},
                     {"empty", Tensor(DT_INT32, TensorShape({0, 5}))}});
  EXPECT_THAT(*fs_->List("dir"), ElementsAre("ckpt.data-00000-of-00001", "ckpt.index"));
  auto reader = Open("dir/ckpt");
  EXPECT_THAT(reader->CheckComplete(), IsOk());
  EXPECT_EQ(reader->List().size(), 6);
  EXPECT_TRUE(reader->Contains("w"));
  EXPECT_EQ(reader->Lookup("w")->shape, TensorShape({2, 3}));
  EXPECT_THAT(Floats(*reader->Read("w")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(reader->Read("names")->data<tstring>()[2], std::string(300, 'y'));
  EXPECT_TRUE(reader->Read("flags")->data<bool>()[0]);
  EXPECT_EQ(reader->Read("step")->scalar<int64_t>(), 100);
  EXPECT_EQ(reader->Read("empty")->shape(), TensorShape({0, 5}));
}

// Changes a tensor before each write, as a step that updates a reference variable does.
class UpdatingFileSystem : public FaultInjectingFileSystem {
 public:
  UpdatingFileSystem(FileSystem* base, Tensor tensor) : FaultInjectingFileSystem(base), tensor_(std::move(tensor)) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    ASSIGN_OR_RETURN(auto file, FaultInjectingFileSystem::NewWritableFile(path));
    return std::make_unique<File>(std::move(file), &tensor_);
  }

 private:
  class File : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> base, Tensor* tensor) : base_(std::move(base)), tensor_(tensor) {}
    absl::Status Append(absl::string_view data) override {
      for (float& element : tensor_->flat<float>()) ++element;
      return base_->Append(data);
    }
    absl::Status Flush() override { return base_->Flush(); }
    absl::Status Sync() override { return base_->Sync(); }
    absl::Status Close() override { return base_->Close(); }

   private:
    const std::unique_ptr<WritableFile> base_;
    Tensor* const tensor_;
  };

  Tensor tensor_;
};

TEST_F(BundleTest, ATensorThatChangesWhileItIsWrittenIsReadable) {
  const Tensor tensor = Range({300, 1000});
  UpdatingFileSystem updating(fs_.get(), tensor);
  ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(&updating, "ckpt"));
  ASSERT_THAT(writer->Add("w", tensor), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(Open("ckpt")->Read("w"), IsOk());
}

TEST_F(BundleTest, ReadsIntoABufferThatIsThere) {
  Write("ckpt", {{"w", Range({4})}});
  Tensor tensor(DT_FLOAT, TensorShape({4}));
  ASSERT_THAT(Open("ckpt")->ReadInto("w", &tensor), IsOk());
  EXPECT_THAT(Floats(tensor), ElementsAre(0, 1, 2, 3));
  Tensor other(DT_FLOAT, TensorShape({5}));
  EXPECT_THAT(Open("ckpt")->ReadInto("w", &other), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(BundleTest, LargeTensorsAreReadInParallel) {
  Write("ckpt", {{"small", Range({3})}, {"large", Range({3 << 20})}});
  auto queue = WorkQueue::Create({});
  BundleReader::Options options;
  options.work_queue = queue.get();
  ASSERT_OK_AND_ASSIGN(auto reader, BundleReader::Open(fs_.get(), "ckpt", options));
  ASSERT_OK_AND_ASSIGN(Tensor large, reader->Read("large"));
  for (int64_t i = 0; i < large.NumElements(); i += 1001) ASSERT_EQ(large.data<float>()[i], i);
}

TEST_F(BundleTest, RestoreSaysWhatDoesNotFit) {
  Write("ckpt", {{"a", Range({4, 3})}});
  auto reader = Open("ckpt");
  EXPECT_THAT(reader->Restore("zzz", "", DT_FLOAT),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("Key zzz not found in checkpoint")));
  EXPECT_THAT(reader->Restore("a", "", DT_INT64),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tensor_name = a; expected dtype int64 does not equal original dtype float")));
  EXPECT_THAT(reader->Restore("a", "5 3 0,1:-", DT_FLOAT),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not match the shape stored in checkpoint")));
  EXPECT_THAT(Floats(*reader->Restore("a", "4 3 1,2:1,1", DT_FLOAT)), ElementsAre(4, 7));
  EXPECT_THAT(BundleReader::Open(fs_.get(), "nowhere"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("Failed to find any matching files for nowhere")));
}

TEST_F(BundleTest, VariantsComeBackEncoded) {
  Tensor variants(DT_VARIANT, TensorShape({3}));
  variants.data<Variant>()[0] = MakeTensorVariant(Range({2, 2}));
  variants.data<Variant>()[2] = MakeTensorVariant(AsTensor<tstring>({"a", std::string(1000, 'b')}));
  Write("ckpt", {{"v", variants}, {"after", Range({3})}});
  auto reader = Open("ckpt");
  ASSERT_OK_AND_ASSIGN(const Tensor read, reader->Restore("v", "", DT_VARIANT));
  ASSERT_EQ(read.shape(), variants.shape());
  EXPECT_EQ(Floats(*TensorIn(read.data<Variant>()[0])), Floats(Range({2, 2})));
  EXPECT_TRUE(read.data<Variant>()[1].empty());
  EXPECT_EQ(TensorIn(read.data<Variant>()[2])->data<tstring>()[1], std::string(1000, 'b'));
  EXPECT_EQ(Floats(*reader->Read("after")), Floats(Range({3})));
  EXPECT_THAT(reader->Restore("v", "3 0,1", DT_VARIANT), StatusIs(absl::StatusCode::kUnimplemented));
}

// Truncated, or with one bit flipped, at any position.
TEST_F(BundleTest, DamagedVariantsAreDataLoss) {
  Write("ckpt", {{"v", Tensor::Scalar(MakeTensorVariant(Range({2})))}});
  const std::string path = BundleDataPath("ckpt", 0, 1);
  ASSERT_OK_AND_ASSIGN(const auto file, fs_->NewReadableFile(path));
  ASSERT_OK_AND_ASSIGN(const uint64_t size, file->Size());
  std::string good(size, '\0');
  ASSERT_THAT(file->ReadFully(0, size, good.data()), IsOk());
  for (size_t i = 0; i < good.size(); ++i) {
    WriteRaw(path, good.substr(0, i));
    EXPECT_THAT(Open("ckpt")->Read("v"), StatusIs(absl::StatusCode::kDataLoss)) << i;
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    WriteRaw(path, bad);
    EXPECT_THAT(Open("ckpt")->Read("v"), StatusIs(absl::StatusCode::kDataLoss)) << i;
  }
}

TEST_F(BundleTest, WhatCannotBeSavedIsRefused) {
  ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), "ckpt"));
  EXPECT_THAT(writer->Add("v", Tensor(DT_RESOURCE, TensorShape())), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(writer->Add("w", Range({1})), StatusIs(absl::StatusCode::kUnimplemented));
  ASSERT_OK_AND_ASSIGN(writer, BundleWriter::Create(fs_.get(), "ckpt"));
  EXPECT_THAT(writer->Add("w", Range({1})), IsOk());
  EXPECT_THAT(writer->Add("w", Range({1})), StatusIs(absl::StatusCode::kInvalidArgument));
  writer.reset();
  EXPECT_THAT(*fs_->List("."), IsEmpty());
}

TEST_F(BundleTest, SlicesMakeAWholeAndAnyPart) {
  // Rows 0-1 and 2-3 of the left two columns, and the right column.
  ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), "ckpt"));
  const TensorShape full({4, 3});
  ASSERT_THAT(writer->AddSlice("v", full, Slice("0,2:0,2"), AsTensor<float>({0, 1, 3, 4}, {2, 2})), IsOk());
  ASSERT_THAT(writer->AddSlice("v", full, Slice("2,2:0,2"), AsTensor<float>({6, 7, 9, 10}, {2, 2})), IsOk());
  ASSERT_THAT(writer->Save("v", "4 3 -:2,1", AsTensor<float>({2, 5, 8, 11}, {4, 1})), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  auto reader = Open("ckpt");
  ASSERT_EQ(reader->List().size(), 1);
  EXPECT_EQ(reader->List()[0].slices.size(), 3);
  EXPECT_THAT(Floats(*reader->Read("v")), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(Floats(*reader->ReadSlice("v", Slice("2,2:0,2"))), ElementsAre(6, 7, 9, 10));
  EXPECT_THAT(Floats(*reader->ReadSlice("v", Slice("1,2:1,2"))), ElementsAre(4, 5, 7, 8));
  EXPECT_THAT(reader->ReadSlice("v", Slice("3,2:-")), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(BundleTest, SlicesMustFitAndNotOverlap) {
  const TensorShape full({4, 3});
  for (const auto& [slice, shape] : std::vector<std::pair<std::string, TensorShape>>{
           {"0,2:-", {3, 3}}, {"0,5:-", {5, 3}}, {"0,2", {2}}, {"1,2:-", {2, 3}}}) {
    ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), "ckpt"));
    ASSERT_THAT(writer->AddSlice("v", full, Slice("0,2:-"), Range({2, 3})), IsOk());
    EXPECT_THAT(writer->AddSlice("v", full, Slice(slice), Range(shape)), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  for (const char* bad : {"0", "a,b", "-1,2", "0,0", "0,2,3", "0,-1", "0,2:"}) {
    EXPECT_THAT(TensorSlice::Parse(bad), StatusIs(absl::StatusCode::kInvalidArgument)) << bad;
  }
  for (const char* bad : {"4", "4 3 0,2", "x 3 0,2:-", "-4 3 0,2:-", "4 3 9,1:-"}) {
    EXPECT_THAT(ParseShapeAndSlice(bad), StatusIs(absl::StatusCode::kInvalidArgument)) << bad;
  }
}

TEST_F(BundleTest, MissingSlicesAreDataLoss) {
  ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), "ckpt"));
  ASSERT_THAT(writer->AddSlice("v", TensorShape({4}), Slice("0,2"), Range({2})), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(Open("ckpt")->Read("v"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("hold 2 of the 4 elements")));
  EXPECT_THAT(Floats(*Open("ckpt")->ReadSlice("v", Slice("1,1"))), ElementsAre(1));
}

TEST_F(BundleTest, MergesShardsAndTheirSlices) {
  for (int part = 0; part < 2; ++part) {
    ASSERT_OK_AND_ASSIGN(auto writer, BundleWriter::Create(fs_.get(), absl::StrCat("tmp/part-", part)));
    ASSERT_THAT(writer->Add(absl::StrCat("own", part), Range({2}, part)), IsOk());
    ASSERT_THAT(writer->AddSlice("v", TensorShape({4}), Slice(part == 0 ? "0,2" : "2,2"), Range({2}, 2 * part)),
                IsOk());
    ASSERT_THAT(writer->Finish(), IsOk());
  }
  ASSERT_THAT(MergeBundles(fs_.get(), {"tmp/part-0", "tmp/part-1"}, "ckpt"), IsOk());
  EXPECT_THAT(*fs_->List("."), ElementsAre("ckpt.data-00000-of-00002", "ckpt.data-00001-of-00002", "ckpt.index"));
  auto reader = Open("ckpt");
  EXPECT_THAT(reader->CheckComplete(), IsOk());
  EXPECT_THAT(Floats(*reader->Read("v")), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Floats(*reader->Read("own1")), ElementsAre(1, 2));
}

TEST_F(BundleTest, MergeRefusesTheSameTensorTwice) {
  Write("a", {{"w", Range({2})}});
  Write("b", {{"w", Range({2})}});
  EXPECT_THAT(MergeBundles(fs_.get(), {"a", "b"}, "ckpt"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'w'")));
  EXPECT_THAT(Open("a")->Read("w"), IsOk());
}

TEST_F(BundleTest, FlippedBitsOfTheDataAreDataLoss) {
  Write("ckpt", {{"w", Range({4})}, {"s", AsTensor<tstring>({"abc", "d", ""})}});
  const std::string path = BundleDataPath("ckpt", 0, 1);
  const std::string data = *ReadFileToString(fs_.get(), path);
  auto reader = Open("ckpt");
  for (size_t bit = 0; bit < data.size() * 8; ++bit) {
    std::string damaged = data;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    WriteRaw(path, damaged);
    auto fresh = Open("ckpt");
    const bool in_w = bit / 8 < 16;
    ASSERT_THAT(fresh->Read(in_w ? "w" : "s"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path))) << bit;
    ASSERT_THAT(fresh->Read(in_w ? "s" : "w"), IsOk());
  }
}

TEST_F(BundleTest, TruncatedDataIsDataLossThatNamesTheFile) {
  Write("ckpt", {{"w", Range({4})}, {"s", AsTensor<tstring>({"abc", "d", ""})}});
  const std::string path = BundleDataPath("ckpt", 0, 1);
  const std::string data = *ReadFileToString(fs_.get(), path);
  for (size_t size = 0; size < data.size(); ++size) {
    WriteRaw(path, absl::string_view(data).substr(0, size));
    auto reader = Open("ckpt");
    EXPECT_THAT(reader->CheckComplete(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
    EXPECT_THAT(reader->Read("s"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
  }
}

// Indexes with correct checksums but false entries.
TEST_F(BundleTest, AStoreThatFailsIsNoDamage) {
  Write("ckpt", {{"w", Range({2, 3})}});
  FaultInjectingFileSystem fs(fs_.get());
  ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(&fs, "ckpt"));
  fs.Inject({.kinds = {FaultInjectingFileSystem::kRead}});
  EXPECT_THAT(reader->Read("w"), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(BundleTest, LyingEntriesAreDataLoss) {
  const auto read = [&](const BundleEntry& entry, int num_shards = 1) -> absl::Status {
    BundleIndex index;
    index.num_shards = num_shards;
    index.entries["w"] = entry;
    EXPECT_THAT(WriteBundleIndex(fs_.get(), "ckpt.index", index, false), IsOk());
    WriteRaw(BundleDataPath("ckpt", 0, 1), "0123456789abcdef");
    auto reader = BundleReader::Open(fs_.get(), "ckpt");
    if (!reader.ok()) return reader.status();
    return (*reader)->Read("w").status();
  };
  BundleEntry good;
  good.dtype = DT_FLOAT;
  good.shape = TensorShape({4});
  good.size = 16;
  EXPECT_THAT(read(good), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum")));
  BundleEntry bad = good;
  bad.size = 15;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  bad = good;
  bad.offset = 1;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncated")));
  bad.offset = ~uint64_t{0} - 3;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  bad = good;
  bad.shard = 1;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  bad = good;
  bad.dtype = static_cast<DataType>(77);
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  bad = good;
  bad.shape = TensorShape({int64_t{1} << 40});
  bad.size = uint64_t{4} << 40;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncated")));
  bad.dtype = DT_STRING;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  bad.size = 16;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  bad.shape = TensorShape({1});
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  bad = good;
  bad.slices = {Slice("0,2"), Slice("0,2"), Slice("1,3")};
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(read(good, 200'000), StatusIs(absl::StatusCode::kDataLoss));
  bad = good;
  bad.dtype = DT_RESOURCE;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kUnimplemented));
  bad.dtype = DT_VARIANT;
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
  bad.slices = {Slice("0,2"), Slice("2,2")};
  EXPECT_THAT(read(bad), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(BundleTest, HugeStringLengthsAreDataLoss) {
  BundleIndex index;
  BundleEntry& entry = index.entries["s"];
  entry.dtype = DT_STRING;
  entry.shape = TensorShape({2});
  for (const std::string& data :
       {std::string(24, '\xff'), std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", 11),
        std::string("\x01\x01"
                    "1234ab",
                    8),
        std::string("\x01\x01"
                    "123",
                    5)}) {
    entry.size = data.size();
    ASSERT_THAT(WriteBundleIndex(fs_.get(), "ckpt.index", index, false), IsOk());
    WriteRaw(BundleDataPath("ckpt", 0, 1), data);
    EXPECT_THAT(Open("ckpt")->Read("s"), StatusIs(absl::StatusCode::kDataLoss));
  }
}

// Saves step 2 over and beside step 1, crashing at every operation in turn: step 1 stays loadable, and step 2 is either
// complete or absent.
void CrashEverywhere(bool in_object_store, const std::function<absl::Status(FileSystem*)>& save) {
  for (int64_t at = 0;; ++at) {
    auto base = NewMemoryFileSystem();
    FaultInjectingFileSystem fs(base.get());
    {
      auto writer = BundleWriter::Create(&fs, "dir/ckpt-1");
      ASSERT_THAT(writer, IsOk());
      ASSERT_THAT((*writer)->Add("w", Range({100}, 1)), IsOk());
      ASSERT_THAT((*writer)->Finish(), IsOk());
    }
    FaultInjectingFileSystem::Fault fault;
    fault.at = at;
    fs.Inject(fault);
    TestObjectStore store(&fs);
    absl::Status status = save(in_object_store ? static_cast<FileSystem*>(&store) : &fs);
    const bool crashed = fs.fault_happened();
    fs.Heal();
    ASSERT_THAT(fs.DropUnsyncedData(), IsOk());
    auto old = BundleReader::Open(base.get(), "dir/ckpt-1");
    ASSERT_THAT(old, IsOk()) << at;
    ASSERT_EQ((*old)->Read("w")->data<float>()[0], 1) << at;
    auto fresh = BundleReader::Open(base.get(), "dir/ckpt-2");
    if (fresh.ok()) {
      ASSERT_THAT((*fresh)->CheckComplete(), IsOk()) << at;
      ASSERT_EQ((*fresh)->Read("w")->data<float>()[0], 2) << at;
    } else {
      ASSERT_THAT(fresh, StatusIs(absl::StatusCode::kNotFound)) << at;
    }
    if (!crashed) {
      ASSERT_THAT(status, IsOk());
      ASSERT_THAT(fresh, IsOk());
      ASSERT_GT(at, 8);
      return;
    }
  }
}

// The parameter: in an object store.
class BundleCrashTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(All, BundleCrashTest, testing::Bool());

TEST_P(BundleCrashTest, ASaveThatCrashesAnywhereLeavesThePreviousCheckpoint) {
  CrashEverywhere(GetParam(), [](FileSystem* fs) -> absl::Status {
    ASSIGN_OR_RETURN(auto writer, BundleWriter::Create(fs, "dir/ckpt-2"));
    RETURN_IF_ERROR(writer->Add("w", Range({100}, 2)));
    RETURN_IF_ERROR(writer->Add("s", AsTensor<tstring>({"a", "b"})));
    return writer->Finish();
  });
}

TEST_P(BundleCrashTest, AMergeThatCrashesAnywhereLeavesThePreviousCheckpoint) {
  CrashEverywhere(GetParam(), [](FileSystem* fs) -> absl::Status {
    for (int part = 0; part < 2; ++part) {
      ASSIGN_OR_RETURN(auto writer, BundleWriter::Create(fs, absl::StrCat("dir/tmp/part-", part)));
      RETURN_IF_ERROR(writer->Add(part == 0 ? "w" : "x", Range({100}, 2)));
      RETURN_IF_ERROR(writer->Finish());
    }
    return MergeBundles(fs, {"dir/tmp/part-0", "dir/tmp/part-1"}, "dir/ckpt-2");
  });
}

TEST_P(BundleCrashTest, SavingOverACheckpointNeverMixesOldAndNew) {
  for (int64_t at = 0;; ++at) {
    auto base = NewMemoryFileSystem();
    FaultInjectingFileSystem fs(base.get());
    TestObjectStore store(&fs);
    FileSystem* const files = GetParam() ? static_cast<FileSystem*>(&store) : &fs;
    auto save = [files](float value) -> absl::Status {
      ASSIGN_OR_RETURN(auto writer, BundleWriter::Create(files, "ckpt"));
      RETURN_IF_ERROR(writer->Add("w", Range({100}, value)));
      return writer->Finish();
    };
    ASSERT_THAT(save(1), IsOk());
    FaultInjectingFileSystem::Fault fault;
    fault.at = at;
    fs.Inject(fault);
    save(2).IgnoreError();
    const bool crashed = fs.fault_happened();
    fs.Heal();
    ASSERT_THAT(fs.DropUnsyncedData(), IsOk());
    auto reader = BundleReader::Open(base.get(), "ckpt");
    if (reader.ok()) {
      ASSERT_THAT((*reader)->Read("w"), IsOk()) << at;
    }
    if (!crashed) return;
  }
}

}  // namespace
}  // namespace weir
