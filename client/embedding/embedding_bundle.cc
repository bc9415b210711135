#include "client/embedding/embedding_bundle.h"

#include "absl/strings/str_format.h"
#include "client/fed_scalar.h"
#include "client/ops.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/logging.h"
#include "core/random_bits.h"

namespace weir {

void EmbeddingBundleWriter::AddParts(const Scope& scope, const EmbeddingVariable& variable) {
  for (int i = 0; i < variable.num_parts(); ++i) {
    const Scope beside = variable.Beside(scope, i);
    Part part;
    part.prefix = ops::Placeholder(beside.WithName("prefix"), DT_STRING);
    part.since = FedScalar(beside, "since", DT_INT64);
    const Tensor name = Tensor::Scalar<tstring>(absl::StrCat(variable.name(), "/part_", i));
    part.saved = ops::EmbeddingTableSave(beside, variable.table(i), part.prefix, name, part.since,
                                         {.with_slots = options_.with_slots, .keep_removals = options_.keep_removals});
    parts_.push_back(part);
  }
}

absl::StatusOr<std::vector<int64_t>> EmbeddingBundleWriter::Write(Session& session, const std::string& path,
                                                                  const std::vector<int64_t>& since,
                                                                  const Entries& entries, Guard guard) const {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(path));
  const std::string temporary = absl::StrFormat("%s_temp_%016x", path, RandomBits());
  RETURN_IF_ERROR(files->CreateDir(temporary));
  absl::StatusOr<std::vector<int64_t>> versions = WriteParts(session, files, path, temporary, since, entries, guard);
  const absl::Status removed = files->DeleteRecursively(temporary);
  if (!removed.ok() && !absl::IsNotFound(removed)) {
    WEIR_LOG(WARNING) << "The temporary files " << temporary << " stay: " << removed.message();
  }
  return versions;
}

absl::StatusOr<std::vector<int64_t>> EmbeddingBundleWriter::WriteParts(Session& session, FileSystem* files,
                                                                       const std::string& path,
                                                                       const std::string& temporary,
                                                                       const std::vector<int64_t>& since,
                                                                       const Entries& entries, Guard guard) const {
  FeedList feeds;
  std::vector<Output> fetches;
  std::vector<std::string> prefixes;
  for (size_t i = 0; i < parts_.size(); ++i) {
    prefixes.push_back(absl::StrFormat("%s/part-%05d-of-%05d", temporary, i, parts_.size() + 1));
    feeds.emplace_back(parts_[i].prefix, Tensor::Scalar<tstring>(prefixes.back()));
    feeds.emplace_back(parts_[i].since, Tensor::Scalar(since[i]));
    fetches.push_back(parts_[i].saved);
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> versions, session.Run(feeds, fetches));
  prefixes.push_back(absl::StrFormat("%s/part-%05d-of-%05d", temporary, parts_.size(), parts_.size() + 1));
  ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(files, prefixes.back()));
  for (const auto& [name, tensor] : entries) RETURN_IF_ERROR(writer->Add(name, tensor));
  RETURN_IF_ERROR(writer->Finish());
  RETURN_IF_ERROR(guard([&] { return MergeBundles(files, prefixes, path); }));
  std::vector<int64_t> result;
  for (const Tensor& version : versions) result.push_back(version.scalar<int64_t>());
  return result;
}

}  // namespace weir
