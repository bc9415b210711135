// The framing of TFRecord files: length, its checksum, the bytes, their checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weir {

inline constexpr size_t kTfRecordHeader = 12, kTfRecordFooter = 4;

std::string TfRecord(absl::string_view data);
// The length in a header; false if its checksum is wrong.
bool ReadTfRecordHeader(absl::string_view header, uint64_t* length);
// Whether the checksum in `footer` is that of `data`.
bool TfRecordIsIntact(absl::string_view data, absl::string_view footer);

}  // namespace weir
