#include "core/checkpoint/slice_table.h"

#include <algorithm>
#include <cstring>

#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/table.h"
#include "core/tensor/numeric_types.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"
#include "tensorflow/core/framework/tensor_slice.pb.h"
#include "tensorflow/core/framework/versions.pb.h"
#include "tensorflow/core/util/saved_tensor_slice.pb.h"

namespace weir {
namespace {

constexpr int kCheckpointVersion = 1;

template <typename T, typename Field>
void PutAll(const Tensor& tensor, Field* field) {
  field->Reserve(static_cast<int>(tensor.NumElements()));
  for (const T& value : tensor.flat<T>()) field->Add(value);
}

// Writes every element to the typed field, without the short form for repeated elements.
absl::Status PutValues(const Tensor& tensor, tensorflow::TensorProto* proto) {
  if (tensor.NumElements() > INT32_MAX / 16) {
    return errors::InvalidArgument("Tensor slice is too large to serialize: ", tensor.shape().ToString());
  }
  switch (tensor.dtype()) {
    case DT_FLOAT:
      PutAll<float>(tensor, proto->mutable_float_val());
      break;
    case DT_DOUBLE:
      PutAll<double>(tensor, proto->mutable_double_val());
      break;
    case DT_INT32:
      PutAll<int32_t>(tensor, proto->mutable_int_val());
      break;
    case DT_INT16:
      PutAll<int16_t>(tensor, proto->mutable_int_val());
      break;
    case DT_INT8:
      PutAll<int8_t>(tensor, proto->mutable_int_val());
      break;
    case DT_UINT8:
      PutAll<uint8_t>(tensor, proto->mutable_int_val());
      break;
    case DT_UINT16:
      PutAll<uint16_t>(tensor, proto->mutable_int_val());
      break;
    case DT_UINT32:
      PutAll<uint32_t>(tensor, proto->mutable_uint32_val());
      break;
    case DT_UINT64:
      PutAll<uint64_t>(tensor, proto->mutable_uint64_val());
      break;
    case DT_INT64:
      PutAll<int64_t>(tensor, proto->mutable_int64_val());
      break;
    case DT_BOOL:
      PutAll<bool>(tensor, proto->mutable_bool_val());
      break;
    case DT_HALF:
    case DT_BFLOAT16:
      for (int64_t i = 0; i < tensor.NumElements(); ++i) {
        proto->add_half_val(static_cast<const uint16_t*>(tensor.raw_data())[i]);
      }
      break;
    case DT_COMPLEX64:
      for (const complex64& value : tensor.flat<complex64>()) {
        proto->add_scomplex_val(value.real());
        proto->add_scomplex_val(value.imag());
      }
      break;
    case DT_COMPLEX128:
      for (const complex128& value : tensor.flat<complex128>()) {
        proto->add_dcomplex_val(value.real());
        proto->add_dcomplex_val(value.imag());
      }
      break;
    case DT_STRING:
      for (const tstring& value : tensor.flat<tstring>()) proto->add_string_val(value);
      break;
    default:
      return errors::Unimplemented("Saving data type ", DataTypeName(tensor.dtype()),
                                   " is not supported by checkpoints of the first format");
  }
  return absl::OkStatus();
}

absl::StatusOr<ShapeAndSlice> SliceFor(absl::string_view shape_and_slice, const TensorShape& whole) {
  if (!shape_and_slice.empty()) return ParseShapeAndSlice(shape_and_slice);
  ShapeAndSlice result;
  result.full_shape = result.slice_shape = whole;
  result.slice = TensorSlice(whole.dims());
  return result;
}

}  // namespace

absl::Status SliceTableWriter::Add(const std::string& name, absl::string_view shape_and_slice, const Tensor& tensor) {
  ASSIGN_OR_RETURN(const ShapeAndSlice part, SliceFor(shape_and_slice, tensor.shape()));
  if (part.slice_shape != tensor.shape()) {
    return errors::InvalidArgument(
        "Slice in shape_and_slice specification does not match the shape of the tensor to "
        " save: ",
        shape_and_slice, ", tensor: ", tensor.shape().ToString());
  }
  Meta& meta = tensors_[name];
  if (meta.slices.empty()) {
    meta.dtype = tensor.dtype();
    meta.shape = part.full_shape;
  } else if (meta.shape != part.full_shape || meta.dtype != tensor.dtype()) {
    return errors::Internal("Mismatching shapes or types: existing tensor ", name, " = ", meta.shape.ToString(), " ",
                            DataTypeName(meta.dtype), ", trying to add ", part.full_shape.ToString(), " ",
                            DataTypeName(tensor.dtype()));
  }
  const TensorSlice region = part.slice.Resolved(part.full_shape);
  for (const TensorSlice& other : meta.slices) {
    if (!other.Resolved(part.full_shape).Intersect(region).has_value()) continue;
    return errors::Internal("Overlapping slices: existing slice = ", other.ToString(),
                            ", new slice = ", part.slice.ToString(), " of tensor ", name);
  }
  meta.slices.push_back(part.slice);
  tensorflow::SavedTensorSlices entry;
  tensorflow::SavedSlice& data = *entry.mutable_data();
  data.set_name(name);
  part.slice.ToProto(data.mutable_slice());
  RETURN_IF_ERROR(PutValues(tensor, data.mutable_data()));
  if (entry.ByteSizeLong() > INT32_MAX) {
    return errors::InvalidArgument("Tensor slice is too large to serialize: ", entry.ByteSizeLong(), " bytes");
  }
  entries_[SliceKey(name, part.slice)] = entry.SerializeAsString();
  return absl::OkStatus();
}

std::string SliceTableWriter::EncodeMeta() const {
  tensorflow::SavedTensorSlices entry;
  tensorflow::SavedTensorSliceMeta& all = *entry.mutable_meta();
  all.mutable_versions()->set_producer(kCheckpointVersion);
  for (const auto& [name, meta] : tensors_) {
    tensorflow::SavedSliceMeta& tensor = *all.add_tensor();
    tensor.set_name(name);
    PartialTensorShape(meta.shape).ToProto(tensor.mutable_shape());
    tensor.set_type(static_cast<tensorflow::DataType>(meta.dtype));
    for (const TensorSlice& slice : meta.slices) slice.ToProto(tensor.add_slice());
  }
  return entry.SerializeAsString();
}

absl::Status SliceTableWriter::Finish() {
  const std::string temporary = absl::StrCat(path_, ".tempstate", reinterpret_cast<uintptr_t>(this));
  const std::string directory(DirName(path_));
  if (!directory.empty()) RETURN_IF_ERROR(file_system_->CreateDir(directory));
  const auto write = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, file_system_->NewWritableFile(temporary));
    TableWriter table(file.get());
    RETURN_IF_ERROR(table.Add("", EncodeMeta()));
    for (const auto& [key, value] : entries_) RETURN_IF_ERROR(table.Add(key, value));
    RETURN_IF_ERROR(table.Finish());
    RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(file->Close());
    return file_system_->Rename(temporary, path_);
  };
  absl::Status status = write();
  if (!status.ok()) file_system_->DeleteFile(temporary).IgnoreError();
  return status;
}

absl::StatusOr<std::unique_ptr<SliceTableReader>> SliceTableReader::Open(FileSystem* file_system,
                                                                         const std::string& pattern) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, file_system->Glob(pattern));
  if (paths.empty()) {
    return errors::NotFound("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
                            pattern);
  }
  std::unique_ptr<SliceTableReader> reader(new SliceTableReader(pattern));
  for (const std::string& path : paths) RETURN_IF_ERROR(reader->AddFile(file_system, path));
  return reader;
}

absl::Status SliceTableReader::AddFile(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, file_system->NewReadableFile(path));
  absl::StatusOr<std::vector<TableEntry>> entries = ReadTable(*file);
  if (!entries.ok()) {
    return errors::DataLoss("Unable to open table file ", path, ": ", entries.status().message(),
                            ": perhaps your file is in a different file format and you need to use a different "
                            "restore operator?");
  }
  if (entries->empty() || !(*entries)[0].key.empty()) {
    return errors::DataLoss("Table file ", path, " has no entry that describes its tensors");
  }
  RETURN_IF_ERROR(AddMeta(path, (*entries)[0].value));
  for (size_t i = 1; i < entries->size(); ++i) {
    entries_.emplace(std::move((*entries)[i].key), std::move((*entries)[i].value));
  }
  return absl::OkStatus();
}

absl::Status SliceTableReader::AddMeta(const std::string& path, const std::string& bytes) {
  tensorflow::SavedTensorSlices entry;
  if (!entry.ParseFromString(bytes)) return errors::DataLoss("The description of tensors in ", path, " is malformed");
  if (entry.meta().versions().min_consumer() > kCheckpointVersion) {
    return errors::InvalidArgument("Checkpoint ", path, " is for newer versions, from ",
                                   entry.meta().versions().min_consumer());
  }
  for (const tensorflow::SavedSliceMeta& meta : entry.meta().tensor()) {
    ASSIGN_OR_RETURN(const PartialTensorShape partial, PartialTensorShape::FromProto(meta.shape()));
    ASSIGN_OR_RETURN(const TensorShape shape, partial.AsTensorShape());
    Stored& stored = tensors_[meta.name()];
    const DataType dtype = static_cast<DataType>(meta.type());
    if (!stored.slices.empty() && (stored.shape != shape || stored.dtype != dtype)) {
      return errors::InvalidArgument("Tensor ", meta.name(), " differs in shape or type among the files of ", pattern_);
    }
    stored.shape = shape;
    stored.dtype = dtype;
    for (const tensorflow::TensorSliceProto& proto : meta.slice()) {
      ASSIGN_OR_RETURN(TensorSlice slice, TensorSlice::FromProto(proto));
      RETURN_IF_ERROR(slice.ShapeWithin(shape).status());
      stored.slices.push_back(std::move(slice));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> SliceTableReader::ReadSlice(const std::string& name, const Stored& stored,
                                                   const TensorSlice& slice) const {
  ASSIGN_OR_RETURN(const TensorShape shape, slice.ShapeWithin(stored.shape));
  const auto found = entries_.find(SliceKey(name, slice));
  if (found == entries_.end()) {
    return errors::DataLoss("Slice ", slice.ToString(), " of tensor ", name, " is not in ", pattern_);
  }
  tensorflow::SavedTensorSlices entry;
  if (!entry.ParseFromString(found->second)) {
    return errors::DataLoss("Slice ", slice.ToString(), " of tensor ", name, " is malformed in ", pattern_);
  }
  tensorflow::TensorProto& data = *entry.mutable_data()->mutable_data();
  data.set_dtype(static_cast<tensorflow::DataType>(stored.dtype));
  PartialTensorShape(shape).ToProto(data.mutable_tensor_shape());
  // Every element takes at least one byte of the entry; no more than that is allocated.
  if (shape.num_elements() > static_cast<int64_t>(found->second.size())) {
    return errors::DataLoss("Slice ", slice.ToString(), " of tensor ", name, " has too few values in ", pattern_);
  }
  return TensorFromProto(data);
}

absl::StatusOr<Tensor> SliceTableReader::Restore(const std::string& name, absl::string_view shape_and_slice,
                                                 DataType dtype, Allocator* allocator) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return errors::NotFound("Tensor name \"", name, "\" not found in checkpoint files ", pattern_);
  }
  const Stored& stored = found->second;
  ASSIGN_OR_RETURN(const ShapeAndSlice wanted, SliceFor(shape_and_slice, stored.shape));
  if (wanted.full_shape != stored.shape) {
    return errors::InvalidArgument("Shape in shape_and_slice spec does not match the shape in the save file: ",
                                   wanted.full_shape.ToString(), ", save file shape: ", stored.shape.ToString());
  }
  if (dtype != stored.dtype) {
    return errors::InvalidArgument("Expected to restore a tensor of type ", DataTypeName(dtype),
                                   ", got a tensor of type ", DataTypeName(stored.dtype),
                                   " instead: tensor_name = ", name);
  }
  const TensorSlice region = wanted.slice.Resolved(stored.shape);
  ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(allocator, dtype, wanted.slice_shape));
  if (IsPlainType(dtype) && result.NumElements() > 0) std::memset(result.raw_data(), 0, result.TotalBytes());
  int64_t covered = 0;  // slices of a file that is not ours may overlap
  for (const TensorSlice& slice : stored.slices) {
    const TensorSlice whole = slice.Resolved(stored.shape);
    const std::optional<TensorSlice> common = whole.Intersect(region);
    if (!common.has_value()) continue;
    ASSIGN_OR_RETURN(const Tensor part, ReadSlice(name, stored, slice));
    CopyRegion(*common, whole, part, region, &result);
    ASSIGN_OR_RETURN(const TensorShape shape, common->ShapeWithin(stored.shape));
    covered += shape.num_elements();
  }
  if (covered >= result.NumElements()) return result;
  return errors::InvalidArgument("Error copying slice data: the slices of tensor ", name, " in ", pattern_,
                                 " do not cover ", region.ToString());
}

}  // namespace weir
