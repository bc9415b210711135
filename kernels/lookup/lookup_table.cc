#include "kernels/lookup/lookup_table.h"

#include <algorithm>
#include <cstring>

#include "kernels/device/elements.h"

namespace weir {
namespace {

int64_t IntegerKey(const Tensor& keys, int64_t i) {
  return keys.dtype() == DT_INT32 ? keys.data<int32_t>()[i] : keys.data<int64_t>()[i];
}

// For messages.
std::string ElementText(DataType type, const void* value) {
  switch (type) {
    case DT_STRING:
      return *static_cast<const tstring*>(value);
    case DT_INT32:
      return absl::StrCat(*static_cast<const int32_t*>(value));
    case DT_INT64:
      return absl::StrCat(*static_cast<const int64_t*>(value));
    case DT_FLOAT:
      return absl::StrCat(*static_cast<const float*>(value));
    case DT_DOUBLE:
      return absl::StrCat(*static_cast<const double*>(value));
    case DT_BOOL:
      return absl::StrCat(*static_cast<const bool*>(value));
    default:
      return absl::StrCat("a ", DataTypeName(type));
  }
}

}  // namespace

LookupTable::LookupTable(Options options) : options_(std::move(options)) { Clear(); }

void LookupTable::Clear() {
  rows_.by_integer.clear();
  rows_.by_string.clear();
  free_rows_.clear();
  values_ = Tensor();
  used_rows_ = 0;
  if (options_.is_dense()) buckets_ = std::make_unique<DenseBuckets>(options_.initial_buckets, options_.max_load);
}

std::string LookupTable::DebugString() const {
  return absl::StrCat(options_.kind, " '", options_.name, "' from ", DataTypeName(options_.key_type), " to ",
                      DataTypeName(options_.value_type), ", ", size(), " entries");
}

int64_t LookupTable::MemoryUsed() const {
  MutexLock lock(mu_);
  return values_.TotalBytes() + KeyCount() * 2 * static_cast<int64_t>(DataTypeSize(options_.key_type));
}

int64_t LookupTable::size() const {
  MutexLock lock(mu_);
  return options_.is_mutable || filled_ ? KeyCount() : 0;
}

bool LookupTable::is_initialized() const {
  MutexLock lock(mu_);
  return !options_.is_mutable && filled_;
}

int64_t LookupTable::KeyCount() const {
  return static_cast<int64_t>(ByInteger() ? rows_.by_integer.size() : rows_.by_string.size());
}

absl::Status LookupTable::CheckOptions() const {
  if (!options_.is_dense()) return absl::OkStatus();
  if (EncodedKey(options_.empty_key, 0) != EncodedKey(options_.deleted_key, 0)) return absl::OkStatus();
  return errors::InvalidArgument("Empty and deleted keys cannot be equal");
}

absl::Status LookupTable::CheckTypes(DataType keys, DataType values) const {
  if (keys == options_.key_type && values == options_.value_type) return absl::OkStatus();
  const auto signature = [](DataType key, DataType value) {
    return absl::StrCat("resource, ", DataTypeName(key), ", ", DataTypeName(value), "->", DataTypeName(value));
  };
  return errors::InvalidArgument("Signature mismatch, have: ", signature(keys, values),
                                 " expected: ", signature(options_.key_type, options_.value_type));
}

absl::StatusOr<TensorShape> LookupTable::CheckKeys(const Tensor& keys) const {
  RETURN_IF_ERROR(CheckTypes(keys.dtype(), options_.value_type));
  const int outer = keys.dims() - options_.key_shape.dims();
  if (outer < 0 || keys.shape().dim_sizes().subspan(outer) != options_.key_shape.dim_sizes()) {
    return errors::InvalidArgument("Input key shape ", keys.shape().ToString(), " must end with the table's key shape ",
                                   options_.key_shape.ToString());
  }
  if (options_.is_dense() && outer > 1) {
    return errors::InvalidArgument("Expected key shape [", keys.dim_size(0), "] got ", keys.shape().ToString());
  }
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Build(keys.shape().dim_sizes().subspan(0, outer)));
  RETURN_IF_ERROR(shape.Append(options_.value_shape));
  return shape;
}

absl::Status LookupTable::CheckNotReserved(const Tensor& keys) const {
  if (!options_.is_dense()) return absl::OkStatus();
  const std::string empty = EncodedKey(options_.empty_key, 0), deleted = EncodedKey(options_.deleted_key, 0);
  for (int64_t i = 0; i < CountOf(keys); ++i) {
    const std::string key = EncodedKey(keys, i);
    if (key == empty) return errors::InvalidArgument("Using the empty_key as a table key is not allowed");
    if (key == deleted) return errors::InvalidArgument("Using the deleted_key as a table key is not allowed");
  }
  return absl::OkStatus();
}

absl::Status LookupTable::CheckEntries(const Tensor& keys, const Tensor& values) const {
  RETURN_IF_ERROR(CheckTypes(keys.dtype(), values.dtype()));
  ASSIGN_OR_RETURN(const TensorShape expected, CheckKeys(keys));
  if (values.shape() != expected) {
    return errors::InvalidArgument("Expected shape ", expected.ToString(), " for value, got ",
                                   values.shape().ToString());
  }
  return CheckNotReserved(keys);
}

// Scalar strings are as they are; of several, each has its length in front.
std::string LookupTable::EncodedKey(const Tensor& keys, int64_t i) const {
  const int64_t width = options_.key_shape.num_elements();
  if (options_.key_type != DT_STRING) {
    const size_t bytes = width * DataTypeSize(options_.key_type);
    return std::string(static_cast<const char*>(keys.raw_data()) + i * bytes, bytes);
  }
  if (options_.key_shape.dims() == 0) return keys.data<tstring>()[i];
  std::string encoded;
  for (const tstring& part : absl::MakeConstSpan(keys.data<tstring>() + i * width, width)) {
    const uint64_t size = part.size();
    encoded.append(reinterpret_cast<const char*>(&size), sizeof(size));
    encoded += part;
  }
  return encoded;
}

void LookupTable::DecodeKey(absl::string_view encoded, Tensor* keys, int64_t i) const {
  const int64_t width = options_.key_shape.num_elements();
  if (options_.key_type != DT_STRING) {
    std::memcpy(static_cast<char*>(keys->raw_data()) + i * static_cast<int64_t>(encoded.size()), encoded.data(),
                encoded.size());
    return;
  }
  tstring* const to = keys->data<tstring>() + i * width;
  if (options_.key_shape.dims() == 0) {
    *to = tstring(encoded);
    return;
  }
  for (int64_t k = 0; k < width; ++k) {
    uint64_t size;
    std::memcpy(&size, encoded.data(), sizeof(size));
    to[k] = tstring(encoded.substr(sizeof(size), size));
    encoded.remove_prefix(sizeof(size) + size);
  }
}

int64_t LookupTable::FindRow(const Tensor& keys, int64_t i) const {
  if (!ByInteger()) {
    const bool is_plain_string = options_.key_type == DT_STRING && options_.key_shape.dims() == 0;
    auto found = is_plain_string ? rows_.by_string.find(absl::string_view(keys.data<tstring>()[i]))
                                 : rows_.by_string.find(EncodedKey(keys, i));
    return found == rows_.by_string.end() ? -1 : found->second;
  }
  auto found = rows_.by_integer.find(IntegerKey(keys, i));
  return found == rows_.by_integer.end() ? -1 : found->second;
}

absl::StatusOr<int64_t> LookupTable::FindOrAddRow(const OpKernelContext& ctx, const Tensor& keys, int64_t i) {
  if (const int64_t row = FindRow(keys, i); row >= 0) return row;
  int64_t row;
  if (!free_rows_.empty()) {
    row = free_rows_.back();
    free_rows_.pop_back();
  } else {
    if (used_rows_ == 0 || used_rows_ == values_.dim_size(0)) {
      TensorShape shape = options_.value_shape;
      RETURN_IF_ERROR(shape.InsertDim(0, std::max<int64_t>(16, 2 * used_rows_)));
      ASSIGN_OR_RETURN(Tensor larger, ctx.allocate_temp(options_.value_type, shape));
      CopyElements(options_.value_type, larger.raw_data(), values_.raw_data(),
                   used_rows_ * options_.value_shape.num_elements());
      values_ = std::move(larger);
    }
    row = used_rows_++;
  }
  if (ByInteger()) {
    rows_.by_integer.emplace(IntegerKey(keys, i), row);
  } else {
    rows_.by_string.emplace(EncodedKey(keys, i), row);
  }
  if (buckets_ != nullptr) {
    buckets_->Reserve(1);
    buckets_->Add(KeyHash(keys, i), row);
  }
  return row;
}

void* LookupTable::RowAt(const Tensor& values, int64_t row) const {
  const int64_t bytes = options_.value_shape.num_elements() * static_cast<int64_t>(DataTypeSize(options_.value_type));
  return static_cast<char*>(values.raw_data()) + row * bytes;
}

bool LookupTable::RowsEqual(const void* a, const void* b) const {
  const int64_t n = options_.value_shape.num_elements();
  if (options_.value_type == DT_STRING) {
    return std::equal(static_cast<const tstring*>(a), static_cast<const tstring*>(a) + n,
                      static_cast<const tstring*>(b));
  }
  return IsPlainType(options_.value_type) && std::memcmp(a, b, n * DataTypeSize(options_.value_type)) == 0;
}

absl::StatusOr<Tensor> LookupTable::Find(const OpKernelContext& ctx, const Tensor& keys,
                                         const Tensor& default_value) const {
  RETURN_IF_ERROR(CheckTypes(keys.dtype(), default_value.dtype()));
  ASSIGN_OR_RETURN(const TensorShape shape, CheckKeys(keys));
  RETURN_IF_ERROR(CheckNotReserved(keys));
  const bool each = default_value.shape() == shape;
  if (!each && default_value.shape() != options_.value_shape) {
    return errors::InvalidArgument("Expected shape ", options_.value_shape.ToString(), " or ", shape.ToString(),
                                   " for default value, got ", default_value.shape().ToString());
  }
  ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(options_.value_type, shape));
  const int64_t width = options_.value_shape.num_elements();
  MutexLock lock(mu_);
  if (!options_.is_mutable && !filled_) return errors::FailedPrecondition("Table not initialized.");
  for (int64_t i = 0; i < CountOf(keys); ++i) {
    const int64_t row = FindRow(keys, i);
    CopyElements(options_.value_type, RowAt(values, i),
                 row >= 0 ? RowAt(values_, row) : RowAt(default_value, each ? i : 0), width);
  }
  return values;
}

absl::Status LookupTable::Insert(const OpKernelContext& ctx, const Tensor& keys, const Tensor& values) {
  if (!options_.is_mutable) {
    return errors::Unimplemented("Insert not supported by InitializableLookupTable implementations");
  }
  RETURN_IF_ERROR(CheckEntries(keys, values));
  MutexLock lock(mu_);
  if (buckets_ != nullptr) buckets_->Reserve(CountOf(keys));
  for (int64_t i = 0; i < CountOf(keys); ++i) {
    ASSIGN_OR_RETURN(const int64_t row, FindOrAddRow(ctx, keys, i));
    CopyElements(options_.value_type, RowAt(values_, row), RowAt(values, i), options_.value_shape.num_elements());
  }
  return absl::OkStatus();
}

absl::Status LookupTable::Remove(const Tensor& keys) {
  if (!options_.is_mutable) {
    return errors::Unimplemented("Remove not supported by InitializableLookupTable implementations");
  }
  RETURN_IF_ERROR(CheckKeys(keys).status());
  RETURN_IF_ERROR(CheckNotReserved(keys));
  MutexLock lock(mu_);
  for (int64_t i = 0; i < CountOf(keys); ++i) {
    const int64_t row = FindRow(keys, i);
    if (row < 0) continue;
    free_rows_.push_back(row);
    if (buckets_ != nullptr) buckets_->Remove(KeyHash(keys, i), row);
    if (ByInteger()) {
      rows_.by_integer.erase(IntegerKey(keys, i));
    } else {
      rows_.by_string.erase(EncodedKey(keys, i));
    }
  }
  return absl::OkStatus();
}

absl::Status LookupTable::Import(const OpKernelContext& ctx, const Tensor& keys, const Tensor& values) {
  if (options_.is_dense()) return ImportBuckets(ctx, keys, values);
  RETURN_IF_ERROR(CheckEntries(keys, values));
  MutexLock lock(mu_);
  if (options_.is_mutable) Clear();
  // Whoever comes second is believed to bring the same entries where they are as many.
  if (filled_ && !options_.is_mutable) {
    if (CountOf(keys) == KeyCount()) return absl::OkStatus();
    return errors::FailedPrecondition("Table was already initialized with different data.");
  }
  for (int64_t i = 0; i < CountOf(keys); ++i) {
    const int64_t known = options_.is_mutable ? -1 : FindRow(keys, i);
    if (known >= 0 && !RowsEqual(RowAt(values_, known), RowAt(values, i))) {
      return errors::FailedPrecondition(
          "HashTable has different value for same key. Key ",
          ElementText(keys.dtype(),
                      static_cast<const char*>(keys.raw_data()) + i * static_cast<int64_t>(DataTypeSize(keys.dtype()))),
          " has ", ElementText(options_.value_type, RowAt(values_, known)), " and trying to add value ",
          ElementText(options_.value_type, RowAt(values, i)));
    }
    ASSIGN_OR_RETURN(const int64_t row, FindOrAddRow(ctx, keys, i));
    CopyElements(options_.value_type, RowAt(values_, row), RowAt(values, i), options_.value_shape.num_elements());
  }
  filled_ = true;
  return absl::OkStatus();
}

// As TensorFlow's dense tables, whose exports show where entries are.
uint64_t LookupTable::KeyHash(const Tensor& keys, int64_t i) const {
  const int64_t width = options_.key_shape.num_elements();
  const auto element = [&](int64_t at) {
    return options_.key_type == DT_STRING ? Hash64(keys.data<tstring>()[at])
                                          : static_cast<uint64_t>(IntegerKey(keys, at));
  };
  if (width == 1) return element(i);
  uint64_t hash = 0;
  for (int64_t at = i * width; at < (i + 1) * width; ++at) {
    hash ^= element(at) + 0x9e3779b97f4a7800 + (hash << 10) + (hash >> 4);
  }
  return hash;
}

absl::Status LookupTable::ImportBuckets(const OpKernelContext& ctx, const Tensor& keys, const Tensor& values) {
  const int64_t key_width = options_.key_shape.num_elements(), width = options_.value_shape.num_elements();
  const int64_t count = keys.dims() == 2 ? keys.dim_size(0) : 0;
  const bool fits = keys.dims() == 2 && values.dims() == 2 && keys.dim_size(1) == key_width &&
                    values.dim_size(0) == count && values.dim_size(1) == width && keys.dtype() == options_.key_type &&
                    values.dtype() == options_.value_type;
  if (!fits || count == 0) {
    return errors::InvalidArgument("Expected keys [n,", key_width, "] and values [n,", width, "], got ",
                                   keys.shape().ToString(), " and ", values.shape().ToString());
  }
  const std::string empty = EncodedKey(options_.empty_key, 0), deleted = EncodedKey(options_.deleted_key, 0);
  MutexLock lock(mu_);
  Clear();
  int64_t buckets = 4;
  while (buckets < count) buckets *= 2;
  buckets_ = std::make_unique<DenseBuckets>(buckets, options_.max_load);
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = EncodedKey(keys, i);
    if (key == empty || key == deleted) continue;
    ASSIGN_OR_RETURN(const int64_t row, FindOrAddRow(ctx, keys, i));
    CopyElements(options_.value_type, RowAt(values_, row), RowAt(values, i), width);
  }
  return absl::OkStatus();
}

absl::StatusOr<LookupTable::Entries> LookupTable::ExportBuckets(const OpKernelContext& ctx) const {
  const int64_t width = options_.value_shape.num_elements(), count = buckets_->size();
  Entries entries;
  ASSIGN_OR_RETURN(entries.keys,
                   ctx.allocate_temp(options_.key_type, TensorShape({count, options_.key_shape.num_elements()})));
  ASSIGN_OR_RETURN(entries.values, ctx.allocate_temp(options_.value_type, TensorShape({count, width})));
  std::vector<std::string> key_of_row(used_rows_);
  for (const auto& [key, row] : rows_.by_string) key_of_row[row] = key;
  for (const auto& [key, row] : rows_.by_integer) {
    const int32_t narrow = static_cast<int32_t>(key);
    key_of_row[row] = options_.key_type == DT_INT32
                          ? std::string(reinterpret_cast<const char*>(&narrow), sizeof(narrow))
                          : std::string(reinterpret_cast<const char*>(&key), sizeof(key));
  }
  const std::string empty = EncodedKey(options_.empty_key, 0), deleted = EncodedKey(options_.deleted_key, 0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = buckets_->row(i);
    DecodeKey(row >= 0 ? key_of_row[row] : row == DenseBuckets::kDeleted ? deleted : empty, &entries.keys, i);
    if (row >= 0) {
      CopyElements(options_.value_type, RowAt(entries.values, i), RowAt(values_, row), width);
    } else if (width > 0) {
      ZeroElements(options_.value_type, RowAt(entries.values, i), width);
    }
  }
  return entries;
}

absl::StatusOr<LookupTable::Entries> LookupTable::Export(const OpKernelContext& ctx) const {
  MutexLock lock(mu_);
  if (buckets_ != nullptr) return ExportBuckets(ctx);
  if (!options_.is_mutable && !filled_) {
    return errors::Aborted("HashTable is not initialized. Table ", options_.name, " has to be filled first");
  }
  const int64_t count = KeyCount();
  TensorShape shape = options_.value_shape;
  RETURN_IF_ERROR(shape.InsertDim(0, count));
  Entries entries;
  TensorShape key_shape = options_.key_shape;
  RETURN_IF_ERROR(key_shape.InsertDim(0, count));
  ASSIGN_OR_RETURN(entries.keys, ctx.allocate_temp(options_.key_type, key_shape));
  ASSIGN_OR_RETURN(entries.values, ctx.allocate_temp(options_.value_type, shape));
  int64_t i = 0;
  const auto copy_value = [&](int64_t row) {
    CopyElements(options_.value_type, RowAt(entries.values, i++), RowAt(values_, row),
                 options_.value_shape.num_elements());
  };
  for (const auto& [key, row] : rows_.by_string) {
    DecodeKey(key, &entries.keys, i);
    copy_value(row);
  }
  for (const auto& [key, row] : rows_.by_integer) {
    if (options_.key_type == DT_INT32) {
      entries.keys.data<int32_t>()[i] = static_cast<int32_t>(key);
    } else {
      entries.keys.data<int64_t>()[i] = key;
    }
    copy_value(row);
  }
  return entries;
}

}  // namespace weir
