#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "core/checkpoint/snappy.h"
#include "core/checkpoint/table.h"

namespace weir {
namespace {

constexpr size_t kFooterSize = 48;
constexpr size_t kTrailerSize = 5;  // compression, checksum
constexpr uint64_t kMaxBlockSize = 256 << 20;
constexpr char kSnappy = 1;

class TableReader {
 public:
  explicit TableReader(const ReadableFile& file) : file_(file) {}

  absl::StatusOr<std::vector<TableEntry>> ReadAll() {
    ASSIGN_OR_RETURN(file_size_, file_.Size());
    // Prefix compression could make a small file expand to unbounded keys.
    key_bytes_left_ = 64 * file_size_ + (1 << 20);
    ASSIGN_OR_RETURN(const BlockHandle index_handle, ReadFooter());
    ASSIGN_OR_RETURN(const std::vector<TableEntry> index, ReadBlock(index_handle));
    std::vector<TableEntry> entries;
    uint64_t end = 0;
    for (const TableEntry& block : index) {
      absl::string_view value = block.value;
      BlockHandle handle;
      if (!GetHandle(&value, &handle)) return Corrupt("an index entry holds no block handle");
      // Blocks must follow each other, so that a hostile index cannot make one block be read over and over.
      if (handle.offset < end) return Corrupt("blocks overlap");
      end = handle.offset + handle.size;
      ASSIGN_OR_RETURN(std::vector<TableEntry> some, ReadBlock(handle));
      for (TableEntry& entry : some) {
        if (!entries.empty() && entry.key <= entries.back().key) return Corrupt("keys are not in order");
        entries.push_back(std::move(entry));
      }
    }
    return entries;
  }

 private:
  template <typename... Args>
  absl::Status Corrupt(const Args&... reason) const {
    return errors::DataLoss(file_.path(), ": not a readable table: ", reason...);
  }

  static bool GetHandle(absl::string_view* in, BlockHandle* handle) {
    return coding::GetVarint64(in, &handle->offset) && coding::GetVarint64(in, &handle->size);
  }

  absl::StatusOr<BlockHandle> ReadFooter() const {
    if (file_size_ < kFooterSize)
      return Corrupt("its ", file_size_, " bytes are too few for a footer; it is truncated");
    char footer[kFooterSize];
    RETURN_IF_ERROR(file_.ReadFully(file_size_ - kFooterSize, kFooterSize, footer));
    if (coding::DecodeFixed64(footer + kFooterSize - 8) != kTableMagic) {
      return Corrupt("bad magic number; it is truncated or of another format");
    }
    absl::string_view handles(footer, kFooterSize - 8);
    BlockHandle meta, index;
    if (!GetHandle(&handles, &meta) || !GetHandle(&handles, &index)) return Corrupt("bad block handle in the footer");
    return index;
  }

  absl::StatusOr<std::vector<TableEntry>> ReadBlock(BlockHandle handle) {
    if (handle.size > file_size_ || handle.offset > file_size_ - handle.size ||
        file_size_ - handle.size - handle.offset < kTrailerSize + kFooterSize) {
      return Corrupt("a block of ", handle.size, " bytes at ", handle.offset, " is beyond the file's ", file_size_);
    }
    if (handle.size > kMaxBlockSize) return Corrupt("a block of ", handle.size, " bytes is too large");
    std::string bytes(handle.size + kTrailerSize, '\0');
    RETURN_IF_ERROR(file_.ReadFully(handle.offset, bytes.size(), bytes.data()));
    const uint32_t stored = coding::DecodeFixed32(bytes.data() + handle.size + 1);
    if (crc32c::Unmask(stored) != crc32c::Extend(0, bytes.data(), handle.size + 1)) {
      return Corrupt("the checksum of the block at ", handle.offset, " does not match");
    }
    const char compression = bytes[handle.size];
    bytes.resize(handle.size);
    if (compression == kSnappy) {
      auto uncompressed = SnappyUncompress(bytes, kMaxBlockSize);
      if (!uncompressed.ok()) return Corrupt("block at ", handle.offset, ": ", uncompressed.status().message());
      bytes = *std::move(uncompressed);
    } else if (compression != kTableNoCompression) {
      return Corrupt("unknown compression ", static_cast<int>(compression));
    }
    return ParseBlock(bytes);
  }

  absl::StatusOr<std::vector<TableEntry>> ParseBlock(absl::string_view block) {
    if (block.size() < 4) return Corrupt("a block is too short");
    const uint64_t restarts = coding::DecodeFixed32(block.data() + block.size() - 4);
    if (restarts > (block.size() - 4) / 4) return Corrupt("a block has more restarts than room");
    absl::string_view rest = block.substr(0, block.size() - 4 - 4 * restarts);
    std::vector<TableEntry> entries;
    std::string key;
    while (!rest.empty()) {
      uint32_t shared = 0, added = 0, value_size = 0;
      if (!coding::GetVarint32(&rest, &shared) || !coding::GetVarint32(&rest, &added) ||
          !coding::GetVarint32(&rest, &value_size) || shared > key.size() ||
          uint64_t{added} + value_size > rest.size()) {
        return Corrupt("an entry of a block is malformed");
      }
      key.resize(shared);
      key.append(rest.data(), added);
      if (key.size() > key_bytes_left_) return Corrupt("its keys are too large");
      key_bytes_left_ -= key.size();
      entries.push_back({key, std::string(rest.substr(added, value_size))});
      rest.remove_prefix(added + value_size);
    }
    return entries;
  }

  const ReadableFile& file_;
  uint64_t file_size_ = 0;
  uint64_t key_bytes_left_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<TableEntry>> ReadTable(const ReadableFile& file) { return TableReader(file).ReadAll(); }

}  // namespace weir
