#include "client/embedding/embedding_export_files.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace weir {
namespace {

constexpr int64_t kFormat = 1;
constexpr absl::string_view kFull = "-full", kDelta = "-delta";

}  // namespace

std::string EmbeddingExportFile::Path(const std::string& dir) const {
  return JoinPath(dir, absl::StrFormat("rows-%010d%s", number, is_full ? kFull : kDelta));
}

std::optional<EmbeddingExportFile> EmbeddingExportFile::Parse(absl::string_view name) {
  EmbeddingExportFile file;
  if (!absl::ConsumePrefix(&name, "rows-") || !absl::ConsumeSuffix(&name, ".index")) return std::nullopt;
  file.is_full = absl::ConsumeSuffix(&name, kFull);
  if (!file.is_full && !absl::ConsumeSuffix(&name, kDelta)) return std::nullopt;
  if (!absl::SimpleAtoi(name, &file.number) || file.number < 0) return std::nullopt;
  return file;
}

absl::StatusOr<std::vector<EmbeddingExportFile>> EmbeddingExportFile::List(FileSystem* files, const std::string& dir) {
  std::vector<EmbeddingExportFile> found;
  const absl::StatusOr<std::vector<std::string>> names = files->List(dir);
  if (absl::IsNotFound(names.status())) return found;
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (const auto file = Parse(name); file.has_value()) found.push_back(*file);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Tensor EmbeddingExportFile::EntryOf(absl::Time began) const {
  return Tensor::Vector<int64_t>({kFormat, number, absl::ToUnixMicros(began)});
}

absl::StatusOr<absl::Time> EmbeddingExportFile::ReadEntry(const BundleReader& reader) const {
  ASSIGN_OR_RETURN(const Tensor entry, reader.Read(kEntry));
  constexpr int64_t kFields = 3;
  if (entry.dtype() != DT_INT64 || entry.NumElements() != kFields || entry.data<int64_t>()[0] != kFormat ||
      entry.data<int64_t>()[1] != number) {
    return errors::DataLoss(kEntry, " does not describe export ", number, ": ", entry.DebugString());
  }
  return absl::FromUnixMicros(entry.data<int64_t>()[2]);
}

}  // namespace weir
