#include "kernels/fusion/code_cache.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/checkpoint/crc32c.h"
#include "core/fingerprint.h"
#include "core/logging.h"
#include "core/random_bits.h"

namespace weir {
namespace {

constexpr char kCodeFormat[] = "weir fused kernel 1";
constexpr uint64_t kLargestFile = uint64_t{64} << 20;
constexpr size_t kChecksum = 8;  // hexadecimal digits at the end

absl::Status Damaged(absl::string_view what) { return errors::DataLoss("no file of a fused kernel: ", what); }

std::string ChecksumOf(absl::string_view text) { return absl::StrFormat("%08x", crc32c::Value(text)); }

}  // namespace

std::string FormatCode(const std::string& identity, const std::string& source, const std::string& code) {
  const std::string text =
      absl::StrCat(kCodeFormat, "\n", identity, "\n", source.size(), " ", code.size(), "\n", source, code);
  return absl::StrCat(text, ChecksumOf(text));
}

absl::StatusOr<std::string> ParseCode(const std::string& text, const std::string& identity, const std::string& source) {
  if (text.size() < kChecksum) return Damaged("it ends early");
  const absl::string_view body = absl::string_view(text).substr(0, text.size() - kChecksum);
  if (text.substr(body.size()) != ChecksumOf(body)) return Damaged("its checksum is wrong");
  const std::vector<absl::string_view> parts = absl::StrSplit(body, absl::MaxSplits('\n', 3));
  if (parts.size() != 4 || parts[0] != kCodeFormat) return Damaged("it is of another format");
  const std::pair<absl::string_view, absl::string_view> lengths = absl::StrSplit(parts[2], absl::MaxSplits(' ', 1));
  uint64_t source_size = 0, code_size = 0;
  if (!absl::SimpleAtoi(lengths.first, &source_size) || !absl::SimpleAtoi(lengths.second, &code_size) ||
      source_size > parts[3].size() || code_size != parts[3].size() - source_size) {
    return Damaged("its lengths are not those of what it holds");
  }
  if (parts[1] != identity || parts[3].substr(0, source_size) != source) {
    return errors::FailedPrecondition("it is of another kernel, or by another compiler: ", parts[1]);
  }
  return std::string(parts[3].substr(source_size));
}

std::string CodeCache::PathOf(const std::string& identity, const std::string& source) const {
  return JoinPath(directory_,
                  absl::StrFormat("fused-%016x.kernel", Fingerprint64(absl::StrCat(identity, "\n", source))));
}

std::optional<std::string> CodeCache::Find(const std::string& identity, const std::string& source) const {
  const std::string path = PathOf(identity, source);
  const absl::StatusOr<std::string> text = ReadFileToString(files_.get(), path, kLargestFile);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  absl::StatusOr<std::string> code = text.ok() ? ParseCode(*text, identity, source) : text.status();
  if (code.ok()) return *std::move(code);
  WEIR_LOG(WARNING).With("file", path).With("reason", code.status().message())
      << "the file of a fused kernel is not used; the kernel is compiled anew";
  return std::nullopt;
}

absl::Status CodeCache::Add(const std::string& identity, const std::string& source, const std::string& code) {
  RETURN_IF_ERROR(files_->CreateDir(directory_));
  const std::string path = PathOf(identity, source);
  // Under a name of its own: another who saves now writes beside it, not into it.
  const std::string written = absl::StrFormat("%s.%016x", path, RandomBits());
  absl::Status status = WriteStringToFile(files_.get(), written, FormatCode(identity, source, code));
  if (status.ok()) status = files_->Rename(written, path);
  if (!status.ok()) files_->DeleteFile(written).IgnoreError();
  return status;
}

}  // namespace weir
