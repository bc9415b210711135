// IDX files: a header with the type and the dimensions, then big-endian numbers.
#include <utility>

#include "client/data/dataset.h"
#include "client/ops.h"
#include "kernels/data/sources/record_stream.h"

namespace weir {
namespace {

constexpr int64_t kMaxRecordBytes = int64_t{1} << 31;

struct IdxHead {
  DataType type = DT_INVALID;
  std::vector<int64_t> dims;
  int64_t bytes() const { return 4 + 4 * static_cast<int64_t>(dims.size()); }
};

DataType TypeOf(uint8_t code) {
  switch (code) {
    case 0x08:
      return DT_UINT8;
    case 0x09:
      return DT_INT8;
    case 0x0B:
      return DT_INT16;
    case 0x0C:
      return DT_INT32;
    case 0x0D:
      return DT_FLOAT;
    case 0x0E:
      return DT_DOUBLE;
    default:
      return DT_INVALID;
  }
}

absl::StatusOr<IdxHead> ParseHead(ByteStream& stream) {
  std::string magic;
  RETURN_IF_ERROR(stream.Read(4, &magic));
  if (magic.size() < 4 || magic[0] != 0 || magic[1] != 0) return errors::DataLoss("is not an IDX file");
  IdxHead head{.type = TypeOf(static_cast<uint8_t>(magic[2]))};
  if (head.type == DT_INVALID) return errors::DataLoss("has the unknown type ", static_cast<int>(magic[2]));
  const int dims = static_cast<uint8_t>(magic[3]);
  if (dims == 0) return errors::DataLoss("has no dimension, hence no slices");
  std::string sizes;
  RETURN_IF_ERROR(stream.Read(4 * dims, &sizes));
  if (static_cast<int>(sizes.size()) < 4 * dims) return errors::DataLoss("is truncated within its header");
  auto record = static_cast<int64_t>(DataTypeSize(head.type));
  for (int i = 0; i < dims; ++i) {
    int64_t size = 0;
    for (int byte = 0; byte < 4; ++byte) size = size << 8 | static_cast<uint8_t>(sizes[4 * i + byte]);
    head.dims.push_back(size);
    if (i == 0) continue;
    if (size == 0 || record > kMaxRecordBytes / size) return errors::DataLoss("has slices of an invalid size");
    record *= size;
  }
  return head;
}

absl::StatusOr<IdxHead> ReadHead(const std::string& path, const FileOptions& options) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(path));
  ASSIGN_OR_RETURN(const Compression compression, ParseCompression(options.compression));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, ByteStream::Open(files, path, compression, 0));
  absl::StatusOr<IdxHead> head = ParseHead(*stream);
  if (!head.ok()) return Annotate(head.status(), path);
  return head;
}

}  // namespace

Dataset Dataset::Idx(const Scope& scope, const std::string& file, const FileOptions& options) {
  const absl::StatusOr<IdxHead> head = ReadHead(file, options);
  if (!head.ok()) {
    scope.UpdateStatus(head.status());
    return Dataset(scope, Output(), {});
  }
  const std::vector<int64_t> slice(head->dims.begin() + 1, head->dims.end());
  FixedLengthOptions records{.header_bytes = head->bytes(), .file = options};
  records.record_bytes = static_cast<int64_t>(DataTypeSize(head->type));
  for (const int64_t dim : slice) records.record_bytes *= dim;
  const Dataset whole = FixedLengthRecords(scope, Tensor::Scalar<tstring>(file), records)
                            .Map([&](const Scope& s, const OutputList& record) {
                              const Output numbers = ops::DecodeRaw(s, record[0], head->type, {.little_endian = false});
                              return OutputList{ops::Reshape(s, numbers, Tensor::Vector<int64_t>(slice))};
                            });
  // Exactly as many slices as the header says: no more, even if the file is longer, and no fewer.
  const Dataset promised = whole.Take(head->dims[0]);
  if (!promised.usable()) return promised;
  return promised.With(
      ops::AssertCardinalityDataset(scope, promised.variant_, head->dims[0], promised.types(), promised.shapes()));
}

}  // namespace weir
