#include "core/checkpoint/bundle_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/escaping.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "core/tensor/tensor_proto.h"
#include "core/tensor/variant.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace weir {
namespace {

// The bytes that one call reads and checksums: large enough for few calls, small enough to share among threads.
constexpr uint64_t kReadPiece = 2 << 20;
constexpr int64_t kNanosPerPiece = 500'000;

// In C++ any byte other than 0 and 1 is an invalid bool.
void NormalizeBools(Tensor* tensor) {
  for (unsigned char *p = tensor->data<unsigned char>(), *end = p + tensor->NumElements(); p < end; ++p) *p = *p != 0;
}

absl::Status Damaged(const ReadableFile& file, const std::string& key, absl::string_view reason) {
  return errors::DataLoss(file.path(), ": tensor '", absl::CEscape(key), "': ", reason);
}

// Whether the store of a file failed, rather than the file: a later try may read it.
bool IsStoreFailure(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsUnauthenticated(status) ||
         absl::IsPermissionDenied(status);
}

}  // namespace

BundleReader::BundleReader(FileSystem* file_system, std::string prefix, Options options, BundleIndex index)
    : file_system_(file_system), prefix_(std::move(prefix)), options_(options), index_(std::move(index)) {}

absl::StatusOr<std::unique_ptr<BundleReader>> BundleReader::Open(FileSystem* file_system, const std::string& prefix,
                                                                 Options options) {
  ASSIGN_OR_RETURN(BundleIndex index, ReadBundleIndex(file_system, prefix));
  return std::unique_ptr<BundleReader>(new BundleReader(file_system, prefix, options, std::move(index)));
}

const BundleEntry* BundleReader::Find(absl::string_view key) const {
  auto found = index_.entries.find(std::string(key));
  return found == index_.entries.end() ? nullptr : &found->second;
}

absl::StatusOr<const BundleEntry*> BundleReader::Need(absl::string_view name) const {
  if (const BundleEntry* entry = Find(name)) return entry;
  return errors::NotFound("Key ", name, " not found in checkpoint ", prefix_);
}

absl::StatusOr<BundleReader::Info> BundleReader::Lookup(absl::string_view name) const {
  ASSIGN_OR_RETURN(const BundleEntry* entry, Need(name));
  return Info{std::string(name), entry->dtype, entry->shape, entry->slices};
}

std::vector<BundleReader::Info> BundleReader::List() const {
  std::vector<Info> infos;
  for (const auto& [key, entry] : index_.entries) {
    if (!IsSliceKey(key)) infos.push_back({key, entry.dtype, entry.shape, entry.slices});
  }
  return infos;
}

absl::StatusOr<Tensor> BundleReader::Read(absl::string_view name, Allocator* allocator) const {
  ASSIGN_OR_RETURN(const BundleEntry* entry, Need(name));
  if (entry->slices.empty()) return ReadEntry(std::string(name), *entry, allocator);
  return ReadSlice(name, TensorSlice(entry->shape.dims()), allocator);
}

absl::Status BundleReader::ReadInto(absl::string_view name, Tensor* tensor) const {
  ASSIGN_OR_RETURN(const BundleEntry* entry, Need(name));
  if (tensor->dtype() != entry->dtype || tensor->shape() != entry->shape) {
    return errors::InvalidArgument("Tensor '", name, "' in checkpoint ", prefix_, " is ", DataTypeName(entry->dtype),
                                   entry->shape.ToString(), ", not ", DataTypeName(tensor->dtype()),
                                   tensor->shape().ToString());
  }
  if (entry->slices.empty()) return ReadEntryInto(std::string(name), *entry, tensor);
  return Assemble(std::string(name), *entry, TensorSlice(entry->shape.dims()), tensor);
}

absl::StatusOr<Tensor> BundleReader::ReadSlice(absl::string_view name, const TensorSlice& slice,
                                               Allocator* allocator) const {
  ASSIGN_OR_RETURN(const BundleEntry* entry, Need(name));
  ASSIGN_OR_RETURN(const TensorShape shape, slice.ShapeWithin(entry->shape));
  const std::string key(name);
  if (entry->slices.empty()) {
    ASSIGN_OR_RETURN(const Tensor whole, ReadEntry(key, *entry, allocator));
    if (slice.IsFull() || shape == entry->shape) return whole;
    if (entry->dtype == DT_VARIANT) {
      return errors::Unimplemented("Tensor '", name, "' of type variant cannot be read in slices");
    }
    ASSIGN_OR_RETURN(Tensor part, Tensor::Allocate(allocator, entry->dtype, shape));
    const TensorSlice wanted = slice.Resolved(entry->shape);
    if (part.NumElements() > 0) {
      CopyRegion(wanted, TensorSlice(entry->shape.dims()).Resolved(entry->shape), whole, wanted, &part);
    }
    return part;
  }
  // Often the requested slice is exactly one that was saved.
  if (std::find(entry->slices.begin(), entry->slices.end(), slice) != entry->slices.end()) {
    const std::string slice_key = SliceKey(name, slice);
    const BundleEntry* stored = Find(slice_key);
    if (stored != nullptr && stored->dtype == entry->dtype && stored->shape == shape && stored->slices.empty()) {
      return ReadEntry(slice_key, *stored, allocator);
    }
  }
  RETURN_IF_ERROR(CheckComplete());  // before allocating for slices that may be missing
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(allocator, entry->dtype, shape));
  RETURN_IF_ERROR(Assemble(key, *entry, slice, &tensor));
  return tensor;
}

absl::StatusOr<Tensor> BundleReader::Restore(absl::string_view name, absl::string_view shape_and_slice, DataType dtype,
                                             Allocator* allocator) const {
  ASSIGN_OR_RETURN(const BundleEntry* entry, Need(name));
  if (entry->dtype != dtype) {
    return errors::InvalidArgument("tensor_name = ", name, "; expected dtype ", DataTypeName(dtype),
                                   " does not equal original dtype ", DataTypeName(entry->dtype));
  }
  if (shape_and_slice.empty()) return Read(name, allocator);
  ASSIGN_OR_RETURN(const ShapeAndSlice spec, ParseShapeAndSlice(shape_and_slice));
  if (spec.full_shape != entry->shape) {
    return errors::InvalidArgument("tensor_name = ", name, "; shape in shape_and_slice spec ",
                                   spec.full_shape.ToString(),
                                   " does not match the shape stored in checkpoint: ", entry->shape.ToString());
  }
  return ReadSlice(name, spec.slice, allocator);
}

// Copies the parts of `wanted` from the stored slices. They must cover it: the rest would stay undefined.
absl::Status BundleReader::Assemble(const std::string& name, const BundleEntry& entry, const TensorSlice& wanted,
                                    Tensor* tensor) const {
  const TensorSlice target = wanted.Resolved(entry.shape);
  std::vector<TensorSlice> copied;
  int64_t elements = 0;
  for (const TensorSlice& slice : entry.slices) {
    const TensorSlice source = slice.Resolved(entry.shape);
    const auto region = source.Intersect(target);
    if (!region) continue;
    for (const TensorSlice& other : copied) {
      if (other.Intersect(*region)) return errors::DataLoss(prefix_, ": slices of '", name, "' overlap");
    }
    const std::string key = SliceKey(name, slice);
    const BundleEntry* stored = Find(key);
    ASSIGN_OR_RETURN(const TensorShape shape, slice.ShapeWithin(entry.shape));
    if (stored == nullptr || stored->dtype != entry.dtype || stored->shape != shape || !stored->slices.empty()) {
      return errors::DataLoss(prefix_, ": slice ", slice.ToString(), " of '", name, "' is missing or of another shape");
    }
    ASSIGN_OR_RETURN(const Tensor part, ReadEntry(key, *stored, CpuAllocator()));
    CopyRegion(*region, source, part, target, tensor);
    ASSIGN_OR_RETURN(const TensorShape region_shape, region->ShapeWithin(entry.shape));
    elements += region_shape.num_elements();
    copied.push_back(*region);
  }
  if (elements == tensor->NumElements()) return absl::OkStatus();
  return errors::DataLoss(prefix_, ": the slices of '", name, "' hold ", elements, " of the ", tensor->NumElements(),
                          " elements in ", target.ToString());
}

absl::StatusOr<const ReadableFile*> BundleReader::FileOf(const BundleEntry& entry) const {
  MutexLock lock(mu_);
  DataFile& data = files_[entry.shard];
  if (data.file == nullptr) {
    ASSIGN_OR_RETURN(auto file, file_system_->NewReadableFile(BundleDataPath(prefix_, entry.shard, index_.num_shards)));
    ASSIGN_OR_RETURN(data.size, file->Size());
    data.file = std::move(file);
  }
  if (data.size >= entry.offset + entry.size) return data.file.get();
  return errors::DataLoss(data.file->path(), ": it has ", data.size, " bytes, but a tensor of ", entry.size,
                          " bytes should be at ", entry.offset, "; it is truncated");
}

absl::StatusOr<Tensor> BundleReader::ReadEntry(const std::string& key, const BundleEntry& entry,
                                               Allocator* allocator) const {
  RETURN_IF_ERROR(FileOf(entry).status());  // before allocating for missing data
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(allocator, entry.dtype, entry.shape));
  RETURN_IF_ERROR(ReadEntryInto(key, entry, &tensor));
  return tensor;
}

absl::Status BundleReader::ReadEntryInto(const std::string& key, const BundleEntry& entry, Tensor* tensor) const {
  if (entry.dtype == DT_RESOURCE) {
    return errors::Unimplemented("Tensor '", key, "' of type ", DataTypeName(entry.dtype),
                                 " cannot be read from a checkpoint");
  }
  ASSIGN_OR_RETURN(const ReadableFile* file, FileOf(entry));
  const absl::StatusOr<uint32_t> crc = ReadContent(*file, entry, tensor);
  if (IsStoreFailure(crc.status())) return crc.status();
  if (!crc.ok()) return Damaged(*file, key, crc.status().message());
  if (crc32c::Mask(*crc) != entry.masked_crc) return Damaged(*file, key, "its checksum does not match");
  if (entry.dtype == DT_BOOL) NormalizeBools(tensor);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> BundleReader::ReadContent(const ReadableFile& file, const BundleEntry& entry,
                                                   Tensor* tensor) const {
  switch (entry.dtype) {
    case DT_STRING:
      return ReadStrings(file, entry, tensor);
    case DT_VARIANT:
      return ReadVariants(file, entry, tensor);
    default:
      return ReadBytes(file, entry.offset, entry.size, tensor->data<char>());
  }
}

absl::StatusOr<uint32_t> BundleReader::ReadBytes(const ReadableFile& file, uint64_t offset, uint64_t size,
                                                 char* buffer) const {
  const int64_t pieces = (size + kReadPiece - 1) / kReadPiece;
  std::vector<uint32_t> crcs(pieces);
  Mutex mu;
  absl::Status status;
  auto read = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t start = i * kReadPiece, length = std::min(kReadPiece, size - start);
      absl::Status read_status = file.ReadFully(offset + start, length, buffer + start);
      crcs[i] = read_status.ok() ? crc32c::Extend(0, buffer + start, length) : 0;
      if (read_status.ok()) continue;
      MutexLock lock(mu);
      status = std::move(read_status);
    }
  };
  if (options_.work_queue != nullptr && pieces > 1) {
    options_.work_queue->ParallelFor(pieces, kNanosPerPiece, read);
  } else {
    read(0, pieces);
  }
  RETURN_IF_ERROR(status);
  uint32_t crc = 0;
  for (int64_t i = 0; i < pieces; ++i) crc = crc32c::Combine(crc, crcs[i], std::min(kReadPiece, size - i * kReadPiece));
  return crc;
}

absl::StatusOr<uint32_t> BundleReader::ReadStrings(const ReadableFile& file, const BundleEntry& entry,
                                                   Tensor* tensor) const {
  std::string bytes(entry.size, '\0');
  RETURN_IF_ERROR(file.ReadFully(entry.offset, entry.size, bytes.data()));
  absl::string_view rest = bytes;
  const auto elements = tensor->flat<tstring>();
  std::vector<uint64_t> lengths(elements.size());
  uint64_t total = 0;
  uint32_t crc = 0;
  for (uint64_t& length : lengths) {
    if (!coding::GetVarint64(&rest, &length)) return errors::DataLoss("the length of a string is malformed");
    if (length > bytes.size() - total)
      return errors::DataLoss("its strings are longer than its ", entry.size, " bytes");
    total += length;
    crc = crc32c::Extend(crc, &length, length <= std::numeric_limits<uint32_t>::max() ? 4 : 8);
  }
  if (rest.size() != total + 4) return errors::DataLoss("its strings do not add up to its ", entry.size, " bytes");
  const uint32_t stored = coding::DecodeFixed32(rest.data());
  if (crc32c::Unmask(stored) != crc) return errors::DataLoss("the checksum of its lengths does not match");
  crc = crc32c::Extend(crc, rest.data(), rest.size());
  rest.remove_prefix(4);
  for (size_t i = 0; i < lengths.size(); ++i) {
    elements[i].assign(rest.data(), lengths[i]);
    rest.remove_prefix(lengths[i]);
  }
  return crc;
}

absl::StatusOr<uint32_t> BundleReader::ReadVariants(const ReadableFile& file, const BundleEntry& entry,
                                                    Tensor* tensor) const {
  std::string bytes(entry.size, '\0');
  RETURN_IF_ERROR(file.ReadFully(entry.offset, entry.size, bytes.data()));
  absl::string_view rest = bytes;
  tensorflow::TensorProto element;
  element.set_dtype(tensorflow::DT_VARIANT);
  element.mutable_tensor_shape();
  uint32_t crc = 0;
  for (Variant& variant : tensor->flat<Variant>()) {
    uint64_t length = 0;
    constexpr size_t kChecksum = sizeof(uint32_t);
    if (!coding::GetVarint64(&rest, &length) || rest.size() < kChecksum || length > rest.size() - kChecksum) {
      return errors::DataLoss("the length of a variant is malformed");
    }
    crc = crc32c::Extend(crc, &length, sizeof(length));
    crc = crc32c::Extend(crc, rest.data(), length);
    if (crc32c::Unmask(coding::DecodeFixed32(rest.data() + length)) != crc) {
      return errors::DataLoss("the checksum of a variant does not match");
    }
    element.clear_variant_val();
    if (!element.add_variant_val()->ParseFromArray(rest.data(), static_cast<int>(length))) {
      return errors::DataLoss("a variant is malformed");
    }
    ASSIGN_OR_RETURN(const Tensor decoded, TensorFromProto(element));
    variant = decoded.scalar<Variant>();
    crc = crc32c::Extend(crc, rest.data() + length, kChecksum);
    rest.remove_prefix(length + kChecksum);
  }
  if (!rest.empty()) return errors::DataLoss("its variants do not add up to its ", entry.size, " bytes");
  return crc;
}

}  // namespace weir
