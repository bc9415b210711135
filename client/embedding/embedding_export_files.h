// The files of exported embeddings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/files/file_system.h"

namespace weir {

// An export is one bundle or two of a number: "DIR/rows-0000000012-delta" has the rows that changed since export 11 and
// the keys removed since then, and "DIR/rows-0000000012-full" has all rows. The entries are those of a checkpoint
// (docs/embeddings.md) without slots, and embedding_export, int64: format, number, microseconds since 1970 when the
// export began.
struct EmbeddingExportFile {
  static constexpr char kEntry[] = "embedding_export";

  int64_t number = 0;
  bool is_full = false;

  std::string Path(const std::string& dir) const;
  // nullopt for the name of another file. Takes names of bundles' indexes.
  static std::optional<EmbeddingExportFile> Parse(absl::string_view name);
  // Those in `dir`, in order; none if it does not exist.
  static absl::StatusOr<std::vector<EmbeddingExportFile>> List(FileSystem* files, const std::string& dir);

  Tensor EntryOf(absl::Time began) const;
  // When the export began. DataLoss for an entry of another export.
  absl::StatusOr<absl::Time> ReadEntry(const BundleReader& reader) const;

  friend bool operator<(const EmbeddingExportFile& a, const EmbeddingExportFile& b) {
    return std::tie(a.number, a.is_full) < std::tie(b.number, b.is_full);
  }
};

}  // namespace weir
