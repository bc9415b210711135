#include "client/saver.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "absl/container/btree_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/ops.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/random_bits.h"

namespace weir {
namespace {

constexpr char kTemporary[] = "_temp_";
constexpr int kTemporaryDigits = 16;

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

// The checkpoint, "base-STEP", of which `name` is a data file or an index in the making; empty for other names.
std::string OwnerOf(absl::string_view name, absl::string_view base) {
  const absl::string_view whole = name;
  if (!absl::ConsumePrefix(&name, base) || !absl::ConsumePrefix(&name, "-")) return "";
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const absl::string_view rest = name.substr(digits);
  if (digits == 0 || !(absl::StartsWith(rest, ".data-") || absl::StartsWith(rest, ".index.merging"))) return "";
  return std::string(whole.substr(0, whole.size() - rest.size()));
}

}  // namespace

std::vector<Saver::Shard> Saver::MakeShards(const std::vector<ResourceVariable>& variables) const {
  absl::btree_map<std::string, Shard> by_device;
  for (const ResourceVariable& variable : variables) {
    if (variable.valid()) by_device[variable.handle().node()->requested_device()].variables.push_back(variable);
  }
  for (const Saveable& saveable : options_.saveables) by_device[saveable.device].saveables.push_back(saveable);
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
  prefix_ = ops::Placeholder(inner.WithName("prefix"), DT_STRING, {.shape = TensorShape()});
  AddSave(inner, shards);
  AddRestore(inner, shards);
}

void Saver::AddSave(const Scope& scope, const std::vector<Shard>& shards) {
  std::vector<Operation> saves;
  for (const Shard& shard : shards) {
    const Scope on_device = scope.WithDevice(shard.device);
    shard_prefixes_.push_back(
        ops::Placeholder(on_device.WithName("shard_prefix"), DT_STRING, {.shape = TensorShape()}));
    std::vector<tstring> names, slices;
    InputList values;
    for (const ResourceVariable& variable : shard.variables) {
      names.push_back(variable.options().save_name);
      slices.push_back(variable.options().save_slice);
      values.push_back(variable.Read(on_device));
    }
    for (const Saveable& saveable : shard.saveables) {
      names.push_back(saveable.name);
      values.push_back(saveable.save(on_device));
    }
    slices.resize(names.size());
    saves.push_back(ops::SaveV2(on_device, shard_prefixes_.back(), Tensor::Vector<tstring>(names),
                                Tensor::Vector<tstring>(slices), values));
  }
  const Scope first = scope.WithDevice(shards[0].device);
  all_shard_prefixes_ = ops::Placeholder(first.WithName("all_shard_prefixes"), DT_STRING);
  save_ = ops::MergeV2Checkpoints(first.WithControlDependencies(saves), all_shard_prefixes_, prefix_,
                                  {.delete_old_dirs = true});
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
    values.push_back(
        ops::RestoreV2(on_device, prefix_, Tensor::Vector<tstring>(names), Tensor::Vector<tstring>(slices), types));
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

absl::StatusOr<std::string> Saver::Save(Session& session, const std::string& prefix, int64_t step) const {
  const std::string path = absl::StrCat(prefix, "-", step);
  RETURN_IF_ERROR(SaveTo(session, path));
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(path));
  RETURN_IF_ERROR(AddCheckpoint(
      files, std::string(DirName(path)), path,
      {.keep = options_.max_to_keep, .timestamp = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch())}));
  return path;
}

absl::Status Saver::SaveTo(Session& session, const std::string& path) const {
  const std::string dir(DirName(path));
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(path));
  if (!dir.empty()) RETURN_IF_ERROR(files->CreateDir(dir));
  const std::string temporary = absl::StrCat(path, TemporarySuffix());
  RETURN_IF_ERROR(files->CreateDir(temporary));
  FeedList feeds = {{prefix_, Tensor::Scalar<tstring>(path)}};
  std::vector<tstring> shard_prefixes;
  for (int i = 0; i < num_shards_; ++i) {
    shard_prefixes.push_back(absl::StrFormat("%s/part-%05d-of-%05d", temporary, i, num_shards_));
    feeds.emplace_back(shard_prefixes_[i], Tensor::Scalar<tstring>(shard_prefixes.back()));
  }
  feeds.emplace_back(all_shard_prefixes_, Tensor::Vector<tstring>(shard_prefixes));
  absl::Status saved = session.Run(feeds, {}, {save_}).status();
  if (files->Exists(temporary)) files->DeleteRecursively(temporary).IgnoreError();  // left over by a failed save
  return Annotate(std::move(saved), absl::StrCat("Saving the checkpoint ", path));
}

absl::Status Saver::Restore(Session& session, const std::string& prefix) const {
  return Annotate(session.Run({{prefix_, Tensor::Scalar<tstring>(prefix)}}, {}, {restore_}).status(),
                  absl::StrCat("Restoring from the checkpoint ", prefix));
}

absl::StatusOr<std::string> Saver::Latest(const std::string& dir) const {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(dir));
  return LatestCheckpoint(files, dir);
}

absl::StatusOr<std::vector<std::string>> Saver::Complete(const std::string& dir) const {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(dir));
  return CompleteCheckpoints(files, dir);
}

absl::Status Saver::RemoveUnfinished(const std::string& prefix) const {
  ASSIGN_OR_RETURN(FileSystem * files, options_.files->Find(prefix));
  const std::string dir(DirName(prefix)), base(BaseName(prefix));
  const absl::StatusOr<std::vector<std::string>> names = files->List(dir.empty() ? "." : dir);
  if (!names.ok()) return absl::IsNotFound(names.status()) ? absl::OkStatus() : names.status();
  const std::set<std::string> present(names->begin(), names->end());
  for (const std::string& name : *names) {
    const std::string owner = OwnerOf(name, base);
    const bool is_orphan = !owner.empty() && present.count(owner + ".index") == 0;
    if (IsTemporary(name, base) || is_orphan) RETURN_IF_ERROR(files->DeleteRecursively(JoinPath(dir, name)));
  }
  return absl::OkStatus();
}

}  // namespace weir
