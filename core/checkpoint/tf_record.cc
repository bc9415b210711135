#include "core/checkpoint/tf_record.h"

#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"

namespace weir {
namespace {

constexpr size_t kLengthBytes = 8;

}  // namespace

std::string TfRecord(absl::string_view data) {
  std::string record;
  record.reserve(kTfRecordHeader + data.size() + kTfRecordFooter);
  coding::PutFixed32(&record, static_cast<uint32_t>(data.size()));
  coding::PutFixed32(&record, static_cast<uint32_t>(uint64_t{data.size()} >> 32));
  coding::PutFixed32(&record, crc32c::Mask(crc32c::Value(record)));
  record.append(data.data(), data.size());
  coding::PutFixed32(&record, crc32c::Mask(crc32c::Value(data)));
  return record;
}

bool ReadTfRecordHeader(absl::string_view header, uint64_t* length) {
  if (header.size() < kTfRecordHeader) return false;
  if (!TfRecordIsIntact(header.substr(0, kLengthBytes), header.substr(kLengthBytes))) return false;
  *length = coding::DecodeFixed64(header.data());
  return true;
}

bool TfRecordIsIntact(absl::string_view data, absl::string_view footer) {
  return footer.size() >= kTfRecordFooter &&
         crc32c::Unmask(coding::DecodeFixed32(footer.data())) == crc32c::Value(data);
}

}  // namespace weir
