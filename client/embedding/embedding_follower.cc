#include "client/embedding/embedding_follower.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/embedding/embedding_export_files.h"
#include "client/ops.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/clock.h"
#include "core/logging.h"
#include "kernels/embedding/key_hash.h"

namespace weir {
namespace {

// Whether an error is about the export itself, and stays.
bool IsOfExport(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status) || absl::IsInvalidArgument(status);
}

}  // namespace

EmbeddingVariableOptions EmbeddingFollower::ServingOptions(EmbeddingVariableOptions training,
                                                           std::vector<std::string> devices) {
  EmbeddingVariableOptions serving = std::move(training);
  serving.devices = std::move(devices);
  serving.parts = 0;
  serving.initial_devices = 0;
  serving.map_device.clear();
  serving.optimizer = {.kind = EmbeddingOptimizer::Kind::kGradientDescent};
  // Nothing is pushed, so nothing is counted; the filter only says what keys without a row give.
  serving.filter_counters = 1;
  serving.max_element_size = 0;
  serving.seconds_to_live = 0;
  serving.steps_to_live = 1;  // for rows that a reload did not bring
  serving.synchronous_workers = 0;
  return serving;
}

EmbeddingFollower::EmbeddingFollower(const Scope& scope, const std::vector<EmbeddingVariable>& variables,
                                     std::string dir, EmbeddingFollowerOptions options)
    : dir_(std::move(dir)), options_(std::move(options)) {
  const Scope inner = scope.Root().SubScope("follow_embeddings");
  InputList flags;
  for (const EmbeddingVariable& variable : variables) {
    if (variable.moves() || variable.options().steps_to_live != 1 ||
        variable.options().optimizer.kind != EmbeddingOptimizer::Kind::kGradientDescent) {
      scope.UpdateStatus(errors::InvalidArgument("Embedding '", variable.name(),
                                                 "' cannot follow exports: make it with "
                                                 "EmbeddingFollower::ServingOptions"));
      return;
    }
    names_.push_back(variable.name());
    flags.emplace_back(variable.is_initialized());
    for (int i = 0; i < variable.num_parts(); ++i) AddTable(inner, variable, i);
  }
  if (names_.empty()) {
    scope.UpdateStatus(errors::InvalidArgument("An EmbeddingFollower needs at least one embedding"));
    return;
  }
  is_whole_ = ops::All(inner, ops::Pack(inner, flags), Tensor::Vector<int32_t>({0}));
}

void EmbeddingFollower::AddTable(const Scope& scope, const EmbeddingVariable& variable, int part) {
  const Scope beside = variable.Beside(scope, part);
  Table table{.variable = variable.name(), .part = part, .parts = variable.num_parts()};
  table.width = variable.options().width;
  table.prefixes = ops::Placeholder(beside, DT_STRING);
  for (Output* ints : {&table.removed, &table.keys, &table.versions, &table.freqs, &table.used, &table.now}) {
    *ints = ops::Placeholder(beside, DT_INT64);
  }
  for (Output* floats : {&table.values, &table.slots}) *floats = ops::Placeholder(beside, DT_FLOAT);
  const Output handle = variable.table(part);
  table.restored = ops::EmbeddingTableRestore(beside, handle, table.prefixes, Tensor::Scalar<tstring>(variable.name()),
                                              {.partition_id = part, .partition_num = table.parts});
  table.import = ops::EmbeddingTableImport(beside, handle, table.keys, table.values, table.slots, table.versions,
                                           table.freqs, table.used);
  table.remove = ops::EmbeddingTableRemove(beside, handle, table.removed).op();
  table.evict = ops::EmbeddingTableEvict(beside, handle, table.now).op();
  tables_.push_back(std::move(table));
}

absl::Time EmbeddingFollower::Now() const { return options_.wall_clock ? options_.wall_clock() : absl::Now(); }

EmbeddingFollowerState EmbeddingFollower::state() const {
  EmbeddingFollowerState state;
  {
    MutexLock lock(mu_);
    state = state_;
  }
  if (state.number >= 0) state.behind = std::max(absl::ZeroDuration(), Now() - state.began);
  return state;
}

void EmbeddingFollower::Collect(std::vector<GaugeSample>* samples) const {
  const EmbeddingFollowerState now = state();
  for (const std::string& name : names_) {
    const std::vector<std::pair<std::string, std::string>> labels = {{"embedding", name}};
    if (now.number >= 0) {
      samples->push_back({"weir_embedding_seconds_behind",
                          "Age of the rows that are served: all changes before have been applied.", labels,
                          absl::ToDoubleSeconds(now.behind)});
    }
    samples->push_back({"weir_embedding_export_number", "The last export that was applied; -1: none.", labels,
                        static_cast<double>(now.number)});
    samples->push_back({"weir_embedding_follow_problems", "Exports that could not be applied when they were polled.",
                        labels, static_cast<double>(now.problems)});
  }
}

absl::Status EmbeddingFollower::Poll(Session& session) {
  const absl::Status status = PollOnce(session);
  MutexLock lock(mu_);
  state_.problem = status;
  if (!status.ok()) ++state_.problems;
  return status;
}

absl::Status EmbeddingFollower::PollOnce(Session& session) {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(dir_));
  ASSIGN_OR_RETURN(const std::vector<EmbeddingExportFile> all, EmbeddingExportFile::List(files, dir_));
  // A server that was restarted has lost its rows: they are loaded as at first.
  ASSIGN_OR_RETURN(const std::vector<Tensor> whole, session.Run({is_whole_}));
  if (!whole[0].scalar<bool>()) {
    is_broken_ = false;
    MutexLock lock(mu_);
    state_.number = -1;
  }
  if (all.empty()) return errors::NotFound("There are no exports of embeddings in ", dir_);
  return Follow(session, files, all);
}

absl::Status EmbeddingFollower::Follow(Session& session, FileSystem* files,
                                       const std::vector<EmbeddingExportFile>& all) {
  absl::Status problem;
  int64_t applied = state().number;
  const auto exists = [&all](int64_t number, bool full) {
    return std::binary_search(all.begin(), all.end(), EmbeddingExportFile{.number = number, .is_full = full});
  };
  while (!is_broken_ && applied >= 0 && applied < all.back().number) {
    const EmbeddingExportFile next{.number = applied + 1, .is_full = false};
    // An exporter that has begun anew has written no delta.
    if (!exists(next.number, false) && exists(next.number, true)) break;
    problem = exists(next.number, false) ? ApplyDelta(session, files, next)
                                         : errors::DataLoss("Export ", next.Path(dir_), " is missing, and export ",
                                                            all.back().number, " exists: waiting for a full export");
    if (IsOfExport(problem)) is_broken_ = true;
    if (!problem.ok()) break;
    applied = next.number;
  }
  if (applied == all.back().number || (!problem.ok() && !is_broken_)) return problem;
  for (auto file = all.rbegin(); file != all.rend() && file->number > applied; ++file) {
    if (!file->is_full) continue;
    const absl::Status loaded = LoadFull(session, files, *file);
    if (loaded.ok()) {
      is_broken_ = false;
      WEIR_LOG(INFO) << "Loaded the embeddings " << file->Path(dir_);
      // What came after it is applied now.
      return Follow(session, files, all);
    }
    problem = loaded;
    if (!IsOfExport(loaded)) break;
  }
  if (!problem.ok()) return problem;
  if (applied < 0) return errors::NotFound("There is no full export of embeddings in ", dir_, " yet");
  // The error is the one of the poll that found it; the damaged export stays what is waited for.
  return state().problem.ok() ? errors::DataLoss("Waiting for a full export in ", dir_) : state().problem;
}

std::vector<std::pair<std::string, std::string>> EmbeddingFollower::ShardsOf(const BundleReader& reader) const {
  std::vector<std::pair<std::string, std::string>> shards;
  for (const BundleReader::Info& entry : reader.List()) {
    absl::string_view shard = entry.name;
    if (!absl::ConsumeSuffix(&shard, "-keys")) continue;
    for (const std::string& name : names_) {
      if (absl::StartsWith(shard, absl::StrCat(name, "/part_"))) shards.emplace_back(name, shard);
    }
  }
  return shards;
}

absl::StatusOr<EmbeddingFollower::Versions> EmbeddingFollower::CheckParts(const BundleReader& reader,
                                                                          bool is_full) const {
  Versions versions;
  for (const Table& table : tables_) {
    if (table.part > 0) continue;
    ASSIGN_OR_RETURN(const Tensor parts, reader.Read(table.variable + "-partitions"));
    if (parts.dtype() != DT_INT64 || parts.dims() != 0) return errors::DataLoss(table.variable, "-partitions");
    for (int64_t i = 0; i < parts.scalar<int64_t>(); ++i) {
      const std::string part = absl::StrCat(table.variable, "/part_", i);
      ASSIGN_OR_RETURN(const Tensor info, reader.Read(part + "-info"));
      constexpr int kFields = 6, kWidth = 1, kVersion = 3, kSince = 4;
      if (info.dtype() != DT_INT64 || info.NumElements() != kFields) return errors::DataLoss(part, "-info is damaged");
      const int64_t* const v = info.data<int64_t>();
      if (v[kWidth] != table.width) {
        return errors::InvalidArgument(part, " has width ", v[kWidth], "; the embedding that follows has ",
                                       table.width);
      }
      const auto before = versions_.find(part);
      const bool follows =
          is_full ? v[kSince] == -1 : before != versions_.end() && v[kSince] >= 0 && v[kSince] <= before->second;
      if (!follows) {
        return errors::DataLoss(part, " has the changes since version ", v[kSince], ", and version ",
                                before == versions_.end() ? -1 : before->second, " is served");
      }
      versions[part] = v[kVersion];
    }
  }
  return versions;
}

absl::StatusOr<EmbeddingFollower::Rows> EmbeddingFollower::ReadShard(const BundleReader& reader,
                                                                     const std::string& variable,
                                                                     const std::string& shard) const {
  Rows rows{.variable = variable};
  ASSIGN_OR_RETURN(rows.keys, reader.Read(shard + "-keys"));
  ASSIGN_OR_RETURN(rows.values, reader.Read(shard + "-values"));
  ASSIGN_OR_RETURN(rows.versions, reader.Read(shard + "-versions"));
  ASSIGN_OR_RETURN(rows.freqs, reader.Read(shard + "-freqs"));
  ASSIGN_OR_RETURN(rows.used, reader.Read(shard + "-used"));
  const int64_t n = rows.keys.NumElements();
  for (const Tensor* vector : {&rows.keys, &rows.versions, &rows.freqs, &rows.used}) {
    if (vector->dtype() != DT_INT64 || vector->shape() != TensorShape({n})) {
      return errors::DataLoss("The rows of ", shard, " do not fit together");
    }
  }
  const auto table =
      std::find_if(tables_.begin(), tables_.end(), [&](const Table& known) { return known.variable == variable; });
  if (rows.values.dtype() != DT_FLOAT || rows.values.dims() != 2 || rows.values.dim_size(0) != n ||
      (table != tables_.end() && rows.values.dim_size(1) != table->width)) {
    return errors::DataLoss("The values of ", shard, " do not fit its keys");
  }
  if (!reader.Contains(shard + "-removed")) return rows;
  ASSIGN_OR_RETURN(const Tensor removed, reader.Read(shard + "-removed"));
  if (removed.dtype() != DT_INT64) return errors::DataLoss(shard, "-removed is not of type int64");
  rows.removed.assign(removed.flat<int64_t>().begin(), removed.flat<int64_t>().end());
  return rows;
}

absl::Status EmbeddingFollower::ApplyBatch(Session& session, const Table& table, const Rows& rows,
                                           const std::vector<int64_t>& positions) const {
  const auto n = static_cast<int64_t>(positions.size());
  Tensor keys(DT_INT64, TensorShape({n})), versions(DT_INT64, TensorShape({n})), freqs(DT_INT64, TensorShape({n}));
  Tensor used(DT_INT64, TensorShape({n})), values(DT_FLOAT, TensorShape({n, table.width}));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t from = positions[i];
    keys.data<int64_t>()[i] = rows.keys.data<int64_t>()[from];
    versions.data<int64_t>()[i] = rows.versions.data<int64_t>()[from];
    freqs.data<int64_t>()[i] = rows.freqs.data<int64_t>()[from];
    used.data<int64_t>()[i] = generation_;
    std::copy_n(rows.values.data<float>() + from * table.width, table.width, values.data<float>() + i * table.width);
  }
  const Tensor slots(DT_FLOAT, TensorShape({n, 0}));
  return session
      .Run({{table.keys, keys},
            {table.values, values},
            {table.slots, slots},
            {table.versions, versions},
            {table.freqs, freqs},
            {table.used, used}},
           {}, {table.import})
      .status();
}

absl::Status EmbeddingFollower::Apply(Session& session, const Rows& rows) const {
  for (const Table& table : tables_) {
    if (table.variable != rows.variable) continue;
    const auto is_here = [&table](int64_t key) { return PartitionOf(KeyHash(key), table.parts) == table.part; };
    std::vector<int64_t> removed;
    std::copy_if(rows.removed.begin(), rows.removed.end(), std::back_inserter(removed), is_here);
    if (!removed.empty()) {
      RETURN_IF_ERROR(session.Run({{table.removed, Tensor::Vector<int64_t>(removed)}}, {}, {table.remove}).status());
    }
    std::vector<int64_t> positions;
    const int64_t n = rows.keys.NumElements();
    for (int64_t i = 0; i < n; ++i) {
      if (is_here(rows.keys.data<int64_t>()[i])) positions.push_back(i);
      if (static_cast<int64_t>(positions.size()) < options_.batch_rows) continue;
      RETURN_IF_ERROR(ApplyBatch(session, table, rows, positions));
      positions.clear();
    }
    if (!positions.empty()) RETURN_IF_ERROR(ApplyBatch(session, table, rows, positions));
  }
  return absl::OkStatus();
}

absl::Status EmbeddingFollower::ApplyDelta(Session& session, FileSystem* files, const EmbeddingExportFile& file) {
  const auto apply = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, file.Path(dir_)));
    ASSIGN_OR_RETURN(const absl::Time began, file.ReadEntry(*reader));
    ASSIGN_OR_RETURN(Versions versions, CheckParts(*reader, /*is_full=*/false));
    // All is read, and its checksums are right, before anything is applied.
    std::vector<Rows> all;
    for (const auto& [variable, shard] : ShardsOf(*reader)) {
      ASSIGN_OR_RETURN(all.emplace_back(), ReadShard(*reader, variable, shard));
    }
    for (const Rows& rows : all) RETURN_IF_ERROR(Apply(session, rows));
    versions_ = std::move(versions);
    SetApplied(file, began);
    return absl::OkStatus();
  };
  return Annotate(apply(), absl::StrCat("Applying the export ", file.Path(dir_)));
}

absl::Status EmbeddingFollower::LoadFull(Session& session, FileSystem* files, const EmbeddingExportFile& file) {
  const auto load = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(files, file.Path(dir_)));
    ASSIGN_OR_RETURN(const absl::Time began, file.ReadEntry(*reader));
    ASSIGN_OR_RETURN(Versions versions, CheckParts(*reader, /*is_full=*/true));
    // A look at all rows finds damage before any is applied, and the latest time of use.
    int64_t latest = generation_;
    for (const auto& [variable, shard] : ShardsOf(*reader)) {
      ASSIGN_OR_RETURN(const Rows rows, ReadShard(*reader, variable, shard));
      for (const int64_t used : rows.used.flat<int64_t>()) latest = std::max(latest, used);
    }
    generation_ = latest + 2;
    RETURN_IF_ERROR(state().number < 0 ? Restore(session, file.Path(dir_)) : Reload(session, *reader));
    versions_ = std::move(versions);
    SetApplied(file, began);
    return absl::OkStatus();
  };
  return Annotate(load(), absl::StrCat("Loading the export ", file.Path(dir_)));
}

absl::Status EmbeddingFollower::Restore(Session& session, const std::string& path) {
  FeedList feeds;
  std::vector<Output> fetches;
  for (const Table& table : tables_) {
    feeds.emplace_back(table.prefixes, Tensor::Vector<tstring>({path}));
    fetches.push_back(table.restored);
  }
  return session.Run(feeds, fetches).status();
}

absl::Status EmbeddingFollower::Reload(Session& session, const BundleReader& reader) {
  for (const auto& [variable, shard] : ShardsOf(reader)) {
    ASSIGN_OR_RETURN(const Rows rows, ReadShard(reader, variable, shard));
    RETURN_IF_ERROR(Apply(session, rows));
  }
  // Rows that were removed in the meantime.
  FeedList feeds;
  std::vector<Operation> targets;
  for (const Table& table : tables_) {
    feeds.emplace_back(table.now, Tensor::Scalar<int64_t>(generation_));
    targets.push_back(table.evict);
  }
  return session.Run(feeds, {}, targets).status();
}

void EmbeddingFollower::SetApplied(const EmbeddingExportFile& file, absl::Time began) {
  MutexLock lock(mu_);
  state_.number = file.number;
  state_.began = began;
  ++(file.is_full ? state_.fulls : state_.deltas);
}

absl::Status EmbeddingFollower::Start(Session& session, absl::Duration interval) {
  if (thread_.joinable()) return errors::FailedPrecondition("This EmbeddingFollower polls already");
  {
    MutexLock lock(mu_);
    stopping_ = false;
  }
  try {
    thread_ = std::thread([this, &session, interval] { Loop(session, interval); });
  } catch (const std::system_error& error) {
    return errors::ResourceExhausted("An EmbeddingFollower got no thread: ", error.what());
  }
  return absl::OkStatus();
}

void EmbeddingFollower::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EmbeddingFollower::Loop(Session& session, absl::Duration interval) {
  absl::Status last;
  for (;;) {
    const absl::Status status = Poll(session);
    if (!status.ok() && status != last) WEIR_LOG(WARNING) << status.message();
    last = status;
    const absl::Time next = MonotonicNow() + interval;
    MutexLock lock(mu_);
    while (!stopping_ && MonotonicNow() < next) lock.WaitUntil(wake_, ToSteady(next));
    if (stopping_) return;
  }
}

}  // namespace weir
