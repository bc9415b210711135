#include "client/checkpoint/checkpoint_stores.h"

#include <algorithm>
#include <functional>
#include <future>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/text_record.h"
#include "core/files/store_file_system.h"
#include "core/logging.h"

namespace weir {
namespace {

constexpr int kMaxThreads = 16;

// Calls `call` with 0 … count - 1, several at a time; returns the first error.
absl::Status InParallel(int count, const std::function<absl::Status(int)>& call) {
  const int threads = std::min(count, kMaxThreads);
  std::vector<std::future<absl::Status>> running;
  for (int t = 0; t < threads; ++t) {
    running.push_back(std::async(std::launch::async, [=, &call] {
      absl::Status status;
      for (int i = t; i < count && status.ok(); i += threads) status = call(i);
      return status;
    }));
  }
  absl::Status first;
  for (std::future<absl::Status>& one : running) first.Update(one.get());
  return first;
}

bool IsDamage(const absl::Status& status) { return absl::IsDataLoss(status) || absl::IsNotFound(status); }

absl::Status CheckName(const std::string& model) {
  const std::vector<std::string> parts = absl::StrSplit(model, '/');
  const auto is_bad = [](const std::string& part) { return part.empty() || part == "." || part == ".."; };
  if (absl::StrContains(model, "://") || std::any_of(parts.begin(), parts.end(), is_bad)) {
    return errors::InvalidArgument("'", model,
                                   "' cannot be a model's name in checkpoint stores: it must be a relative ",
                                   "path, such as 'ranking/model'");
  }
  return absl::OkStatus();
}

absl::Status CheckTasks(const std::vector<std::string>& tasks) {
  if (tasks.size() < 2 || std::set<std::string>(tasks.begin(), tasks.end()).size() != tasks.size()) {
    return errors::InvalidArgument("Checkpoints with copies need two tasks or more, each named once; got ",
                                   tasks.size());
  }
  return absl::OkStatus();
}

}  // namespace

CheckpointStores::CheckpointStores(const Scope& scope, CheckpointStoresOptions options)
    : scope_(scope.Root().SubScope("stores")), options_(std::move(options)) {
  for (const std::string& task : options_.tasks) tasks_.push_back(Saver::TaskOf(task));
  scope.UpdateStatus(CheckTasks(tasks_));
  scope.UpdateStatus(CheckName(options_.model));
  saver_ = std::make_unique<Saver>(
      scope, std::vector<ResourceVariable>(),
      SaverOptions{.saveables = options_.saveables, .snapshots = options_.snapshots, .separate_tasks = true});
  if (!scope.ok()) return;
  for (const std::string& task : options_.tasks) stores_.emplace_back(scope_, task);
  for (const Saver::TaskShard& shard : saver_->task_shards()) {
    const auto owner = std::find(tasks_.begin(), tasks_.end(), shard.task);
    if (owner == tasks_.end()) {
      scope.UpdateStatus(errors::InvalidArgument("'", shard.task, "' has saved state (", shard.names[0],
                                                 "), but is not among the tasks with stores"));
      return;
    }
    owners_.push_back(static_cast<int>(owner - tasks_.begin()));
  }
  for (const int owner : owners_) Copy(owner, PeerOf(owner));  // saves must add no ops beside steps
}

const StoreCopy& CheckpointStores::Copy(int from, int to) {
  std::unique_ptr<StoreCopy>& copy = copies_[{from, to}];
  if (copy == nullptr) copy = std::make_unique<StoreCopy>(scope_, options_.tasks[from], options_.tasks[to]);
  return *copy;
}

absl::StatusOr<std::vector<StoreContents>> CheckpointStores::Contents(Session& session) const {
  return TaskStore::Contents(session, stores_, absl::StrCat(kStoreScheme, "://", options_.model));
}

absl::Status CheckpointStores::WriteLease(Session& session, const TaskStore& store) const {
  ASSIGN_OR_RETURN(const std::string text, PrintTextRecord(lease_));
  return store.Write(session, JoinPath(Directory(""), kCheckpointLeaseFile), text);
}

absl::Status CheckpointStores::TakeLease(Session& session, const std::vector<StoreContents>& contents) {
  uint64_t newest = 0;
  for (const StoreContents& store : contents) {
    CheckpointLeaseRecord record;
    if (store.lease.empty()) continue;
    RETURN_IF_ERROR(ParseTextRecord(store.lease, kCheckpointLeaseFile, &record));
    newest = std::max(newest, record.token());
  }
  for (const StoredGeneration& generation : FindGenerations(contents).newest_first) {
    newest = std::max(newest, generation.token);
    last_generation_ = std::max(last_generation_, generation.generation);
  }
  lease_ = NewCheckpointLease(newest + 1, options_.holder);
  for (const TaskStore& store : stores_) RETURN_IF_ERROR(WriteLease(session, store));
  return absl::OkStatus();
}

// A store that was lost has no lease, or one older than ours if it was away meanwhile; it gets ours.
absl::Status CheckpointStores::CheckLease(Session& session, const std::vector<StoreContents>& contents) const {
  const auto rank = [](const CheckpointLeaseRecord& record) { return std::pair(record.token(), record.nonce()); };
  for (size_t k = 0; k < contents.size(); ++k) {
    CheckpointLeaseRecord record;
    if (!contents[k].lease.empty()) {
      RETURN_IF_ERROR(ParseTextRecord(contents[k].lease, kCheckpointLeaseFile, &record));
    }
    if (rank(record) > rank(lease_)) return LeaseLost(options_.model, lease_, record);
    if (rank(record) < rank(lease_)) RETURN_IF_ERROR(WriteLease(session, stores_[k]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StoreContents>> CheckpointStores::ContentsUnderLease(Session& session) {
  ASSIGN_OR_RETURN(std::vector<StoreContents> contents, Contents(session));
  if (lease_.token() == 0) RETURN_IF_ERROR(TakeLease(session, contents));
  RETURN_IF_ERROR(CheckLease(session, contents));
  return contents;
}

absl::StatusOr<CheckpointManifest> CheckpointStores::Secure(Session& session, const StoredGeneration& generation,
                                                            int shard) const {
  const int owner = owners_[shard], peer = PeerOf(owner);
  const std::string prefix = Prefix(generation, shard);
  ASSIGN_OR_RETURN(CheckpointManifest manifest, stores_[owner].Describe(session, prefix));
  manifest.set_generation_name(generation.name);
  manifest.set_generation(generation.generation);
  manifest.set_global_step(generation.step);
  manifest.set_token(generation.token);
  manifest.set_holder(options_.holder);
  manifest.set_written(SecondsSinceEpoch());
  for (const int store : {owner, peer}) manifest.add_task(tasks_[store]);
  const std::string directory = Directory(generation.name);
  RETURN_IF_ERROR(copies_.at({owner, peer})->Run(session, directory, directory, manifest));
  RETURN_IF_ERROR(stores_[peer].Verify(session, prefix, manifest, false));
  return manifest;
}

absl::Status CheckpointStores::WriteManifest(Session& session, const StoredGeneration& generation, int shard,
                                             const CheckpointManifest& manifest, int store) const {
  ASSIGN_OR_RETURN(const std::string text, PrintManifest(manifest));
  return stores_[store].Write(session, ManifestPath(Prefix(generation, shard)), text);
}

absl::Status CheckpointStores::Write(Session& session, const StoredGeneration& generation,
                                     const Saver::Snapshot* snapshot) {
  std::vector<std::string> prefixes;
  for (int k = 0; k < generation.num_shards; ++k) prefixes.push_back(Prefix(generation, k));
  RETURN_IF_ERROR(saver_->SaveShards(session, prefixes, snapshot));
  std::vector<CheckpointManifest> manifests(prefixes.size());
  RETURN_IF_ERROR(InParallel(generation.num_shards, [&](int k) -> absl::Status {
    ASSIGN_OR_RETURN(manifests[k], Secure(session, generation, k));
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(ContentsUnderLease(session).status());
  return InParallel(generation.num_shards, [&](int k) -> absl::Status {
    RETURN_IF_ERROR(WriteManifest(session, generation, k, manifests[k], PeerOf(owners_[k])));
    return WriteManifest(session, generation, k, manifests[k], owners_[k]);
  });
}

absl::Status CheckpointStores::Save(Session& session, int64_t step, const Saver::Snapshot* snapshot) {
  StoredGeneration generation{.step = step, .num_shards = static_cast<int>(owners_.size())};
  const auto save = [&]() -> absl::Status {
    RETURN_IF_ERROR(ContentsUnderLease(session).status());
    generation.generation = ++last_generation_;
    generation.token = lease_.token();
    generation.name = NewGenerationName(generation.generation, step);
    return Write(session, generation, snapshot);
  };
  absl::Status saved = save();
  // A task that was lost has lost its part of the snapshot too; the rest goes with the session.
  if (snapshot != nullptr) saver_->Release(session, *snapshot).IgnoreError();
  if (saved.ok()) return Prune(session);
  // A lost task may keep an incomplete part; a later save deletes it.
  if (!generation.name.empty()) Delete(session, generation.name).IgnoreError();
  return Annotate(std::move(saved), absl::StrCat("Saving the checkpoint of step ", step, " of ", options_.model));
}

absl::Status CheckpointStores::Delete(Session& session, const std::string& name) const {
  absl::Status deleted;
  for (const TaskStore& store : stores_) deleted.Update(store.Delete(session, Directory(name)));
  return deleted;
}

absl::Status CheckpointStores::Prune(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<StoreContents> contents, ContentsUnderLease(session));
  std::set<std::string> surplus;
  for (const StoreContents& store : contents) surplus.insert(store.directories.begin(), store.directories.end());
  int kept = 0;
  for (const StoredGeneration& generation : FindGenerations(contents).newest_first) {
    if (!generation.IsWhole() || (options_.max_to_keep > 0 && kept == options_.max_to_keep)) continue;
    surplus.erase(generation.name);
    ++kept;
  }
  for (const std::string& name : surplus) RETURN_IF_ERROR(Delete(session, name));
  return absl::OkStatus();
}

absl::StatusOr<CheckpointStores::Sources> CheckpointStores::FindIntact(Session& session, StoredGeneration* generation,
                                                                       bool thorough) const {
  Sources sources;
  for (auto& entry : generation->shards) {
    const int number = entry.first;
    StoredGeneration::Shard& shard = entry.second;
    std::vector<int> intact;
    absl::Status damage;
    for (const int store : shard.stores) {
      const absl::Status status = stores_[store].Verify(session, Prefix(*generation, number), shard.manifest, thorough);
      if (status.ok()) {
        intact.push_back(store);
      } else if (IsDamage(status)) {
        WEIR_LOG(WARNING).With("task", tasks_[store]) << "a shard is not used: " << status.message();
        damage.Update(status);
      } else {
        return status;
      }
    }
    if (intact.empty()) return damage;
    sources[number] = intact[0];
    shard.stores = std::move(intact);
  }
  return sources;
}

absl::Status CheckpointStores::Replenish(Session& session, StoredGeneration* generation, const Sources& sources) {
  const std::string directory = Directory(generation->name);
  for (auto& [number, shard] : generation->shards) {
    for (const std::string& task : shard.manifest.task()) {
      const auto keeper = std::find(tasks_.begin(), tasks_.end(), task);
      const int to = static_cast<int>(keeper - tasks_.begin()), from = sources.at(number);
      if (keeper == tasks_.end() || std::count(shard.stores.begin(), shard.stores.end(), to) > 0) continue;
      WEIR_LOG(WARNING).With("task", task).With("from", tasks_[from])
          << "copies back shard " << number << " of the checkpoint " << options_.model << "/" << generation->name;
      RETURN_IF_ERROR(Copy(from, to).Run(session, directory, directory, shard.manifest));
      RETURN_IF_ERROR(stores_[to].Verify(session, Prefix(*generation, number), shard.manifest, false));
      RETURN_IF_ERROR(WriteManifest(session, *generation, number, shard.manifest, to));
      shard.stores.push_back(to);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CheckpointStores::Gather(Session& session, const StoredGeneration& generation,
                                                     const Sources& sources, int shard, const std::string& staging) {
  const Saver::TaskShard& wanted = saver_->task_shards()[shard];
  const std::set<std::string> names(wanted.names.begin(), wanted.names.end());
  std::vector<int> parts;
  for (const auto& [number, part] : generation.shards) {
    const auto& tensors = part.manifest.tensor();
    if (std::any_of(tensors.begin(), tensors.end(), [&](const auto& name) { return names.count(name) > 0; })) {
      parts.push_back(number);
    }
  }
  const int to = owners_[shard];
  if (parts.empty()) {
    return errors::NotFound("The checkpoint ", options_.model, "/", generation.name, " has none of the tensors of ",
                            wanted.task, ", such as ", wanted.names[0]);
  }
  const std::vector<int>& holders = generation.shards.at(parts[0]).stores;
  if (parts.size() == 1 && std::count(holders.begin(), holders.end(), to) > 0) return Prefix(generation, parts[0]);
  std::vector<std::string> prefixes;
  for (const int part : parts) {
    const StoredGeneration::Shard& source = generation.shards.at(part);
    RETURN_IF_ERROR(
        Copy(sources.at(part), to).Run(session, Directory(generation.name), Directory(staging), source.manifest));
    prefixes.push_back(ShardPrefix(options_.model, staging, part, generation.num_shards));
  }
  if (parts.size() == 1) return prefixes[0];
  const std::string merged = JoinPath(Directory(staging), "merged");
  RETURN_IF_ERROR(stores_[to].Merge(session, prefixes, merged));
  return merged;
}

absl::Status CheckpointStores::RestoreFrom(Session& session, const StoredGeneration& generation,
                                           const Sources& sources) {
  const std::string staging = absl::StrCat("restoring-", generation.name);
  std::vector<std::string> prefixes;
  const absl::Cleanup clean = [&] {
    for (size_t k = 0; k < prefixes.size(); ++k) {
      if (!absl::StartsWith(prefixes[k], Directory(staging))) continue;
      stores_[owners_[k]].Delete(session, Directory(staging)).IgnoreError();  // else the next save does
    }
  };
  for (size_t k = 0; k < owners_.size(); ++k) {
    ASSIGN_OR_RETURN(prefixes.emplace_back(), Gather(session, generation, sources, static_cast<int>(k), staging));
  }
  return saver_->RestoreShards(session, prefixes);
}

absl::Status CheckpointStores::Restore(Session& session, const StoredGeneration& generation) {
  absl::Status status;
  for (const bool thorough : {false, true}) {
    StoredGeneration intact = generation;
    ASSIGN_OR_RETURN(const Sources sources, FindIntact(session, &intact, thorough));
    // A full disk there must not keep training from going on.
    if (absl::Status copied = Replenish(session, &intact, sources); absl::IsResourceExhausted(copied)) {
      WEIR_LOG(WARNING) << "A store that was lost stays without its shards: " << copied.message();
    } else {
      RETURN_IF_ERROR(copied);
    }
    status = RestoreFrom(session, intact, sources);
    if (!absl::IsDataLoss(status)) break;  // bytes that the quick check does not read
  }
  return status;
}

absl::StatusOr<CheckpointStores::Restored> CheckpointStores::RestoreNewest(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<StoreContents> contents, ContentsUnderLease(session));
  const StoredGenerations found = FindGenerations(contents);
  for (const std::string& path : found.damaged) {
    WEIR_LOG(WARNING) << "The manifest " << options_.model << "/" << path << " is damaged, or of another generation";
  }
  absl::Status damage;
  for (const StoredGeneration& generation : found.newest_first) {
    const std::string checkpoint = absl::StrCat(options_.model, "/", generation.name);
    absl::Status status = generation.IsWhole() ? Restore(session, generation)
                                               : errors::DataLoss("only ", generation.shards.size(), " of its ",
                                                                  generation.num_shards, " shards are left");
    last_generation_ = std::max(last_generation_, generation.generation);
    if (status.ok()) return Restored{checkpoint, generation.generation};
    if (!absl::IsDataLoss(status)) return Annotate(std::move(status), absl::StrCat("Restoring ", checkpoint));
    WEIR_LOG(WARNING) << "Checkpoint " << checkpoint << " is skipped: " << status.message();
    damage.Update(status);
  }
  if (found.newest_first.empty() && found.damaged.empty()) return Restored();
  return errors::DataLoss("None of the ", found.newest_first.size(), " checkpoints of ", options_.model,
                          " in the stores of ", options_.tasks.size(), " tasks can be restored: ", damage.message(),
                          ". To start from initial values, move them away");
}

}  // namespace weir
