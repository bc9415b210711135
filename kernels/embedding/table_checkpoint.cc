#include "kernels/embedding/table_checkpoint.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "core/checkpoint/bundle_reader.h"
#include "kernels/device/blocking_kernel.h"

namespace weir {
namespace {

constexpr int64_t kTableFormat = 1;
constexpr int64_t kMaxShards = 1 << 16;
constexpr absl::string_view kInfo = "-info", kPart = "/part_", kPartitions = "-partitions", kOwners = "-owners";

std::string ShardName(const std::string& name, int64_t shard) { return absl::StrFormat("%s/shard_%02d", name, shard); }

struct Info {
  int64_t width = 0, slots = 0, version = 0, since = -1, shards = 0;

  Tensor ToTensor() const { return Tensor::Vector<int64_t>({kTableFormat, width, slots, version, since, shards}); }
  static absl::StatusOr<Info> FromTensor(const std::string& name, const Tensor& tensor) {
    constexpr int kFields = 6;
    if (tensor.dtype() != DT_INT64 || tensor.NumElements() != kFields || tensor.data<int64_t>()[0] != kTableFormat) {
      return errors::DataLoss(name, " does not describe an embedding table");
    }
    const int64_t* const v = tensor.data<int64_t>();
    Info info{.width = v[1], .slots = v[2], .version = v[3], .since = v[4], .shards = v[5]};
    if (info.shards < 1 || info.shards > kMaxShards || info.since < -1 || info.version < 0) {
      return errors::DataLoss(name, " has values that no embedding table has");
    }
    return info;
  }
};

absl::Status WriteRows(BundleWriter& writer, const std::string& name, const EmbeddingRows& rows, bool changes) {
  RETURN_IF_ERROR(writer.Add(name + "-keys", rows.keys));
  RETURN_IF_ERROR(writer.Add(name + "-values", rows.values));
  RETURN_IF_ERROR(writer.Add(name + "-slots", rows.slots));
  RETURN_IF_ERROR(writer.Add(name + "-versions", rows.versions));
  RETURN_IF_ERROR(writer.Add(name + "-freqs", rows.freqs));
  RETURN_IF_ERROR(writer.Add(name + "-used", rows.used));
  return changes ? writer.Add(name + "-removed", Tensor::Vector<int64_t>(rows.removed)) : absl::OkStatus();
}

absl::StatusOr<EmbeddingRows> ReadRows(const BundleReader& reader, const std::string& name) {
  EmbeddingRows rows;
  ASSIGN_OR_RETURN(rows.keys, reader.Read(name + "-keys"));
  ASSIGN_OR_RETURN(rows.values, reader.Read(name + "-values"));
  ASSIGN_OR_RETURN(rows.slots, reader.Read(name + "-slots"));
  ASSIGN_OR_RETURN(rows.versions, reader.Read(name + "-versions"));
  ASSIGN_OR_RETURN(rows.freqs, reader.Read(name + "-freqs"));
  ASSIGN_OR_RETURN(rows.used, reader.Read(name + "-used"));
  if (!reader.Contains(name + "-removed")) return rows;
  ASSIGN_OR_RETURN(const Tensor removed, reader.Read(name + "-removed"));
  if (removed.dtype() != DT_INT64) return errors::DataLoss(name, "-removed is not of type int64");
  rows.removed.assign(removed.flat<int64_t>().begin(), removed.flat<int64_t>().end());
  return rows;
}

// One run over a chain of checkpoints.
class Restoration {
 public:
  Restoration(EmbeddingTable& table, const std::string& name, RestoredParts parts, OpKernelContext& ctx)
      : table_(table), name_(name), here_(parts), ctx_(ctx) {}

  // Takes one more checkpoint into the chain; the table stays as it is.
  absl::Status Append(std::unique_ptr<BundleReader> reader) {
    ASSIGN_OR_RETURN(Parts parts, FindParts(*reader));
    ASSIGN_OR_RETURN(std::vector<int32_t> owners, FindOwners(*reader, parts));
    std::map<std::string, int64_t> versions;
    for (const auto& [part, info] : parts) {
      RETURN_IF_ERROR(CheckFollows(part, info));
      versions[part] = info.version;
    }
    versions_ = std::move(versions);
    owners_ = owners;
    chain_.push_back({std::move(reader), std::move(parts), std::move(owners)});
    return absl::OkStatus();
  }
  absl::Status ReadAll() {
    for (const Link& link : chain_) {
      // Where as many parts were saved as there are now, the others have nothing for this one.
      const bool only_own = !here_.moves() && link.owners.empty() && static_cast<int>(link.parts.size()) == here_.count;
      for (const auto& [part, info] : link.parts) {
        if (!only_own || part == OwnPart()) RETURN_IF_ERROR(ReadPart(link, part, info));
      }
    }
    return absl::OkStatus();
  }

  // Whether the parts are now as they were saved.
  bool whole() const {
    if (here_.moves()) return versions_.count(OwnPart()) > 0 && here_.owners == absl::MakeConstSpan(owners_);
    return owners_.empty() && static_cast<int>(versions_.size()) == here_.count;
  }
  int64_t version() const {
    if (whole()) return versions_.at(OwnPart());
    int64_t latest = 0;
    for (const auto& [part, version] : versions_) latest = std::max(latest, version);
    return latest;
  }

 private:
  using Parts = std::map<std::string, Info>;
  struct Link {
    std::unique_ptr<BundleReader> reader;
    Parts parts;
    std::vector<int32_t> owners;
  };

  std::string PartName(int64_t part) const { return absl::StrCat(name_, kPart, part); }
  std::string OwnPart() const { return PartName(here_.self); }

  absl::StatusOr<Parts> FindParts(const BundleReader& reader) const {
    const std::string start = absl::StrCat(name_, kPart);
    Parts parts;
    for (const BundleReader::Info& entry : reader.List()) {
      if (!absl::StartsWith(entry.name, start) || !absl::EndsWith(entry.name, kInfo)) continue;
      ASSIGN_OR_RETURN(const Tensor tensor, reader.Read(entry.name));
      ASSIGN_OR_RETURN(parts[entry.name.substr(0, entry.name.size() - kInfo.size())],
                       Info::FromTensor(entry.name, tensor));
    }
    if (parts.empty()) return errors::NotFound("The checkpoint has no embedding table ", name_);
    RETURN_IF_ERROR(CheckComplete(reader, parts));
    if (versions_.empty() || parts.size() == versions_.size()) return parts;
    return errors::DataLoss("The checkpoint has ", parts.size(), " parts of embedding table ", name_,
                            ", the one before ", versions_.size());
  }
  // For each shard, the number of the part that has its rows; empty: each part has its own shards.
  absl::StatusOr<std::vector<int32_t>> FindOwners(const BundleReader& reader, const Parts& parts) const {
    const std::string entry = absl::StrCat(name_, kOwners);
    if (!reader.Contains(entry)) return std::vector<int32_t>();
    ASSIGN_OR_RETURN(const Tensor saved, reader.Read(entry));
    if (saved.dtype() != DT_INT32 || !saved.shape().IsVector()) return errors::DataLoss(entry, " is not a map");
    for (const int32_t owner : saved.flat<int32_t>()) {
      if (owner < 0 || static_cast<size_t>(owner) >= parts.size()) {
        return errors::DataLoss(entry, " names part ", owner, " of ", parts.size());
      }
    }
    for (const auto& [part, info] : parts) {
      if (info.shards == saved.NumElements()) continue;
      return errors::DataLoss(entry, " is the map of ", saved.NumElements(), " shards; ", part, " has ", info.shards);
    }
    return std::vector<int32_t>(saved.flat<int32_t>().begin(), saved.flat<int32_t>().end());
  }
  absl::Status CheckComplete(const BundleReader& reader, const Parts& parts) const {
    const auto count = static_cast<int64_t>(parts.size());
    const std::string entry = absl::StrCat(name_, kPartitions);
    if (reader.Contains(entry)) {
      ASSIGN_OR_RETURN(const Tensor saved, reader.Read(entry));
      if (saved.dtype() != DT_INT64 || saved.dims() != 0 || saved.scalar<int64_t>() != count) {
        return errors::DataLoss("The checkpoint has ", count, " parts of embedding table ", name_, "; it was saved in ",
                                saved.DebugString());
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      if (parts.count(PartName(i)) == 0) return errors::DataLoss("The checkpoint lacks ", PartName(i));
    }
    return absl::OkStatus();
  }
  absl::Status CheckFollows(const std::string& part, const Info& info) const {
    const EmbeddingOptions& options = table_.options();
    if (info.width != options.width || info.slots != options.slots()) {
      return errors::InvalidArgument(part, " has width ", info.width, " and ", info.slots,
                                     " slots; the embedding table has ", options.width, " and ", options.slots());
    }
    const auto before = versions_.find(part);
    const int64_t expected = before == versions_.end() ? -1 : before->second;
    if (info.since == expected) return absl::OkStatus();
    return errors::DataLoss(part, " has the changes since version ", info.since, "; the checkpoint before it has ",
                            expected);
  }
  absl::Status ReadPart(const Link& link, const std::string& part, const Info& info) {
    for (int64_t i = 0; i < info.shards; ++i) {
      RETURN_IF_ERROR(CheckCancelled(ctx_));
      if (!HasRowsForHere(link, part, i)) continue;
      const std::string shard = ShardName(part, i);
      if (!link.reader->Contains(shard + "-keys")) continue;  // empty
      ASSIGN_OR_RETURN(const EmbeddingRows rows, ReadRows(*link.reader, shard));
      const absl::Status restored =
          here_.moves() ? table_.RestoreRows(ctx_, rows) : table_.RestoreRows(ctx_, rows, here_.self, here_.count);
      RETURN_IF_ERROR(Annotate(restored, shard));
    }
    return absl::OkStatus();
  }
  // Not where another part of the checkpoint is what counts, nor where the shard is a part that another task has now.
  bool HasRowsForHere(const Link& link, const std::string& part, int64_t shard) const {
    if (link.owners.empty()) return true;
    if (PartName(link.owners[shard]) != part) return false;
    return here_.owners.size() != link.owners.size() || here_.owners[shard] == here_.self;
  }

  EmbeddingTable& table_;
  const std::string name_;
  const RestoredParts here_;
  OpKernelContext& ctx_;
  std::vector<Link> chain_;
  std::map<std::string, int64_t> versions_;  // by part, of the last checkpoint
  std::vector<int32_t> owners_;              // of the last checkpoint
};

}  // namespace

absl::StatusOr<int64_t> SaveTable(EmbeddingTable& table, FileSystem* files, const std::string& prefix,
                                  const std::string& name, int64_t since, const SaveOptions& options,
                                  OpKernelContext& ctx) {
  ASSIGN_OR_RETURN(const int64_t version, table.BeginExport(since));
  ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(files, prefix));
  for (int i = 0; i < table.num_shards(); ++i) {
    RETURN_IF_ERROR(CheckCancelled(ctx));
    ASSIGN_OR_RETURN(EmbeddingRows rows, table.ExportShard(i, since, version, options.keep_removals, ctx.allocator()));
    if (!options.with_slots) rows.slots = Tensor(DT_FLOAT, TensorShape({rows.keys.NumElements(), 0}));
    if (rows.keys.NumElements() == 0 && rows.removed.empty()) continue;
    RETURN_IF_ERROR(WriteRows(*writer, ShardName(name, i), rows, since >= 0));
  }
  const Info info{.width = table.options().width,
                  .slots = options.with_slots ? table.options().slots() : 0,
                  .version = version,
                  .since = since,
                  .shards = table.num_shards()};
  RETURN_IF_ERROR(writer->Add(absl::StrCat(name, kInfo), info.ToTensor()));
  RETURN_IF_ERROR(writer->Finish());
  return version;
}

absl::StatusOr<int64_t> RestoreTable(EmbeddingTable& table, FileSystemRegistry* file_systems,
                                     const std::vector<std::string>& prefixes, const std::string& name,
                                     const RestoredParts& parts, OpKernelContext& ctx) {
  if (prefixes.empty()) return errors::InvalidArgument("There is no checkpoint to restore embedding table ", name);
  Restoration restoration(table, name, parts, ctx);
  const auto open_all = [&]() -> absl::Status {
    for (const std::string& prefix : prefixes) {
      RETURN_IF_ERROR(CheckCancelled(ctx));
      ASSIGN_OR_RETURN(FileSystem * files, file_systems->Find(prefix));
      ASSIGN_OR_RETURN(std::unique_ptr<BundleReader> reader, BundleReader::Open(files, prefix));
      RETURN_IF_ERROR(Annotate(restoration.Append(std::move(reader)), prefix));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(OrOutOfMemory(open_all));
  RETURN_IF_ERROR(table.BeginRestore());
  const absl::Status status = OrOutOfMemory([&]() -> absl::Status {
    if (parts.moves()) RETURN_IF_ERROR(table.Own(parts.owners, parts.self, /*create=*/true));
    return restoration.ReadAll();
  });
  RETURN_IF_ERROR(table.EndRestore(status, restoration.version(), restoration.whole()));
  return restoration.version();
}

}  // namespace weir
