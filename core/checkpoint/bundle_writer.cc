#include "core/checkpoint/bundle_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_join.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "core/random_bits.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace weir {
namespace {

// Copied, checksummed and written piece by piece. The copy is because reference variables may be updated in place
// meanwhile: the checksum must be that of the bytes written.
constexpr size_t kWritePiece = 256 << 10;

TensorSource SourceOf(const Tensor& tensor) {
  const char* const bytes = tensor.data<char>();
  return {tensor.dtype(), tensor.shape(), [bytes](int64_t offset, int64_t size, char* to) {
            std::memcpy(to, bytes + offset, size);
            return absl::OkStatus();
          }};
}

// Not if its elements are plain: these come from a source.
const Tensor* Objects(const Tensor& tensor) { return IsPlainType(tensor.dtype()) ? nullptr : &tensor; }

absl::Status Uninitialized(absl::string_view name) {
  return errors::FailedPrecondition("Tensor '", name, "' to save is not initialized");
}

// Where files appear on Close alone, they are written under their own names.
std::string TemporarySuffix(const FileSystem& file_system) {
  return file_system.PublishesOnClose() ? "" : absl::StrCat(".tempstate", RandomBits());
}

}  // namespace

BundleWriter::BundleWriter(FileSystem* file_system, std::string prefix, BundleWriterOptions options)
    : file_system_(file_system),
      prefix_(std::move(prefix)),
      options_(options),
      data_temporary_(BundleDataPath(prefix_, 0, 1) + TemporarySuffix(*file_system)),
      index_temporary_(BundleIndexPath(prefix_) + TemporarySuffix(*file_system)) {}

absl::StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Create(FileSystem* file_system, const std::string& prefix,
                                                                   BundleWriterOptions options) {
  if (prefix.empty()) return errors::InvalidArgument("The checkpoint's prefix is empty");
  RETURN_IF_ERROR(file_system->CreateDir(DirectoryOf(prefix)));
  std::unique_ptr<BundleWriter> writer(new BundleWriter(file_system, prefix, options));
  ASSIGN_OR_RETURN(writer->data_, file_system->NewWritableFile(writer->data_temporary_));
  return writer;
}

BundleWriter::~BundleWriter() {
  if (finished_) return;
  data_.reset();
  if (file_system_->PublishesOnClose()) return;
  file_system_->DeleteFile(data_temporary_).IgnoreError();
  file_system_->DeleteFile(index_temporary_).IgnoreError();
}

absl::Status BundleWriter::Add(absl::string_view name, const Tensor& tensor) { return Save(name, "", tensor); }

absl::Status BundleWriter::AddSlice(absl::string_view name, const TensorShape& full, const TensorSlice& slice,
                                    const Tensor& tensor) {
  if (!status_.ok()) return status_;
  if (!tensor.IsInitialized()) return status_ = Uninitialized(name);
  return status_ = DoAddSlice(std::string(name), full, slice, SourceOf(tensor), Objects(tensor));
}

absl::Status BundleWriter::Save(absl::string_view name, absl::string_view shape_and_slice, const Tensor& tensor) {
  if (!status_.ok()) return status_;
  if (!tensor.IsInitialized()) return status_ = Uninitialized(name);
  return SaveFrom(name, shape_and_slice, SourceOf(tensor), Objects(tensor));
}

absl::Status BundleWriter::Save(absl::string_view name, absl::string_view shape_and_slice, const TensorSource& source) {
  return SaveFrom(name, shape_and_slice, source, nullptr);
}

absl::Status BundleWriter::SaveFrom(absl::string_view name, absl::string_view shape_and_slice,
                                    const TensorSource& source, const Tensor* objects) {
  if (!status_.ok()) return status_;
  if (!shape_and_slice.empty()) {
    ASSIGN_OR_RETURN(ShapeAndSlice spec, ParseShapeAndSlice(shape_and_slice));
    return status_ = DoAddSlice(std::string(name), spec.full_shape, spec.slice, source, objects);
  }
  status_ = name.empty() ? errors::InvalidArgument("A tensor in a checkpoint needs a name")
                         : AddEntry(std::string(name), source, objects);
  return status_;
}

absl::Status BundleWriter::DoAddSlice(const std::string& name, const TensorShape& full, const TensorSlice& slice,
                                      const TensorSource& source, const Tensor* objects) {
  if (name.empty()) return errors::InvalidArgument("A tensor in a checkpoint needs a name");
  ASSIGN_OR_RETURN(const TensorShape shape, slice.ShapeWithin(full));
  if (shape != source.shape) {
    return errors::InvalidArgument(
        "Slice in shape_and_slice specification does not match the shape of the tensor to  save: ",
        absl::StrJoin(full.dim_sizes(), " "), " ", slice.ToString(), ", tensor: ", source.shape.ToString(), ", named '",
        name, "'");
  }
  BundleEntry& whole = index_.entries[name];
  if (whole.dtype == DT_INVALID) {
    whole.dtype = source.dtype;
    whole.shape = full;
  } else if (whole.slices.empty() || whole.dtype != source.dtype || whole.shape != full) {
    return errors::InvalidArgument("Slices of '", name, "' disagree: ", DataTypeName(whole.dtype),
                                   whole.shape.ToString(), " and ", DataTypeName(source.dtype), full.ToString());
  }
  if (source.dtype == DT_VARIANT) {
    return errors::Unimplemented("Tensor '", name, "' of type variant cannot be saved in slices");
  }
  const TensorSlice resolved = slice.Resolved(full);
  for (const TensorSlice& other : whole.slices) {
    if (other.Resolved(full).Intersect(resolved).has_value()) {
      return errors::InvalidArgument("Slices of '", name, "' overlap: ", other.ToString(), " and ", slice.ToString());
    }
  }
  whole.slices.push_back(slice);
  return AddEntry(SliceKey(name, slice), source, objects);
}

absl::Status BundleWriter::AddEntry(const std::string& key, const TensorSource& source, const Tensor* objects) {
  if (finished_) return errors::FailedPrecondition("Checkpoint ", prefix_, " is finished already");
  if (index_.entries.count(key) > 0) return errors::InvalidArgument("Adding duplicate key: ", key);
  if (source.dtype == DT_RESOURCE) {
    return errors::Unimplemented("Tensor '", key, "' of type ", DataTypeName(source.dtype),
                                 " cannot be saved in a checkpoint");
  }
  BundleEntry entry;
  entry.dtype = source.dtype;
  entry.shape = source.shape;
  entry.offset = offset_;
  switch (source.dtype) {
    case DT_STRING:
      RETURN_IF_ERROR(WriteStrings(*objects, &entry));
      break;
    case DT_VARIANT:
      RETURN_IF_ERROR(WriteVariants(*objects, &entry));
      break;
    default:
      RETURN_IF_ERROR(WritePlain(source, &entry));
  }
  offset_ += entry.size;
  index_.entries.emplace(key, std::move(entry));
  return absl::OkStatus();
}

absl::Status BundleWriter::WritePlain(const TensorSource& source, BundleEntry* entry) {
  entry->size = static_cast<uint64_t>(source.shape.num_elements()) * DataTypeSize(source.dtype);
  uint32_t crc = 0;
  std::string piece;
  for (uint64_t done = 0; done < entry->size; done += piece.size()) {
    piece.resize(std::min<uint64_t>(kWritePiece, entry->size - done));
    RETURN_IF_ERROR(source.read(static_cast<int64_t>(done), static_cast<int64_t>(piece.size()), piece.data()));
    crc = crc32c::Extend(crc, piece.data(), piece.size());
    RETURN_IF_ERROR(data_->Append(piece));
  }
  entry->masked_crc = crc32c::Mask(crc);
  return absl::OkStatus();
}

// The lengths as varints, the masked checksum of the lengths as integers, the strings. The entry's checksum covers the
// lengths (as integers), that checksum and the strings.
absl::Status BundleWriter::WriteStrings(const Tensor& tensor, BundleEntry* entry) {
  std::string head;
  uint32_t crc = 0;
  for (const tstring& element : tensor.flat<tstring>()) {
    const uint64_t length = element.size();
    coding::PutVarint(&head, length);
    crc = crc32c::Extend(crc, &length, length <= std::numeric_limits<uint32_t>::max() ? 4 : 8);
  }
  const uint32_t lengths_crc = crc32c::Mask(crc);
  coding::PutFixed32(&head, lengths_crc);
  crc = crc32c::Extend(crc, &lengths_crc, sizeof(lengths_crc));
  RETURN_IF_ERROR(data_->Append(head));
  entry->size = head.size();
  for (const tstring& element : tensor.flat<tstring>()) {
    crc = crc32c::Extend(crc, element.data(), element.size());
    RETURN_IF_ERROR(data_->Append(element));
    entry->size += element.size();
  }
  entry->masked_crc = crc32c::Mask(crc);
  return absl::OkStatus();
}

// For each variant: its length as a varint, its bytes, and the masked checksum of everything before (the length as an
// integer). The entry's checksum covers these checksums too.
absl::Status BundleWriter::WriteVariants(const Tensor& tensor, BundleEntry* entry) {
  tensorflow::TensorProto proto;
  RETURN_IF_ERROR(TensorToProto(tensor, &proto));
  uint32_t crc = 0;
  for (const tensorflow::VariantTensorDataProto& variant : proto.variant_val()) {
    const std::string bytes = variant.SerializeAsString();
    const uint64_t length = bytes.size();
    std::string head, tail;
    coding::PutVarint(&head, length);
    crc = crc32c::Extend(crc, &length, sizeof(length));
    crc = crc32c::Extend(crc, bytes.data(), bytes.size());
    coding::PutFixed32(&tail, crc32c::Mask(crc));
    crc = crc32c::Extend(crc, tail.data(), tail.size());
    for (const std::string* part : {&std::as_const(head), &bytes, &std::as_const(tail)}) {
      RETURN_IF_ERROR(data_->Append(*part));
      entry->size += part->size();
    }
  }
  entry->masked_crc = crc32c::Mask(crc);
  return absl::OkStatus();
}

absl::Status BundleWriter::Finish() {
  if (finished_) return errors::FailedPrecondition("Checkpoint ", prefix_, " is finished already");
  if (status_.ok()) status_ = Publish();
  finished_ = status_.ok();
  return status_;
}

absl::Status BundleWriter::Publish() {
  const std::string index = BundleIndexPath(prefix_);
  if (file_system_->PublishesOnClose()) {
    RETURN_IF_ERROR(file_system_->DeleteIfExists(index));
    RETURN_IF_ERROR(data_->Close());
    return WriteBundleIndex(file_system_, index, index_, options_.sync);
  }
  if (options_.sync) RETURN_IF_ERROR(data_->Sync());
  RETURN_IF_ERROR(data_->Close());
  RETURN_IF_ERROR(WriteBundleIndex(file_system_, index_temporary_, index_, options_.sync));
  // Removes the index of an earlier checkpoint of this name, which must not be read with the new data.
  RETURN_IF_ERROR(file_system_->DeleteIfExists(index));
  RETURN_IF_ERROR(file_system_->Rename(data_temporary_, BundleDataPath(prefix_, 0, 1)));
  RETURN_IF_ERROR(file_system_->Rename(index_temporary_, index));
  return options_.sync ? file_system_->SyncDir(DirectoryOf(prefix_)) : absl::OkStatus();
}

}  // namespace weir
