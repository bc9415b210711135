#include "core/checkpoint/bundle_format.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/table.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"
#include "tensorflow/core/framework/tensor_slice.pb.h"
#include "tensorflow/core/protobuf/tensor_bundle.pb.h"

namespace weir {
namespace {

constexpr char kHeaderKey[] = "";
constexpr int kVersion = 1;
constexpr int kMaxShards = 100'000;  // five digits in the file names

std::string EncodeHeader(int num_shards) {
  tensorflow::BundleHeaderProto header;
  header.set_num_shards(num_shards);
  header.mutable_version()->set_producer(kVersion);
  return header.SerializeAsString();
}

std::string EncodeEntry(const BundleEntry& entry) {
  tensorflow::BundleEntryProto proto;
  proto.set_dtype(static_cast<tensorflow::DataType>(entry.dtype));
  entry.shape.ToProto(proto.mutable_shape());
  for (const TensorSlice& slice : entry.slices) slice.ToProto(proto.add_slices());
  if (entry.slices.empty()) {
    proto.set_shard_id(entry.shard);
    proto.set_offset(entry.offset);
    proto.set_size(entry.size);
    proto.set_crc32c(entry.masked_crc);
  }
  return proto.SerializeAsString();
}

absl::StatusOr<int> DecodeHeader(const std::string& bytes) {
  tensorflow::BundleHeaderProto header;
  if (!header.ParseFromString(bytes)) return errors::DataLoss("its header is malformed");
  if (header.endianness() != tensorflow::BundleHeaderProto::LITTLE) {
    return errors::Unimplemented("it was written on a big-endian machine");
  }
  if (header.version().min_consumer() > kVersion) {
    return errors::Unimplemented("it needs a reader of version ", header.version().min_consumer());
  }
  if (header.num_shards() < 1 || header.num_shards() > kMaxShards) {
    return errors::DataLoss("its header counts ", header.num_shards(), " shards");
  }
  return header.num_shards();
}

absl::Status CheckSize(const BundleEntry& entry) {
  if (entry.dtype == DT_STRING) {
    // At least one length byte each.
    if (static_cast<uint64_t>(entry.shape.num_elements()) <= entry.size) return absl::OkStatus();
  } else if (entry.dtype == DT_VARIANT) {
    // At least a length and a checksum each.
    if (static_cast<uint64_t>(entry.shape.num_elements()) <= entry.size / 5) return absl::OkStatus();
  } else if (!IsPlainType(entry.dtype)) {
    return absl::OkStatus();
  } else {
    const int64_t bytes = MultiplyWithoutOverflow(entry.shape.num_elements(), DataTypeSize(entry.dtype));
    if (bytes >= 0 && static_cast<uint64_t>(bytes) == entry.size) return absl::OkStatus();
  }
  return errors::DataLoss(entry.size, " bytes do not fit ", DataTypeName(entry.dtype), entry.shape.ToString());
}

absl::StatusOr<BundleEntry> DecodeEntry(const std::string& bytes, int num_shards) {
  tensorflow::BundleEntryProto proto;
  if (!proto.ParseFromString(bytes)) return errors::DataLoss("malformed entry");
  BundleEntry entry;
  entry.dtype = static_cast<DataType>(proto.dtype());
  if (!IsValidDataType(entry.dtype)) return errors::DataLoss("unknown dtype ", static_cast<int>(proto.dtype()));
  ASSIGN_OR_RETURN(entry.shape, TensorShape::FromProto(proto.shape()));
  if (proto.shard_id() < 0 || proto.shard_id() >= num_shards) {
    return errors::DataLoss("shard ", proto.shard_id(), " of ", num_shards);
  }
  if (proto.offset() < 0 || proto.size() < 0 || proto.offset() > INT64_MAX - proto.size()) {
    return errors::DataLoss("offset ", proto.offset(), " and size ", proto.size());
  }
  entry.shard = proto.shard_id();
  entry.offset = proto.offset();
  entry.size = proto.size();
  entry.masked_crc = proto.crc32c();
  for (const auto& slice_proto : proto.slices()) {
    ASSIGN_OR_RETURN(TensorSlice slice, TensorSlice::FromProto(slice_proto));
    RETURN_IF_ERROR(slice.ShapeWithin(entry.shape).status());
    entry.slices.push_back(std::move(slice));
  }
  if (entry.slices.empty()) {
    RETURN_IF_ERROR(CheckSize(entry));
  } else if (entry.dtype != DT_STRING && !IsPlainType(entry.dtype)) {
    return errors::DataLoss("slices of type ", DataTypeName(entry.dtype));
  }
  return entry;
}

// Reported as damage to this file, whatever code the failed check returned.
absl::Status Damaged(const std::string& path, absl::string_view where, const absl::Status& status) {
  const auto code = status.code() == absl::StatusCode::kUnimplemented ? status.code() : absl::StatusCode::kDataLoss;
  return absl::Status(code, absl::StrCat(path, ": not a readable checkpoint: ", where, status.message()));
}

}  // namespace

std::string BundleIndexPath(absl::string_view prefix) { return absl::StrCat(prefix, ".index"); }

std::string BundleDataPath(absl::string_view prefix, int shard, int num_shards) {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix, shard, num_shards);
}

std::string SliceKey(absl::string_view name, const TensorSlice& slice) {
  std::string key;
  coding::PutOrderedNumber(&key, 0);
  coding::PutOrderedString(&key, name);
  coding::PutOrderedNumber(&key, slice.dims());
  for (const TensorSlice::Extent& extent : slice.extents()) {
    coding::PutOrderedSignedNumber(&key, extent.start);
    coding::PutOrderedSignedNumber(&key, extent.length);
  }
  return key;
}

bool IsSliceKey(absl::string_view key) { return !key.empty() && key[0] == '\0'; }

absl::Status WriteBundleIndex(FileSystem* file_system, const std::string& path, const BundleIndex& index, bool sync) {
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, file_system->NewWritableFile(path));
  TableWriter table(file.get());
  RETURN_IF_ERROR(table.Add(kHeaderKey, EncodeHeader(index.num_shards)));
  for (const auto& [key, entry] : index.entries) RETURN_IF_ERROR(table.Add(key, EncodeEntry(entry)));
  RETURN_IF_ERROR(table.Finish());
  if (sync) RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

absl::StatusOr<BundleIndex> ReadBundleIndex(FileSystem* file_system, absl::string_view prefix) {
  const std::string path = BundleIndexPath(prefix);
  auto file = file_system->NewReadableFile(path);
  if (absl::IsNotFound(file.status())) {
    return errors::NotFound("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
                            prefix);
  }
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(const std::vector<TableEntry> table, ReadTable(**file));
  if (table.empty() || table[0].key != kHeaderKey) {
    return Damaged(path, "", errors::DataLoss("it has no header"));
  }
  BundleIndex index;
  auto num_shards = DecodeHeader(table[0].value);
  if (!num_shards.ok()) return Damaged(path, "", num_shards.status());
  index.num_shards = *num_shards;
  for (size_t i = 1; i < table.size(); ++i) {
    auto entry = DecodeEntry(table[i].value, index.num_shards);
    if (!entry.ok()) {
      return Damaged(path, absl::StrCat("entry '", absl::CEscape(table[i].key), "': "), entry.status());
    }
    index.entries.emplace_hint(index.entries.end(), table[i].key, *std::move(entry));
  }
  return index;
}

absl::Status CheckBundleData(FileSystem* file_system, absl::string_view prefix, const BundleIndex& index) {
  std::vector<uint64_t> needed(index.num_shards, 0);
  for (const auto& [key, entry] : index.entries) {
    if (entry.slices.empty()) needed[entry.shard] = std::max(needed[entry.shard], entry.offset + entry.size);
    for (const TensorSlice& slice : entry.slices) {
      if (index.entries.count(SliceKey(key, slice)) > 0) continue;
      return errors::DataLoss(BundleIndexPath(prefix), ": the slice ", slice.ToString(), " of '", key, "' is missing");
    }
  }
  for (int shard = 0; shard < index.num_shards; ++shard) {
    const std::string path = BundleDataPath(prefix, shard, index.num_shards);
    auto size = file_system->Size(path);
    if (!size.ok()) return Annotate(size.status(), absl::StrCat("checkpoint ", prefix, " is incomplete"));
    if (*size >= needed[shard]) continue;
    return errors::DataLoss(path, ": it has ", *size, " bytes, but its index asks for ", needed[shard],
                            "; it is truncated");
  }
  return absl::OkStatus();
}

}  // namespace weir
