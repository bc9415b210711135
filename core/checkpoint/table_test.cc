#include "core/checkpoint/table.h"

#include <functional>
#include <limits>

#include "absl/strings/match.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "core/checkpoint/snappy.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

std::string BuildTable(const std::vector<TableEntry>& entries) {
  auto fs = NewMemoryFileSystem();
  auto file = fs->NewWritableFile("table");
  TableWriter writer(file->get());
  for (const TableEntry& entry : entries) EXPECT_TRUE(writer.Add(entry.key, entry.value).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return *ReadFileToString(fs.get(), "table");
}

absl::StatusOr<std::vector<TableEntry>> ParseTable(absl::string_view bytes) {
  auto fs = NewMemoryFileSystem();
  auto file = fs->NewWritableFile("table");
  EXPECT_TRUE((*file)->Append(bytes).ok());
  auto readable = fs->NewReadableFile("table");
  return ReadTable(**readable);
}

std::vector<TableEntry> ManyEntries(int count) {
  std::vector<TableEntry> entries;
  for (int i = 0; i < count; ++i) {
    entries.push_back({absl::StrCat("layer_", 100000 + i, "/kernel"), std::string(i % 100, 'v')});
  }
  return entries;
}

TEST(TableTest, ReadsWhatItWrote) {
  for (int count : {0, 1, 16, 17, 20000}) {
    const auto entries = ManyEntries(count);
    auto read = ParseTable(BuildTable(entries));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), entries.size());
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ((*read)[i].key, entries[i].key);
      ASSERT_EQ((*read)[i].value, entries[i].value);
    }
  }
}

TEST(TableTest, RefusesKeysOutOfOrder) {
  auto fs = NewMemoryFileSystem();
  auto file = fs->NewWritableFile("table");
  TableWriter writer(file->get());
  ASSERT_TRUE(writer.Add("b", "").ok());
  EXPECT_EQ(writer.Add("b", "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer.Add("a", "").code(), absl::StatusCode::kInvalidArgument);
}

TEST(TableTest, EveryTruncationIsDataLoss) {
  const std::string table = BuildTable(ManyEntries(20));
  for (size_t size = 0; size < table.size(); ++size) {
    absl::Status status = ParseTable(absl::string_view(table).substr(0, size)).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    ASSERT_TRUE(absl::StartsWith(status.message(), "table: ")) << status;
  }
}

TEST(TableTest, EveryFlippedBitIsNoticedOrHarmless) {
  const auto entries = ManyEntries(20);
  const std::string table = BuildTable(entries);
  for (size_t bit = 0; bit < table.size() * 8; ++bit) {
    std::string damaged = table;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    auto read = ParseTable(damaged);
    if (read.ok()) {
      ASSERT_EQ(read->size(), entries.size());  // the padding of the footer and the unread meta block
    } else {
      ASSERT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
    }
  }
}

// A table of one block, with correct checksums whatever the block contains.
std::string WrapBlock(std::string block, char compression) {
  auto append_block = [](std::string* out, std::string bytes, char type) {
    const size_t size = bytes.size();
    bytes.push_back(type);
    coding::PutFixed32(&bytes, crc32c::Mask(crc32c::Value(bytes)));
    out->append(bytes);
    return size;
  };
  std::string table;
  const size_t block_size = append_block(&table, std::move(block), compression);
  std::string handle;
  coding::PutVarint(&handle, 0);
  coding::PutVarint(&handle, block_size);
  BlockBuilder index(1);
  index.Add("z", handle);
  const size_t index_offset = table.size();
  const size_t index_size = append_block(&table, index.Finish(), 0);
  std::string footer;
  for (uint64_t number : {uint64_t{0}, uint64_t{0}, uint64_t{index_offset}, uint64_t{index_size}}) {
    coding::PutVarint(&footer, number);
  }
  footer.resize(40);
  coding::PutFixed32(&footer, 0x8b80fb57);
  coding::PutFixed32(&footer, 0xdb477524);
  return table + footer;
}

TEST(TableTest, HostileBlocksWithGoodChecksumsAreDataLoss) {
  const std::string huge_varint(10, '\xff');
  std::string too_many_restarts = "\0\1\0a";
  coding::PutFixed32(&too_many_restarts, 0xffffffff);
  std::string no_restarts(4, '\0');
  for (const std::string& block : {std::string(), std::string("x"), too_many_restarts, huge_varint + no_restarts,
                                   std::string("\5\1\1ab", 5) + no_restarts, std::string("\0\x7f\1ab", 5) + no_restarts,
                                   std::string("\0\1\0b\0\1\0a", 8) + no_restarts}) {
    EXPECT_EQ(ParseTable(WrapBlock(block, 0)).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(ParseTable(WrapBlock(block, 1)).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(ParseTable(WrapBlock(block, 7)).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(TableTest, SharedPrefixesCannotFillTheMemory) {
  std::string block("\0", 1);
  coding::PutVarint(&block, 100'000);
  coding::PutVarint(&block, 0);
  block += std::string(100'000, 'a');
  for (int i = 0; i < 100'000; ++i) {
    coding::PutVarint(&block, 100'000 + i);
    coding::PutVarint(&block, 1);
    coding::PutVarint(&block, 0);
    block += 'a';
  }
  block += std::string(4, '\0');
  EXPECT_EQ(ParseTable(WrapBlock(block, 0)).status().code(), absl::StatusCode::kDataLoss);
}

TEST(TableTest, ReadsSnappyBlocks) {
  BlockBuilder builder(16);
  builder.Add("key", "value");
  const std::string block = builder.Finish();
  std::string compressed;
  coding::PutVarint(&compressed, block.size());
  compressed.push_back(static_cast<char>((block.size() - 1) << 2));
  compressed += block;
  auto read = ParseTable(WrapBlock(compressed, 1));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)[0].value, "value");
}

TEST(SnappyTest, CopiesMayOverlapThemselves) {
  // "ab", then a copy of ten bytes from offset two.
  EXPECT_EQ(*SnappyUncompress(absl::string_view("\x0c\x04"
                                                "ab\x19\x02",
                                                6),
                              100),
            "abababababab");
  EXPECT_EQ(*SnappyUncompress(absl::string_view("\x06\x04"
                                                "ab\x0e\x02\0",
                                                7),
                              100),
            "ababab");
}

TEST(SnappyTest, RefusesWhatIsNotWellFormed) {
  for (absl::string_view bad : {absl::string_view(""), absl::string_view("\xff\xff\xff\xff\xff\xff"),
                                absl::string_view("\x05\x04"
                                                  "ab",
                                                  4),
                                absl::string_view("\x02\x19\x02", 3), absl::string_view("\x02\xfc\xff\xff\xff\xff", 6),
                                absl::string_view("\x64\x04"
                                                  "ab",
                                                  4),
                                absl::string_view("\x7f\x00", 2)}) {
    EXPECT_EQ(SnappyUncompress(bad, 100).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(CodingTest, VarintsRoundTrip) {
  for (uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 32, ~uint64_t{0}}) {
    std::string bytes;
    coding::PutVarint(&bytes, value);
    absl::string_view rest = bytes;
    uint64_t read = 0;
    ASSERT_TRUE(coding::GetVarint64(&rest, &read));
    EXPECT_EQ(read, value);
    rest = absl::string_view(bytes).substr(0, bytes.size() - 1);
    EXPECT_FALSE(coding::GetVarint64(&rest, &read));
  }
  absl::string_view too_long("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  uint64_t read = 0;
  EXPECT_FALSE(coding::GetVarint64(&too_long, &read));
}

TEST(CodingTest, OrderedEncodingsSortLikeTheirValues) {
  std::string previous;
  for (int64_t value : {std::numeric_limits<int64_t>::min(), int64_t{-1000000}, int64_t{-65}, int64_t{-64}, int64_t{-1},
                        int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{8191}, int64_t{8192},
                        int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
    std::string bytes;
    coding::PutOrderedSignedNumber(&bytes, value);
    EXPECT_LT(previous, bytes) << value;
    previous = bytes;
  }
  std::string escaped;
  coding::PutOrderedString(&escaped, absl::string_view("a\0\xff", 3));
  EXPECT_EQ(escaped, std::string("a\0\xff\xff\0\0\1", 7));
}

}  // namespace
}  // namespace weir
