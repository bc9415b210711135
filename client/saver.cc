#include "client/saver.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "absl/container/btree_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/fed_scalar.h"
#include "client/ops.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/text_record.h"
#include "core/device/device_name.h"
#include "core/logging.h"
#include "core/random_bits.h"
#include "graph/graph.h"

namespace weir {
namespace {

constexpr char kTemporary[] = "_temp_";
constexpr int kTemporaryDigits = 16;
// Copied at once; a single number may even be incremented in place.
constexpr int64_t kSmallElements = 1024;
constexpr absl::string_view kManifest = ".manifest";

std::string TemporarySuffix() { return absl::StrFormat("%s%0*x", kTemporary, kTemporaryDigits, RandomBits()); }

// Whether `name` is the folder "base-STEP_temp_DIGITS".
bool IsTemporary(absl::string_view name, absl::string_view base) {
  if (!absl::ConsumePrefix(&name, base) || !absl::ConsumePrefix(&name, "-")) return false;
  const size_t at = name.find(kTemporary);
  if (at == absl::string_view::npos || at == 0) return false;
  const absl::string_view step = name.substr(0, at), digits = name.substr(at + strlen(kTemporary));
  return std::all_of(step.begin(), step.end(), absl::ascii_isdigit) && digits.size() == kTemporaryDigits &&
         std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit);
}

// The checkpoint, "base-STEP", of which `name` is a data file, a manifest or an index in the making; empty for other
// names.
std::string OwnerOf(absl::string_view name, absl::string_view base) {
  const absl::string_view whole = name;
  if (!absl::ConsumePrefix(&name, base) || !absl::ConsumePrefix(&name, "-")) return "";
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const absl::string_view rest = name.substr(digits);
  const bool belongs =
      absl::StartsWith(rest, ".data-") || absl::StartsWith(rest, ".index.merging") || rest == kManifest;
  if (digits == 0 || !belongs) return "";
  return std::string(whole.substr(0, whole.size() - rest.size()));
}

// `name` seen from `dir`, in which it is or below which it is.
std::string Relative(const std::string& dir, absl::string_view name) {
  if (!dir.empty() && absl::ConsumePrefix(&name, dir)) absl::ConsumePrefix(&name, "/");
  return std::string(name);
}

// The manifest of `staged`, which will be called `path`.
absl::StatusOr<CheckpointManifest> DescribeStaged(FileSystem* files, const std::string& staged, const std::string& path,
                                                  const Saver::SaveOptions& options) {
  CheckpointManifest manifest;
  if (const auto split = SplitCheckpointStep(path)) manifest.set_global_step(split->second);
  if (options.lease != nullptr) {
    manifest.set_token(options.lease->token());
    manifest.set_holder(options.lease->holder());
  }
  manifest.set_written(SecondsSinceEpoch());
  const auto add = [&](const std::string& prefix, const std::string& name) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<CheckpointManifest::File> added, BundleFiles(files, prefix, name));
    for (const CheckpointManifest::File& file : added) *manifest.add_file() = file;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(add(staged, std::string(BaseName(path))));
  for (const std::string& other : options.beside) {
    RETURN_IF_ERROR(add(other, Relative(std::string(DirName(path)), other)));
  }
  return manifest;
}

}  // namespace

std::string Saver::TaskOf(const std::string& device) {
  absl::StatusOr<DeviceName> name = DeviceName::Parse(device);
  if (!name.ok()) return device;
  if (name->job.has_value() && !name->replica.has_value()) name->replica = 0;
  return name->TaskName();
}

std::vector<Saver::Shard> Saver::MakeShards(const std::vector<ResourceVariable>& variables) const {
  const auto place = [&](const std::string& device) { return options_.separate_tasks ? TaskOf(device) : device; };
  absl::btree_map<std::string, Shard> by_device;
  for (const ResourceVariable& variable : variables) {
    if (variable.valid()) by_device[place(variable.handle().node()->requested_device())].variables.push_back(variable);
  }
  for (const Saveable& saveable : options_.saveables) by_device[place(saveable.device)].saveables.push_back(saveable);
  std::vector<Shard> shards;
  for (auto& [device, shard] : by_device) {
    shards.push_back(std::move(shard));
    shards.back().device = device;
  }
  return shards;
}

Saver::Saver(const Scope& scope, std::vector<ResourceVariable> variables, SaverOptions options)
    : options_(std::move(options)) {
  if (variables.empty() && !options_.no_variables) variables = scope.variables();
  const std::vector<Shard> shards = MakeShards(variables);
  if (shards.empty()) {
    scope.UpdateStatus(errors::InvalidArgument("A Saver needs at least one variable"));
    return;
  }
  num_shards_ = static_cast<int>(shards.size());
  const Scope inner = scope.Root().SubScope("save");
  prefix_ = FedScalar(inner, "prefix", DT_STRING);
  AddPrefixes(inner, shards);
  save_ = AddSave(inner, shards, false);
  if (options_.snapshots) {
    const Scope beside = inner.SubScope("snapshot");
    save_snapshot_ = AddSave(beside, shards, true);
    AddReserve(beside, shards);
  }
  AddRestore(inner, shards);
}

Output Saver::Keep(const Scope& on_device, const Output& value, bool shared) {
  Kept kept;
  kept.capture = ops::GetSessionHandle(on_device, shared ? ops::DeepCopy(on_device, value) : value);
  kept.handle = FedScalar(on_device, "handle", DT_STRING);
  kept.remove = ops::DeleteSessionTensor(on_device, kept.handle);
  kept_.push_back(kept);
  return ops::GetSessionTensor(on_device, kept.handle, value.type());
}

Output Saver::KeepVariable(const Scope& on_device, const ResourceVariable& variable) {
  const bool is_small = variable.shape().num_elements() <= kSmallElements;
  const bool is_aggregated =
      !variable.copies().empty() && variable.options().synchronization == VariableSynchronization::kOnRead;
  if (is_small || is_aggregated || !IsPlainType(variable.dtype())) {
    return Keep(on_device, variable.Read(on_device), true);
  }
  return Keep(on_device, ops::SnapshotVariable(on_device, variable.handle()), false);
}

void Saver::AddPrefixes(const Scope& scope, const std::vector<Shard>& shards) {
  for (const Shard& shard : shards) {
    shard_prefixes_.push_back(FedScalar(scope.WithDevice(shard.device), "shard_prefix", DT_STRING));
    std::vector<std::string> names;
    for (const ResourceVariable& variable : shard.variables) names.push_back(variable.options().save_name);
    for (const Saveable& saveable : shard.saveables) names.push_back(saveable.name);
    names_.insert(names_.end(), names.begin(), names.end());
    if (options_.separate_tasks) task_shards_.push_back({shard.device, std::move(names)});
  }
  all_shard_prefixes_ = ops::Placeholder(scope.WithDevice(shards[0].device).WithName("all_shard_prefixes"), DT_STRING);
}

Operation Saver::AddSave(const Scope& scope, const std::vector<Shard>& shards, bool of_snapshot) {
  std::vector<Operation> saves;
  for (size_t k = 0; k < shards.size(); ++k) {
    const Shard& shard = shards[k];
    const Scope on_device = scope.WithDevice(shard.device);
    std::vector<tstring> names, slices;
    OutputList values;
    for (const ResourceVariable& variable : shard.variables) {
      names.push_back(variable.options().save_name);
      slices.push_back(variable.options().save_slice);
      values.push_back(of_snapshot ? KeepVariable(on_device, variable) : variable.Read(on_device));
    }
    for (const Saveable& saveable : shard.saveables) {
      names.push_back(saveable.name);
      const Output value = saveable.save(on_device);
      values.push_back(of_snapshot ? Keep(on_device, value, true) : value);
    }
    slices.resize(names.size());
    saves.push_back(ops::SaveV2(on_device, shard_prefixes_[k], Tensor::Vector<tstring>(names),
                                Tensor::Vector<tstring>(slices), InputList(values.begin(), values.end())));
  }
  if (options_.separate_tasks) return ops::NoOp(scope.WithControlDependencies(saves).WithName("save_shards"));
  return ops::MergeV2Checkpoints(scope.WithDevice(shards[0].device).WithControlDependencies(saves), all_shard_prefixes_,
                                 prefix_, {.delete_old_dirs = true});
}

void Saver::AddReserve(const Scope& scope, const std::vector<Shard>& shards) {
  std::vector<Operation> last;
  for (const Shard& shard : shards) {
    const Scope on_device = scope.WithDevice(shard.device);
    // One after another, so that no more than one thread of a device is busy with it.
    std::vector<Operation> before;
    int64_t bytes = 0;
    for (const ResourceVariable& variable : shard.variables) {
      bytes += variable.shape().num_elements() * static_cast<int64_t>(DataTypeSize(variable.dtype()));
      if (variable.shape().num_elements() <= kSmallElements) continue;
      before = {ops::ReserveVariableSnapshot(on_device.WithControlDependencies(before), variable.handle())};
    }
    last.insert(last.end(), before.begin(), before.end());
    snapshot_bytes_ = std::max(snapshot_bytes_, bytes);
  }
  reserve_ = ops::NoOp(scope.WithControlDependencies(last).WithName("reserve"));
}

void Saver::AddRestore(const Scope& scope, const std::vector<Shard>& shards) {
  // Nothing is assigned before everything has been read, so a damaged file changes no variable.
  std::vector<OutputList> values;
  std::vector<Operation> reads;
  for (const Shard& shard : shards) {
    const Scope on_device = scope.WithDevice(shard.device);
    std::vector<tstring> names, slices;
    DataTypeVector types;
    for (const ResourceVariable& variable : shard.variables) {
      names.push_back(variable.options().save_name);
      slices.push_back(variable.options().save_slice);
      types.push_back(variable.dtype());
    }
    for (const Saveable& saveable : shard.saveables) {
      names.push_back(saveable.name);
      types.push_back(saveable.dtype);
    }
    slices.resize(names.size());
    const Output& prefix = options_.separate_tasks ? shard_prefixes_[values.size()] : prefix_;
    values.push_back(
        ops::RestoreV2(on_device, prefix, Tensor::Vector<tstring>(names), Tensor::Vector<tstring>(slices), types));
    if (!scope.ok()) return;
    reads.push_back(values.back()[0].op());
  }
  const Scope after = scope.WithControlDependencies({ops::NoOp(scope.WithControlDependencies(reads).WithName("read"))});
  std::vector<Operation> restores;
  for (size_t k = 0; k < shards.size(); ++k) {
    const Shard& shard = shards[k];
    const Scope on_device = after.WithDevice(shard.device);
    for (size_t i = 0; i < shard.variables.size(); ++i) {
      const ResourceVariable& variable = shard.variables[i];
      // An assignment alone would accept any shape from the file.
      const Output value =
          ops::EnsureShape(on_device.WithName(variable.name()), values[k][i], PartialTensorShape(variable.shape()));
      restores.push_back(variable.Assign(on_device.WithName("restore_assign"), value));
    }
    for (size_t i = 0; i < shard.saveables.size(); ++i) {
      restores.push_back(shard.saveables[i].restore(on_device, values[k][shard.variables.size() + i]));
    }
  }
  restore_ = ops::NoOp(scope.WithControlDependencies(restores).WithName("restore_all"));
}

absl::StatusOr<std::string> Saver::Save(Session& session, const std::string& prefix, int64_t step,
                                        const SaveOptions& options) const {
  const std::string path = absl::StrCat(prefix, "-", step);
  RETURN_IF_ERROR(StageAndPublish(session, path, options, step));
  return path;
}

absl::Status Saver::SaveTo(Session& session, const std::string& path) const {
  return StageAndPublish(session, path, {}, std::nullopt);
}

absl::StatusOr<Saver::Snapshot> Saver::TakeSnapshot(Session& session) const {
  std::vector<Output> captures;
  for (const Kept& kept : kept_) captures.push_back(kept.capture);
  ASSIGN_OR_RETURN(const std::vector<Tensor> handles, session.Run(captures));
  Snapshot snapshot;
  for (const Tensor& handle : handles) snapshot.handles.push_back(handle.scalar<tstring>());
  return snapshot;
}

absl::Status Saver::ReserveSnapshot(Session& session) const { return session.RunTargets({reserve_}); }

absl::Status Saver::Release(Session& session, const Snapshot& snapshot) const {
  FeedList feeds;
  std::vector<Operation> removes;
  for (size_t i = 0; i < kept_.size(); ++i) {
    feeds.emplace_back(kept_[i].handle, Tensor::Scalar<tstring>(snapshot.handles[i]));
    removes.push_back(kept_[i].remove);
  }
  return session.Run(feeds, {}, removes).status();
}

FeedList Saver::ShardFeeds(const std::vector<std::string>& prefixes, const Snapshot* snapshot) const {
  FeedList feeds;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    feeds.emplace_back(shard_prefixes_[i], Tensor::Scalar<tstring>(prefixes[i]));
  }
  for (size_t i = 0; snapshot != nullptr && i < kept_.size(); ++i) {
    feeds.emplace_back(kept_[i].handle, Tensor::Scalar<tstring>(snapshot->handles[i]));
  }
  return feeds;
}

absl::Status Saver::SaveShards(Session& session, const std::vector<std::string>& prefixes,
                               const Snapshot* snapshot) const {
  return session.Run(ShardFeeds(prefixes, snapshot), {}, {snapshot != nullptr ? save_snapshot_ : save_}).status();
}

absl::Status Saver::RestoreShards(Session& session, const std::vector<std::string>& prefixes) const {
  return session.Run(ShardFeeds(prefixes, nullptr), {}, {restore_}).status();
}

absl::StatusOr<std::string> Saver::Stage(Session& session, FileSystem* files, const std::string& temporary,
                                         const Snapshot* snapshot) const {
  RETURN_IF_ERROR(files->CreateDir(temporary));
  const std::string staged = JoinPath(temporary, "merged");
  std::vector<std::string> prefixes;
  for (int i = 0; i < num_shards_; ++i) {
    prefixes.push_back(absl::StrFormat("%s/part-%05d-of-%05d", temporary, i, num_shards_));
  }
  FeedList feeds = ShardFeeds(prefixes, snapshot);
  feeds.emplace_back(prefix_, Tensor::Scalar<tstring>(staged));
  feeds.emplace_back(all_shard_prefixes_, Tensor::Vector<tstring>(prefixes));
  RETURN_IF_ERROR(session.Run(feeds, {}, {snapshot != nullptr ? save_snapshot_ : save_}).status());
  return staged;
}

absl::Status Saver::StageAndPublish(Session& session, const std::string& path, const SaveOptions& options,
                                    std::optional<int64_t> step) const {
  const CheckpointLease* const lease = options.lease;
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(path));
  const double now = SecondsSinceEpoch();
  const std::string temporary = absl::StrCat(path, TemporarySuffix());
  const auto save = [&]() -> absl::Status {
    if (lease != nullptr) RETURN_IF_ERROR(lease->Check());
    ASSIGN_OR_RETURN(const std::string staged, Stage(session, files, temporary, options.snapshot));
    ASSIGN_OR_RETURN(const CheckpointManifest manifest, DescribeStaged(files, staged, path, options));
    const auto publish = [&]() -> absl::Status {
      RETURN_IF_ERROR(PublishCheckpoint(files, staged, path, manifest));
      if (!step.has_value()) return absl::OkStatus();
      return AddCheckpoint(files, std::string(DirName(path)), path,
                           {.keep = options_.max_to_keep, .keep_every = options_.keep_every, .timestamp = now});
    };
    return lease == nullptr ? publish() : lease->Guard(publish);
  };
  absl::Status saved = save();
  // A task that was lost has lost its part of the snapshot too; the rest goes with the session.
  if (options.snapshot != nullptr) Release(session, *options.snapshot).IgnoreError();
  const absl::Status removed = files->DeleteRecursively(temporary);
  if (!removed.ok() && !absl::IsNotFound(removed)) {
    WEIR_LOG(WARNING) << "The temporary files " << temporary << " stay: " << removed.message();
  }
  // The new holder of the lease removes the temporary files of this save, so it may fail in other ways too.
  if (!saved.ok() && lease != nullptr && !IsLeaseLost(saved)) {
    if (absl::Status lost = lease->Check(); IsLeaseLost(lost)) saved = std::move(lost);
  }
  return Annotate(std::move(saved), absl::StrCat("Saving the checkpoint ", path));
}

absl::Status Saver::Restore(Session& session, const std::string& prefix) const {
  return Annotate(session.Run({{prefix_, Tensor::Scalar<tstring>(prefix)}}, {}, {restore_}).status(),
                  absl::StrCat("Restoring from the checkpoint ", prefix));
}

absl::StatusOr<bool> Saver::HasAll(const std::string& prefix) const {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(prefix));
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, prefix));
  return std::all_of(names_.begin(), names_.end(), [&](const std::string& name) { return reader->Contains(name); });
}

absl::StatusOr<std::string> Saver::Latest(const std::string& dir) const {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(dir));
  return LatestCheckpoint(files, dir);
}

absl::StatusOr<std::vector<std::string>> Saver::Complete(const std::string& dir) const {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(dir));
  return CompleteCheckpoints(files, dir);
}

absl::Status Saver::RemoveUnfinished(const std::string& prefix, const CheckpointLease* lease) const {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(prefix));
  const std::string dir(DirName(prefix)), base(BaseName(prefix));
  const auto remove = [&]() -> absl::Status {
    const absl::StatusOr<std::vector<std::string>> names = files->List(dir.empty() ? "." : dir);
    if (!names.ok()) return absl::IsNotFound(names.status()) ? absl::OkStatus() : names.status();
    const std::set<std::string> present(names->begin(), names->end());
    for (const std::string& name : *names) {
      const std::string owner = OwnerOf(name, base);
      const bool is_orphan = !owner.empty() && present.count(owner + ".index") == 0;
      if (IsTemporary(name, base) || is_orphan) RETURN_IF_ERROR(files->DeleteRecursively(JoinPath(dir, name)));
    }
    return absl::OkStatus();
  };
  return lease == nullptr ? remove() : lease->Guard(remove);
}

}  // namespace weir
