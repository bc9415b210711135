#include "core/checkpoint/snappy.h"

#include "core/checkpoint/coding.h"

namespace weir {
namespace {

// Removes a little-endian number of `bytes` bytes from the front of `in`.
bool TakeNumber(absl::string_view* in, int bytes, size_t* number) {
  if (in->size() < static_cast<size_t>(bytes)) return false;
  *number = 0;
  for (int i = 0; i < bytes; ++i) *number |= static_cast<size_t>(static_cast<unsigned char>((*in)[i])) << (8 * i);
  in->remove_prefix(bytes);
  return true;
}

bool AppendLiteral(unsigned tag, absl::string_view* in, size_t max_size, std::string* out) {
  size_t length = tag >> 2;
  if (length >= 60 && !TakeNumber(in, static_cast<int>(length) - 59, &length)) return false;
  ++length;
  if (length > in->size() || length > max_size - out->size()) return false;
  out->append(in->data(), length);
  in->remove_prefix(length);
  return true;
}

bool AppendCopy(unsigned tag, absl::string_view* in, size_t max_size, std::string* out) {
  size_t length = (tag >> 2) + 1, offset = 0;
  switch (tag & 3) {
    case 1:
      if (!TakeNumber(in, 1, &offset)) return false;
      length = ((tag >> 2) & 7) + 4;
      offset |= static_cast<size_t>(tag >> 5) << 8;
      break;
    case 2:
      if (!TakeNumber(in, 2, &offset)) return false;
      break;
    default:
      if (!TakeNumber(in, 4, &offset)) return false;
  }
  if (offset == 0 || offset > out->size() || length > max_size - out->size()) return false;
  // The source of a copy may overlap its output.
  for (size_t i = 0; i < length; ++i) out->push_back((*out)[out->size() - offset]);
  return true;
}

}  // namespace

absl::StatusOr<std::string> SnappyUncompress(absl::string_view compressed, size_t max_size) {
  uint32_t size = 0;
  if (!coding::GetVarint32(&compressed, &size)) return errors::InvalidArgument("the Snappy length is malformed");
  if (size > max_size) {
    return errors::InvalidArgument("Snappy data of ", size, " bytes is larger than the limit of ", max_size);
  }
  std::string out;
  // The actual size may be far smaller than the claimed one.
  out.reserve(std::min<size_t>(size, compressed.size() * 4));
  while (!compressed.empty()) {
    const unsigned tag = static_cast<unsigned char>(compressed.front());
    compressed.remove_prefix(1);
    const bool good =
        (tag & 3) == 0 ? AppendLiteral(tag, &compressed, size, &out) : AppendCopy(tag, &compressed, size, &out);
    if (!good) return errors::InvalidArgument("the Snappy data is corrupt at byte ", out.size(), " of its output");
  }
  if (out.size() != size)
    return errors::InvalidArgument("the Snappy data ends after ", out.size(), " of ", size, " bytes");
  return out;
}

}  // namespace weir
