#include <algorithm>

#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "core/checkpoint/table.h"

namespace weir {
namespace {

constexpr size_t kBlockSize = 256 << 10;  // TensorFlow's
constexpr size_t kHandlesSize = 40;       // of the footer, padded

size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  return std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first - a.begin();
}

void PutHandle(std::string* out, BlockHandle handle) {
  coding::PutVarint(out, handle.offset);
  coding::PutVarint(out, handle.size);
}

// A short key in [start, limit).
std::string ShortSeparator(absl::string_view start, absl::string_view limit) {
  const size_t common = CommonPrefix(start, limit);
  if (common < std::min(start.size(), limit.size())) {
    const unsigned char byte = start[common];
    if (byte < 0xff && byte + 1 < static_cast<unsigned char>(limit[common])) {
      std::string separator(start.substr(0, common + 1));
      ++separator[common];
      return separator;
    }
  }
  return std::string(start);
}

// A short key that is not less than `key`.
std::string ShortSuccessor(absl::string_view key) {
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '\xff') continue;
    std::string successor(key.substr(0, i + 1));
    ++successor[i];
    return successor;
  }
  return std::string(key);
}

}  // namespace

void BlockBuilder::Add(absl::string_view key, absl::string_view value) {
  size_t shared = 0;
  if (since_restart_ < restart_interval_) {
    shared = CommonPrefix(last_key_, key);
  } else {
    restarts_.push_back(static_cast<uint32_t>(buffer_.size()));
    since_restart_ = 0;
  }
  coding::PutVarint(&buffer_, shared);
  coding::PutVarint(&buffer_, key.size() - shared);
  coding::PutVarint(&buffer_, value.size());
  buffer_.append(key.data() + shared, key.size() - shared);
  buffer_.append(value.data(), value.size());
  last_key_ = std::string(key);
  ++since_restart_;
}

std::string BlockBuilder::Finish() {
  for (uint32_t restart : restarts_) coding::PutFixed32(&buffer_, restart);
  coding::PutFixed32(&buffer_, static_cast<uint32_t>(restarts_.size()));
  std::string block = std::move(buffer_);
  buffer_.clear();
  last_key_.clear();
  restarts_ = {0};
  since_restart_ = 0;
  return block;
}

absl::Status TableWriter::Add(absl::string_view key, absl::string_view value) {
  if (any_key_ && key <= last_key_) {
    return errors::InvalidArgument("Table keys must ascend: '", key, "' after '", last_key_, "'");
  }
  if (block_ended_) AddToIndex(ShortSeparator(last_key_, key));
  any_key_ = true;
  last_key_ = std::string(key);
  data_.Add(key, value);
  return data_.SizeEstimate() >= kBlockSize ? EndDataBlock() : absl::OkStatus();
}

absl::Status TableWriter::EndDataBlock() {
  if (data_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(ended_, WriteBlock(&data_));
  block_ended_ = true;
  return absl::OkStatus();
}

void TableWriter::AddToIndex(absl::string_view separator) {
  std::string handle;
  PutHandle(&handle, ended_);
  index_.Add(separator, handle);
  block_ended_ = false;
}

absl::StatusOr<BlockHandle> TableWriter::WriteBlock(BlockBuilder* block) {
  std::string bytes = block->Finish();
  const BlockHandle handle{offset_, bytes.size()};
  bytes.push_back(kTableNoCompression);
  coding::PutFixed32(&bytes, crc32c::Mask(crc32c::Value(bytes)));
  RETURN_IF_ERROR(file_->Append(bytes));
  offset_ += bytes.size();
  return handle;
}

absl::Status TableWriter::Finish() {
  RETURN_IF_ERROR(EndDataBlock());
  BlockBuilder meta(16);
  ASSIGN_OR_RETURN(const BlockHandle meta_handle, WriteBlock(&meta));
  if (block_ended_) AddToIndex(ShortSuccessor(last_key_));
  ASSIGN_OR_RETURN(const BlockHandle index_handle, WriteBlock(&index_));
  std::string footer;
  PutHandle(&footer, meta_handle);
  PutHandle(&footer, index_handle);
  footer.resize(kHandlesSize);
  coding::PutFixed32(&footer, static_cast<uint32_t>(kTableMagic));
  coding::PutFixed32(&footer, static_cast<uint32_t>(kTableMagic >> 32));
  return file_->Append(footer);
}

}  // namespace weir
