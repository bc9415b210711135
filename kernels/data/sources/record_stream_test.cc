#include "kernels/data/sources/record_stream.h"

#include <snappy.h>
#include <zlib.h>

#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "core/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Checksummed(const std::string& data) {
  std::string result = data;
  coding::PutFixed32(&result, crc32c::Mask(crc32c::Value(data)));
  return result;
}

std::string Record(const std::string& data, uint64_t length) {
  std::string header;
  coding::PutFixed32(&header, static_cast<uint32_t>(length));
  coding::PutFixed32(&header, static_cast<uint32_t>(length >> 32));
  return Checksummed(header) + Checksummed(data);
}
std::string Record(const std::string& data) { return Record(data, data.size()); }

std::string Gzip(const std::string& data) {
  z_stream zlib = {};
  EXPECT_EQ(deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string result(data.size() + 1000, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  zlib.avail_in = data.size();
  zlib.next_out = reinterpret_cast<Bytef*>(result.data());
  zlib.avail_out = result.size();
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  result.resize(result.size() - zlib.avail_out);
  deflateEnd(&zlib);
  return result;
}

class RecordStreamTest : public ::testing::Test {
 protected:
  std::unique_ptr<ByteStream> Open(const std::string& content, Compression compression = Compression::kNone,
                                   int64_t buffer = 0) {
    EXPECT_THAT(WriteStringToFile(files_.get(), "mem://file", content), IsOk());
    auto stream = ByteStream::Open(files_.get(), "mem://file", compression, buffer);
    EXPECT_THAT(stream.status(), IsOk());
    return *std::move(stream);
  }
  // Records up to the end or an error.
  static absl::Status ReadAll(ByteStream& stream, std::vector<std::string>* records) {
    for (;;) {
      std::string record;
      ASSIGN_OR_RETURN(const bool more, ReadTfRecord(stream, &record));
      if (!more) return absl::OkStatus();
      records->push_back(record);
    }
  }

  const std::unique_ptr<FileSystem> files_ = NewMemoryFileSystem();
  std::vector<std::string> records_;
};

TEST_F(RecordStreamTest, ReadsRecords) {
  const auto stream = Open(Record("one") + Record("") + Record("three"), Compression::kNone, 5);
  EXPECT_THAT(ReadAll(*stream, &records_), IsOk());
  EXPECT_THAT(records_, ElementsAre("one", "", "three"));
}

TEST_F(RecordStreamTest, ALittleFileDoesNotFillTheMemory) {
  constexpr size_t kMost = 1 << 20;
  const std::string bomb = Gzip(Record("", uint64_t{1} << 40).substr(0, 12) + std::string(2 * kMost, '\0'));
  EXPECT_LT(bomb.size(), kMost / 100);
  auto stream = Open(bomb, Compression::kGzip);
  stream->set_max_piece(kMost);
  EXPECT_THAT(ReadAll(*stream, &records_), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("is longer than")));
  stream = Open(bomb, Compression::kGzip);
  stream->set_max_piece(kMost);
  std::string line;
  EXPECT_THAT(stream->ReadLine(&line).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("write shorter ones")));
}

TEST_F(RecordStreamTest, ReadsCompressedPartsOneAfterTheOther) {
  const auto stream = Open(Gzip(Record("one")) + Gzip(Record("two")), Compression::kGzip, 3);
  EXPECT_THAT(ReadAll(*stream, &records_), IsOk());
  EXPECT_THAT(records_, ElementsAre("one", "two"));
}

TEST_F(RecordStreamTest, EmptyBlocksAreNoEnd) {
  const auto block = [](const std::string& data) {
    std::string compressed;
    snappy::Compress(data.data(), data.size(), &compressed);
    return std::string("\0\0\0", 3) + static_cast<char>(compressed.size()) + compressed;
  };
  const std::string content = block(Record("one")) + block("") + block("") + block(Record("two")) + block("");
  EXPECT_THAT(ReadAll(*Open(content, Compression::kSnappy), &records_), IsOk());
  EXPECT_THAT(records_, ElementsAre("one", "two"));
  for (const std::string& damaged : {content.substr(0, content.size() - 1), content + std::string(3, '\0'),
                                     content + std::string(4, '\xff'), content + std::string(4, '\0')}) {
    EXPECT_THAT(ReadAll(*Open(damaged, Compression::kSnappy), &records_), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST_F(RecordStreamTest, EveryDamageIsDataLoss) {
  const std::string content = Record("data");
  for (size_t i = 0; i < content.size(); ++i) {
    std::string damaged = content;
    damaged[i] ^= 4;
    records_.clear();
    EXPECT_THAT(ReadAll(*Open(damaged), &records_), StatusIs(absl::StatusCode::kDataLoss,
                                                             // At the record's length, or at its data.
                                                             HasSubstr(i < 12 ? "at 0 (Is this" : "at 12")))
        << i;
  }
}

TEST_F(RecordStreamTest, EveryTruncationIsDataLoss) {
  const std::string content = Record("data"), compressed = Gzip(content);
  for (size_t size = 1; size < content.size(); ++size) {
    EXPECT_THAT(ReadAll(*Open(content.substr(0, size)), &records_), StatusIs(absl::StatusCode::kDataLoss)) << size;
  }
  for (size_t size = 1; size < compressed.size(); ++size) {
    EXPECT_THAT(ReadAll(*Open(compressed.substr(0, size), Compression::kGzip), &records_),
                StatusIs(absl::StatusCode::kDataLoss))
        << size;
  }
}

TEST_F(RecordStreamTest, LengthsAreNotBelieved) {
  for (uint64_t length : {uint64_t{1} << 40, uint64_t{1} << 62, ~uint64_t{0}}) {
    EXPECT_THAT(ReadAll(*Open(Record("data", length)), &records_), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST_F(RecordStreamTest, ReadsLines) {
  const auto stream = Open("a\r\n\nlong line\nlast", Compression::kNone, 2);
  std::vector<std::string> lines;
  std::string line;
  for (auto more = stream->ReadLine(&line); more.ok() && *more; more = stream->ReadLine(&line)) lines.push_back(line);
  EXPECT_THAT(lines, ElementsAre("a", "", "long line", "last"));
}

TEST_F(RecordStreamTest, SkipsAndCounts) {
  const auto stream = Open("0123456789", Compression::kNone, 3);
  ASSERT_THAT(stream->Skip(4), IsOk());
  std::string rest;
  ASSERT_THAT(stream->Read(3, &rest), IsOk());
  EXPECT_EQ(rest, "456");
  EXPECT_EQ(stream->position(), 7);
  ASSERT_THAT(stream->Skip(uint64_t{1} << 60), IsOk());
  EXPECT_EQ(stream->position(), 10);
}

TEST(Compression, UnknownKindsAreRefused) {
  EXPECT_THAT(ParseCompression("BROTLI").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Unsupported compression_type: BROTLI")));
}

}  // namespace
}  // namespace weir
