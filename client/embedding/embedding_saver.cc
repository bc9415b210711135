#include "client/embedding/embedding_saver.h"

#include <algorithm>
#include <optional>
#include <set>

#include "client/ops.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/checkpoint/checkpoint_state.h"

namespace weir {
namespace {

constexpr char kChain[] = "embedding_chain", kDirectory[] = "embeddings", kIndex[] = ".index";
constexpr char kOwners[] = "-owners", kTasks[] = "-tasks", kPartitions[] = "-partitions";
// Attempts to save; a concurrent move invalidates one.
constexpr int kSaveAttempts = 3;

// The path of the embedding rows of a checkpoint.
std::string PathBeside(const std::string& checkpoint) {
  return JoinPath(JoinPath(std::string(DirName(checkpoint)), kDirectory), std::string(BaseName(checkpoint)));
}

// Maps `owners`, an index into tasks by name, to indices into `known`; nullopt if a task is not among those.
std::optional<std::vector<int32_t>> Translate(absl::Span<const int32_t> owners, absl::Span<const tstring> tasks,
                                              const std::vector<std::string>& known) {
  std::vector<int32_t> result;
  for (const int32_t owner : owners) {
    if (owner < 0 || static_cast<size_t>(owner) >= tasks.size()) return std::nullopt;
    const auto found = std::find(known.begin(), known.end(), std::string(tasks[owner]));
    if (found == known.end()) return std::nullopt;
    result.push_back(static_cast<int32_t>(found - known.begin()));
  }
  return result;
}

// The owners of the parts of a checkpoint: the tasks that had them, or an even distribution.
absl::StatusOr<std::vector<int32_t>> RestoredOwners(const BundleReader& reader, const EmbeddingVariable& variable) {
  const EmbeddingVariableOptions& options = variable.options();
  const std::string owners_name = variable.name() + kOwners, tasks_name = variable.name() + kTasks;
  if (reader.Contains(owners_name) && reader.Contains(tasks_name)) {
    ASSIGN_OR_RETURN(const Tensor owners, reader.Read(owners_name));
    ASSIGN_OR_RETURN(const Tensor tasks, reader.Read(tasks_name));
    if (owners.dtype() != DT_INT32 || tasks.dtype() != DT_STRING) {
      return errors::DataLoss("The map of embedding ", variable.name(), " has another type");
    }
    const auto known = Translate(owners.flat<int32_t>(), tasks.flat<tstring>(), variable.tasks());
    if (known.has_value() && static_cast<int64_t>(known->size()) == options.parts) return *known;
  }
  return EvenOwners(options.parts, options.initial_devices == 0 ? variable.num_parts() : options.initial_devices);
}

// Whether a checkpoint has the same number of tables for each embedding.
absl::StatusOr<bool> HasSameTables(const BundleReader& reader, const std::map<std::string, int64_t>& partitions) {
  for (const auto& [name, count] : partitions) {
    const std::string entry = name + kPartitions;
    if (!reader.Contains(entry)) return false;
    ASSIGN_OR_RETURN(const Tensor saved, reader.Read(entry));
    if (saved.dtype() != DT_INT64 || saved.dims() != 0) return errors::DataLoss(entry, " is not a number");
    if (saved.scalar<int64_t>() != count) return false;
  }
  return true;
}

}  // namespace

EmbeddingSaver::EmbeddingSaver(const Scope& scope, std::vector<EmbeddingVariable> variables,
                               EmbeddingSaverOptions options)
    : options_(std::move(options)), writer_({.files = options_.files}) {
  const Scope inner = scope.Root().SubScope("save_embeddings");
  std::vector<Operation> initializers;
  InputList flags;
  for (const EmbeddingVariable& variable : variables) {
    initializers.push_back(variable.initializer());
    flags.emplace_back(variable.is_initialized());
    partitions_.emplace(variable.name(), variable.num_parts());
    if (variable.moves()) AddMap(inner, variable);
    writer_.AddParts(inner, variable);
    for (int i = 0; i < variable.num_parts(); ++i) AddPart(inner, variable, i);
  }
  if (parts_.empty()) {
    scope.UpdateStatus(errors::InvalidArgument("An EmbeddingSaver needs at least one embedding"));
    return;
  }
  initialize_ = ops::NoOp(inner.WithControlDependencies(initializers).WithName("init"));
  is_whole_ = ops::All(inner, ops::Pack(inner, flags), Tensor::Vector<int32_t>({0}));
}

void EmbeddingSaver::AddMap(const Scope& scope, const EmbeddingVariable& variable) {
  const Scope beside = scope.WithDevice("").ColocateWith(variable.map().op());
  Map map{.variable = variable};
  const auto now = ops::EmbeddingMapRead(beside, variable.map());
  map.owners = now.owners;
  map.tasks = now.tasks;
  map.epoch = now.epoch;
  map.fed = ops::Placeholder(beside.WithName("owners"), DT_INT32);
  const std::vector<tstring> tasks(variable.tasks().begin(), variable.tasks().end());
  map.set = ops::EmbeddingMapSet(beside, variable.map(), map.fed, Tensor::Vector<tstring>(tasks));
  maps_.push_back(std::move(map));
}

const EmbeddingSaver::Map* EmbeddingSaver::FindMap(const EmbeddingVariable& variable) const {
  for (const Map& map : maps_) {
    if (map.variable.name() == variable.name()) return &map;
  }
  return nullptr;
}

absl::StatusOr<std::vector<EmbeddingSaver::MapState>> EmbeddingSaver::ReadMaps(Session& session) const {
  std::vector<Output> fetches;
  for (const Map& map : maps_) fetches.insert(fetches.end(), {map.owners, map.tasks, map.epoch});
  std::vector<MapState> states;
  if (maps_.empty()) return states;
  ASSIGN_OR_RETURN(const std::vector<Tensor> now, session.Run(fetches));
  for (size_t i = 0; i < maps_.size(); ++i) {
    const auto owners =
        Translate(now[3 * i].flat<int32_t>(), now[3 * i + 1].flat<tstring>(), maps_[i].variable.tasks());
    if (!owners.has_value()) {
      return errors::FailedPrecondition("Parts of embedding ", maps_[i].variable.name(),
                                        " are on tasks that this graph does not know of: build it with them");
    }
    states.push_back({.owners = *owners, .epoch = now[3 * i + 2].scalar<int64_t>()});
  }
  return states;
}

absl::Status EmbeddingSaver::SetMaps(Session& session, const std::vector<std::vector<int32_t>>& owners) const {
  FeedList feeds;
  std::vector<Operation> targets;
  for (size_t i = 0; i < maps_.size(); ++i) {
    feeds.emplace_back(maps_[i].fed, Tensor::Vector<int32_t>(owners[i]));
    targets.push_back(maps_[i].set);
  }
  return maps_.empty() ? absl::OkStatus() : session.Run(feeds, {}, targets).status();
}

void EmbeddingSaver::AddPart(const Scope& scope, const EmbeddingVariable& variable, int part) {
  const Scope beside = variable.Beside(scope, part);
  Part added;
  added.prefix = ops::Placeholder(beside.WithName("restored_prefixes"), DT_STRING);
  const Tensor name = Tensor::Scalar<tstring>(variable.name());
  if (const Map* map = FindMap(variable); map != nullptr) {
    added.restored = ops::EmbeddingTableRestoreParts(beside, variable.table(part), added.prefix, name, map->fed,
                                                     Tensor::Scalar<int32_t>(part));
  } else {
    added.restored = ops::EmbeddingTableRestore(beside, variable.table(part), added.prefix, name,
                                                {.partition_id = part, .partition_num = variable.num_parts()});
  }
  parts_.push_back(added);
}

absl::Status EmbeddingSaver::Initialize(Session& session) {
  chain_.clear();
  return session.RunTargets({initialize_});
}

absl::StatusOr<bool> EmbeddingSaver::IsWhole(Session& session) {
  ASSIGN_OR_RETURN(std::vector<Tensor> whole, session.Run({is_whole_}));
  return whole[0].scalar<bool>();
}

absl::StatusOr<std::vector<std::string>> EmbeddingSaver::SavedAs(const std::string& checkpoint) {
  const std::string path = PathBeside(checkpoint);
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(path));
  ASSIGN_OR_RETURN(const std::vector<std::string> chain, ReadChain(files, path));
  std::vector<std::string> prefixes;
  for (const std::string& name : chain) prefixes.push_back(JoinPath(DirName(path), name));
  prefixes.push_back(path);
  return prefixes;
}

absl::Status EmbeddingSaver::Save(Session& session, const std::string& checkpoint, const CheckpointLease* lease) {
  const Target target{PathBeside(checkpoint), lease};
  for (int attempt = 0; attempt < kSaveAttempts; ++attempt) {
    ASSIGN_OR_RETURN(const std::vector<MapState> maps, ReadMaps(session));
    RETURN_IF_ERROR(SaveOnce(session, target, maps));
    // A part that moved in the meantime may be missing in the files of both tasks.
    ASSIGN_OR_RETURN(const std::vector<MapState> after, ReadMaps(session));
    if (after == maps) return absl::OkStatus();
    chain_.clear();
  }
  return errors::Aborted("Parts of the embeddings moved during each of ", kSaveAttempts, " attempts to save them as ",
                         target.path);
}

absl::Status EmbeddingSaver::SaveOnce(Session& session, const Target& target, const std::vector<MapState>& maps) {
  const std::string name(BaseName(target.path));
  const bool delta = !chain_.empty() && static_cast<int>(chain_.size()) < options_.full_every &&
                     std::find(chain_.begin(), chain_.end(), name) == chain_.end() && maps == saved_maps_;
  if (delta) {
    const absl::Status saved = SaveSince(session, target, chain_, versions_, maps);
    // The table no longer has all removals, or was recreated; save all rows instead.
    if (!absl::IsFailedPrecondition(saved) && !absl::IsInvalidArgument(saved)) return saved;
  }
  const std::vector<int64_t> everything(parts_.size(), -1);
  return SaveSince(session, target, {}, everything, maps);
}

absl::Status EmbeddingSaver::SaveSince(Session& session, const Target& target, const std::vector<std::string>& chain,
                                       const std::vector<int64_t>& since, const std::vector<MapState>& maps) {
  const std::string& path = target.path;
  const auto guard = [&](absl::FunctionRef<absl::Status()> write) {
    return target.lease == nullptr ? write() : target.lease->Guard(write);
  };
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(path));
  EmbeddingBundleWriter::Entries entries;
  entries.emplace_back(kChain, Tensor::Vector<tstring>(std::vector<tstring>(chain.begin(), chain.end())));
  for (const auto& [name, parts] : partitions_) entries.emplace_back(name + kPartitions, Tensor::Scalar(parts));
  for (size_t i = 0; i < maps_.size(); ++i) {
    const EmbeddingVariable& variable = maps_[i].variable;
    const std::vector<tstring> tasks(variable.tasks().begin(), variable.tasks().end());
    entries.emplace_back(variable.name() + kOwners, Tensor::Vector<int32_t>(maps[i].owners));
    entries.emplace_back(variable.name() + kTasks, Tensor::Vector<tstring>(tasks));
  }
  absl::StatusOr<std::vector<int64_t>> versions = writer_.Write(session, path, since, entries, guard);
  RETURN_IF_ERROR(Annotate(versions.status(), absl::StrCat("Saving the embeddings ", path)));
  versions_ = *std::move(versions);
  saved_maps_ = maps;
  last_was_delta_ = !chain.empty();
  chain_ = chain;
  chain_.emplace_back(BaseName(path));
  // Anything left is deleted after a later save.
  guard([&] { return DeleteUnneeded(files, std::string(DirName(path))); }).IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> EmbeddingSaver::ReadChain(FileSystem* files, const std::string& path) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, path));
  ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(kChain));
  if (tensor.dtype() != DT_STRING) return errors::DataLoss(path, ": ", kChain, " is not of type string");
  const absl::Span<const tstring> names = tensor.flat<tstring>();
  return std::vector<std::string>(names.begin(), names.end());
}

absl::Status EmbeddingSaver::Restore(Session& session, const std::string& checkpoint) {
  const std::string path = PathBeside(checkpoint);
  chain_.clear();
  const auto read = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(path));
    ASSIGN_OR_RETURN(std::vector<std::string> chain, ReadChain(files, path));
    chain.emplace_back(BaseName(path));
    std::vector<tstring> prefixes;
    for (const std::string& name : chain) prefixes.push_back(JoinPath(std::string(DirName(path)), name));
    FeedList feeds;
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, path));
    std::vector<std::vector<int32_t>> owners;
    for (const Map& map : maps_) {
      ASSIGN_OR_RETURN(owners.emplace_back(), RestoredOwners(*reader, map.variable));
      feeds.emplace_back(map.fed, Tensor::Vector<int32_t>(owners.back()));
    }
    // Without maps no step requests rows, and no pending move completes.
    RETURN_IF_ERROR(SetMaps(session, std::vector<std::vector<int32_t>>(maps_.size())));
    std::vector<Output> fetches;
    for (const Part& part : parts_) {
      feeds.emplace_back(part.prefix, Tensor::Vector<tstring>(prefixes));
      fetches.push_back(part.restored);
    }
    ASSIGN_OR_RETURN(const std::vector<Tensor> versions, session.Run(feeds, fetches));
    versions_.clear();
    for (const Tensor& version : versions) versions_.push_back(version.scalar<int64_t>());
    RETURN_IF_ERROR(SetMaps(session, owners));
    ASSIGN_OR_RETURN(saved_maps_, ReadMaps(session));
    // Deltas for another number of tables could not follow it, although a table without parts does not detect that.
    ASSIGN_OR_RETURN(const bool can_follow, HasSameTables(*reader, partitions_));
    if (can_follow) chain_ = std::move(chain);
    return absl::OkStatus();
  };
  return Annotate(read(), absl::StrCat("Restoring the embeddings ", path));
}

absl::Status EmbeddingSaver::DeleteUnneeded(FileSystem* files, const std::string& dir) const {
  const std::string parent(DirName(dir));
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(files, parent);
  if (!state.ok()) return absl::OkStatus();  // there are no variable checkpoints yet
  const auto prefixes_in = [&](const std::string& folder) -> absl::StatusOr<std::vector<std::string>> {
    ASSIGN_OR_RETURN(std::vector<std::string> prefixes, files->Glob(JoinPath(folder, absl::StrCat("*", kIndex))));
    for (std::string& prefix : prefixes) prefix.resize(prefix.size() - (sizeof(kIndex) - 1));
    return prefixes;
  };
  std::set<std::string> needed(chain_.begin(), chain_.end());
  // The list lacks those that are kept for good, and the newest if its writer was killed.
  ASSIGN_OR_RETURN(std::vector<std::string> checkpoints, prefixes_in(parent));
  checkpoints.insert(checkpoints.end(), state->all.begin(), state->all.end());
  for (const std::string& checkpoint : checkpoints) {
    needed.emplace(BaseName(checkpoint));
    const absl::StatusOr<std::vector<std::string>> chain = ReadChain(files, PathBeside(checkpoint));
    if (absl::IsNotFound(chain.status())) continue;  // it has no embeddings
    RETURN_IF_ERROR(chain.status());
    needed.insert(chain->begin(), chain->end());
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> saved, prefixes_in(dir));
  for (const std::string& prefix : saved) {
    if (needed.count(std::string(BaseName(prefix))) == 0) RETURN_IF_ERROR(DeleteCheckpoint(files, prefix));
  }
  return absl::OkStatus();
}

}  // namespace weir
