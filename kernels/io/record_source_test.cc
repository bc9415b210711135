#include "kernels/io/record_source.h"

#include <zlib.h>

#include "core/testing.h"

namespace weir {
namespace {

using Code = absl::StatusCode;
using Record = std::pair<std::string, std::string>;

class RecordSourceTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = "mem://" + name;
    EXPECT_THAT(WriteStringToFile(*file_systems_->Find(path), path, contents), IsOk());
    return path;
  }
  std::vector<Record> ReadAll(RecordSource& source, const std::string& work) {
    std::vector<Record> records;
    EXPECT_THAT(source.Open(*file_systems_, work), IsOk());
    for (Record record;;) {
      absl::StatusOr<bool> more = source.Next(&record.first, &record.second);
      EXPECT_THAT(more, IsOk());
      if (!more.ok() || !*more) return records;
      records.push_back(record);
    }
  }

  std::shared_ptr<FileSystemRegistry> file_systems_ = FileSystemRegistry::Default();
};

TEST_F(RecordSourceTest, LinesAreNumbered) {
  const std::string path = Write("lines", "head\r\none\n\ntwo");
  EXPECT_EQ(ReadAll(*NewTextLineSource(1), path),
            (std::vector<Record>{{path + ":2", "one"}, {path + ":3", ""}, {path + ":4", "two"}}));
  EXPECT_TRUE(ReadAll(*NewTextLineSource(9), path).empty());
}

TEST_F(RecordSourceTest, RecordsOfOneLengthMayOverlapAndSkip) {
  const std::string path = Write("fixed", "HHabcdefF");
  const auto read = [&](FixedLengthFormat format) {
    std::string all;
    for (const Record& record : ReadAll(*NewFixedLengthSource(format), path)) all += record.second + "|";
    return all;
  };
  EXPECT_EQ(read({.header_bytes = 2, .record_bytes = 3, .footer_bytes = 1}), "abc|def|");
  EXPECT_EQ(read({.header_bytes = 2, .record_bytes = 3, .footer_bytes = 1, .hop_bytes = 1}), "abc|bcd|cde|def|");
  EXPECT_EQ(read({.header_bytes = 2, .record_bytes = 1, .footer_bytes = 1, .hop_bytes = 5}), "a|f|");
  EXPECT_EQ(read({.header_bytes = 50, .record_bytes = 1}), "");
}

TEST_F(RecordSourceTest, CompressedFilesAreReadAsTheyWere) {
  const std::string plain = "abcdef";
  uLongf size = compressBound(plain.size());
  std::string zipped(size, '\0');
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(zipped.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
                     plain.size()),
            Z_OK);
  zipped.resize(size);
  const std::unique_ptr<RecordSource> source = NewFixedLengthSource({.record_bytes = 6, .zlib = true});
  EXPECT_EQ(ReadAll(*source, Write("zipped", zipped))[0].second, plain);
  ASSERT_THAT(source->Open(*file_systems_, Write("junk", "no such format")), IsOk());
  std::string key, value;
  EXPECT_THAT(source->Next(&key, &value), StatusIs(Code::kDataLoss));
}

TEST_F(RecordSourceTest, ABadRecordIsMetAgain) {
  const std::unique_ptr<RecordSource> source = NewRecordFileSource(RecordCompression::kNone);
  for (const std::string& bad : {std::string(5, 'x'), std::string(40, 'x')}) {
    ASSERT_THAT(source->Open(*file_systems_, Write("bad", bad)), IsOk());
    std::string key, value;
    for (int i = 0; i < 2; ++i) EXPECT_THAT(source->Next(&key, &value), StatusIs(Code::kDataLoss));
  }
}

}  // namespace
}  // namespace weir
