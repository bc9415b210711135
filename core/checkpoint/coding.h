// Integer and string encodings of tables and checkpoints.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::coding {

// Little endian.
void PutFixed32(std::string* out, uint32_t value);
uint32_t DecodeFixed32(const char* data);
uint64_t DecodeFixed64(const char* data);

// Seven bits a byte, least significant first, the high bit set on all but the last.
void PutVarint(std::string* out, uint64_t value);
// Removes a varint from the front of `in`. False if it is truncated or exceeds its type; `in` is then unspecified.
bool GetVarint64(absl::string_view* in, uint64_t* value);
bool GetVarint32(absl::string_view* in, uint32_t* value);

// Encodings that sort bytewise in the order of the values.
void PutOrderedNumber(std::string* out, uint64_t value);
void PutOrderedSignedNumber(std::string* out, int64_t value);
void PutOrderedString(std::string* out, absl::string_view value);

}  // namespace weir::coding
