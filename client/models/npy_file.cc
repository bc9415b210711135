#include "client/models/npy_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/tensor/numeric_types.h"

namespace weir {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;  // of the data in the file

// NumPy's kinds and sizes of plain types.
struct PlainKind {
  char kind;
  size_t size;
  DataType dtype;
};
constexpr PlainKind kPlainKinds[] = {
    {'f', 4, DT_FLOAT},  {'f', 8, DT_DOUBLE},    {'f', 2, DT_HALF},        {'i', 1, DT_INT8},   {'i', 2, DT_INT16},
    {'i', 4, DT_INT32},  {'i', 8, DT_INT64},     {'u', 1, DT_UINT8},       {'u', 2, DT_UINT16}, {'u', 4, DT_UINT32},
    {'u', 8, DT_UINT64}, {'c', 8, DT_COMPLEX64}, {'c', 16, DT_COMPLEX128}, {'b', 1, DT_BOOL}};

struct NpyHeader {
  char kind = 0;    // 'f'
  size_t size = 0;  // of an element, as written: bytes, or characters of kind U
  TensorShape shape;
};

// The text after "'key':" in the header's dictionary.
std::optional<absl::string_view> ValueOf(absl::string_view dictionary, absl::string_view key) {
  const size_t at = dictionary.find(absl::StrCat("'", key, "'"));
  if (at == absl::string_view::npos) return std::nullopt;
  absl::string_view value = absl::StripLeadingAsciiWhitespace(dictionary.substr(at + key.size() + 2));
  if (!absl::ConsumePrefix(&value, ":")) return std::nullopt;
  return absl::StripLeadingAsciiWhitespace(value);
}

absl::Status ParseType(absl::string_view value, NpyHeader* header) {
  if (!absl::ConsumePrefix(&value, "'")) return errors::InvalidArgument("structured arrays are not supported");
  const absl::string_view type = value.substr(0, value.find('\''));
  if (absl::StartsWith(type, ">")) return errors::InvalidArgument("type '", type, "' is big-endian");
  if (type.size() < 3 || absl::string_view("<|=").find(type[0]) == absl::string_view::npos ||
      !absl::SimpleAtoi(type.substr(2), &header->size)) {
    return errors::InvalidArgument("arrays of type '", type, "' are not supported");
  }
  header->kind = type[1];
  return absl::OkStatus();
}

absl::Status ParseShape(absl::string_view value, NpyHeader* header) {
  const size_t end = value.find(')');
  if (!absl::ConsumePrefix(&value, "(") || end == absl::string_view::npos) {
    return errors::DataLoss("the header has no shape");
  }
  std::vector<int64_t> dims;
  for (const absl::string_view part : absl::StrSplit(value.substr(0, end - 1), ',', absl::SkipWhitespace())) {
    if (!absl::SimpleAtoi(part, &dims.emplace_back())) return errors::DataLoss("dimension '", part, "' is no number");
  }
  ASSIGN_OR_RETURN(header->shape, TensorShape::Build(dims));
  return absl::OkStatus();
}

absl::StatusOr<NpyHeader> ParseHeader(absl::string_view dictionary) {
  NpyHeader header;
  const auto type = ValueOf(dictionary, "descr"), order = ValueOf(dictionary, "fortran_order"),
             shape = ValueOf(dictionary, "shape");
  if (!type.has_value() || !order.has_value() || !shape.has_value()) {
    return errors::DataLoss("the header lacks descr, fortran_order or shape");
  }
  RETURN_IF_ERROR(ParseType(*type, &header));
  RETURN_IF_ERROR(ParseShape(*shape, &header));
  if (!absl::StartsWith(*order, "False") && header.shape.dims() > 1) {
    return errors::InvalidArgument("the array is in Fortran order; save numpy.ascontiguousarray(it)");
  }
  return header;
}

void AppendUtf8(uint32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (c >> 6)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (c >> 12)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | ((c >> 18) & 0x07)));
    out->push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

// One element of kind S or U; zeros fill it up.
std::string TextOf(absl::string_view bytes, char kind) {
  std::string text;
  if (kind == 'S') {
    text = std::string(bytes);
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  for (size_t i = 0; i + sizeof(uint32_t) <= bytes.size(); i += sizeof(uint32_t)) {
    uint32_t c;
    std::memcpy(&c, bytes.data() + i, sizeof(c));
    if (c == 0) break;
    AppendUtf8(c, &text);
  }
  return text;
}

absl::StatusOr<Tensor> ParseArray(absl::string_view bytes) {
  const auto truncated = [] { return errors::DataLoss("the file is truncated"); };
  if (!absl::ConsumePrefix(&bytes, kMagic)) return errors::InvalidArgument("it is not a .npy file");
  if (bytes.size() < 6) return truncated();
  const int version = static_cast<uint8_t>(bytes[0]);
  const size_t length_bytes = version == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= size_t{static_cast<uint8_t>(bytes[2 + i])} << (8 * i);
  bytes.remove_prefix(2 + length_bytes);
  if (bytes.size() < length) return truncated();
  ASSIGN_OR_RETURN(const NpyHeader header, ParseHeader(bytes.substr(0, length)));
  bytes.remove_prefix(length);

  const bool is_text = header.kind == 'S' || header.kind == 'U';
  const auto plain = std::find_if(std::begin(kPlainKinds), std::end(kPlainKinds), [&](const PlainKind& kind) {
    return kind.kind == header.kind && kind.size == header.size;
  });
  if (!is_text && plain == std::end(kPlainKinds)) {
    return errors::InvalidArgument("arrays of type '", std::string(1, header.kind), header.size, "' are not supported");
  }
  const int64_t size = static_cast<int64_t>(header.kind == 'U' ? header.size * sizeof(uint32_t) : header.size);
  const int64_t wanted = MultiplyWithoutOverflow(header.shape.num_elements(), size);
  if (wanted < 0 || static_cast<uint64_t>(wanted) > bytes.size()) return truncated();
  // An array of empty texts has elements, but no bytes that limit their number.
  if (size == 0 && header.shape.num_elements() > static_cast<int64_t>(kAlignment << 20)) {
    return errors::InvalidArgument("the array has ", header.shape.num_elements(), " empty texts");
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(CpuAllocator(), is_text ? DT_STRING : plain->dtype, header.shape));
  if (!is_text && wanted > 0) std::memcpy(tensor.raw_data(), bytes.data(), wanted);
  for (int64_t i = 0; is_text && i < tensor.NumElements(); ++i) {
    tensor.data<tstring>()[i] = TextOf(bytes.substr(i * size, size), header.kind);
  }
  return tensor;
}

std::string HeaderText(absl::string_view type, const TensorShape& shape) {
  std::string dims = absl::StrJoin(shape.dim_sizes(), ", ");
  if (shape.dims() == 1) dims += ",";
  std::string text = absl::StrCat("{'descr': '", type, "', 'fortran_order': False, 'shape': (", dims, "), }");
  const size_t before = kMagic.size() + 4;
  text.append(kAlignment - (before + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  return absl::StrCat(kMagic, absl::string_view("\x01\x00", 2), std::string(1, static_cast<char>(text.size() & 0xFF)),
                      std::string(1, static_cast<char>(text.size() >> 8)), text);
}

std::string TextArray(const Tensor& tensor) {
  size_t longest = 1;
  for (const tstring& text : tensor.flat<tstring>()) longest = std::max(longest, text.size());
  std::string bytes = HeaderText(absl::StrCat("|S", longest), tensor.shape());
  for (const tstring& text : tensor.flat<tstring>()) {
    bytes += text;
    bytes.append(longest - text.size(), '\0');
  }
  return bytes;
}

Tensor AsFloat(const Tensor& tensor) {
  Tensor converted(DT_FLOAT, tensor.shape());
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    converted.data<float>()[i] = static_cast<float>(tensor.data<bfloat16>()[i]);
  }
  return converted;
}

}  // namespace

absl::StatusOr<Tensor> ReadNpyFile(FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFileToString(files, path, std::numeric_limits<int64_t>::max()));
  absl::StatusOr<Tensor> tensor = ParseArray(bytes);
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

absl::Status WriteNpyFile(FileSystem* files, const std::string& path, const Tensor& tensor) {
  if (tensor.dtype() == DT_STRING) return WriteStringToFile(files, path, TextArray(tensor));
  if (tensor.dtype() == DT_BFLOAT16) return WriteNpyFile(files, path, AsFloat(tensor));
  for (const PlainKind& kind : kPlainKinds) {
    if (kind.dtype != tensor.dtype()) continue;
    const std::string type = absl::StrCat(kind.size == 1 ? "|" : "<", std::string(1, kind.kind), kind.size);
    std::string bytes = HeaderText(type, tensor.shape());
    bytes.append(static_cast<const char*>(tensor.raw_data()), tensor.TotalBytes());
    return WriteStringToFile(files, path, bytes);
  }
  return errors::Unimplemented(path, ": NumPy has no arrays of type ", DataTypeName(tensor.dtype()));
}

}  // namespace weir
