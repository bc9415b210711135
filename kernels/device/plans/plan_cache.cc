#include "kernels/device/plans/plan_cache.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/checkpoint/crc32c.h"
#include "core/fingerprint.h"
#include "core/logging.h"
#include "core/random_bits.h"

namespace weir {
namespace {

constexpr char kFormat[] = "weir plans 2";
constexpr absl::string_view kNone = "none";
constexpr char kChecksum[] = "crc32c ";
constexpr uint64_t kLargestFile = uint64_t{64} << 20;
constexpr size_t kMostKnobs = 256;

absl::Status Damaged(absl::string_view what) { return errors::DataLoss("no file of plans: ", what); }

std::string FileName(const std::string& identity) {
  return absl::StrFormat("gpu-%016x.plans", Fingerprint64(identity));
}

absl::StatusOr<LibraryRecipe> ParseRecipe(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
  LibraryRecipe recipe;
  if (!absl::SimpleAtoi(parts.first, &recipe.engine) || recipe.engine < 0) return Damaged("a recipe without engine");
  for (const absl::string_view knob : absl::StrSplit(parts.second, ',', absl::SkipEmpty())) {
    const std::vector<absl::string_view> sides = absl::StrSplit(knob, '=');
    int64_t kind = 0, value = 0;
    if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &kind) || !absl::SimpleAtoi(sides[1], &value) ||
        recipe.knobs.size() == kMostKnobs) {
      return Damaged("a recipe with knobs that are none");
    }
    recipe.knobs.emplace_back(kind, value);
  }
  return recipe;
}

// "problem\tnhwc\trecipe\tnanoseconds", "problem\tnone"
absl::Status ParsePlan(absl::string_view line, CachedPlans* plans) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
  int64_t nanoseconds = 0;
  if (fields.size() == 2 && !fields[0].empty() && fields[1] == kNone) {
    (*plans)[std::string(fields[0])] = CachedPlan::None();
    return absl::OkStatus();
  }
  if (fields.size() != 4 || fields[0].empty() || (fields[1] != "nchw" && fields[1] != "nhwc") ||
      !absl::SimpleAtoi(fields[3], &nanoseconds) || nanoseconds < 0) {
    return Damaged("a line that is no plan");
  }
  ASSIGN_OR_RETURN(LibraryRecipe recipe, ParseRecipe(fields[2]));
  (*plans)[std::string(fields[0])] = {
      .channels_first = fields[1] == "nchw", .recipe = std::move(recipe), .elapsed = absl::Nanoseconds(nanoseconds)};
  return absl::OkStatus();
}

}  // namespace

std::string FormatPlans(const std::string& identity, const CachedPlans& plans) {
  std::string text = absl::StrCat(kFormat, "\n", identity, "\n");
  for (const auto& [problem, plan] : plans) {
    if (plan.IsNone()) {
      absl::StrAppend(&text, problem, "\t", kNone, "\n");
      continue;
    }
    absl::StrAppend(&text, problem, "\t", plan.channels_first ? "nchw" : "nhwc", "\t", plan.recipe.ToString(), "\t",
                    absl::ToInt64Nanoseconds(plan.elapsed), "\n");
  }
  return absl::StrCat(text, kChecksum, absl::StrFormat("%08x", crc32c::Value(text)), "\n");
}

absl::StatusOr<CachedPlans> ParsePlans(const std::string& text, const std::string& identity) {
  const size_t last = text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  if (last == std::string::npos || text.back() != '\n') return Damaged("it ends early");
  const absl::string_view body = absl::string_view(text).substr(0, last + 1);
  if (text.substr(last + 1) != absl::StrCat(kChecksum, absl::StrFormat("%08x", crc32c::Value(body)), "\n")) {
    return Damaged("its checksum is wrong");
  }
  const std::vector<absl::string_view> lines = absl::StrSplit(body.substr(0, last), '\n');
  if (lines.size() < 2 || lines[0] != kFormat) return Damaged("it is of another format");
  if (lines[1] != identity) {
    return errors::FailedPrecondition("these are plans of '", lines[1], "', not of '", identity, "'");
  }
  CachedPlans plans;
  for (size_t i = 2; i < lines.size(); ++i) RETURN_IF_ERROR(ParsePlan(lines[i], &plans));
  return plans;
}

PlanCache::PlanCache(std::shared_ptr<FileSystem> files, std::string directory, std::string identity)
    : files_(std::move(files)),
      directory_(std::move(directory)),
      identity_(std::move(identity)),
      path_(JoinPath(directory_, FileName(identity_))) {
  const absl::StatusOr<std::string> text = ReadFileToString(files_.get(), path_, kLargestFile);
  if (absl::IsNotFound(text.status())) return;
  absl::StatusOr<CachedPlans> plans = text.ok() ? ParsePlans(*text, identity_) : text.status();
  if (!plans.ok()) {
    WEIR_LOG(WARNING).With("file", path_).With("reason", plans.status().message())
        << "the file of plans is not used; plans are measured anew";
    return;
  }
  plans_ = *std::move(plans);
}

std::optional<CachedPlan> PlanCache::Find(const std::string& problem) const {
  MutexLock lock(mu_);
  const auto found = plans_.find(problem);
  if (found == plans_.end()) return std::nullopt;
  return found->second;
}

void PlanCache::Add(const std::string& problem, CachedPlan plan) {
  MutexLock lock(mu_);
  plans_[problem] = std::move(plan);
}

absl::Status PlanCache::Save() {
  MutexLock saving(saving_);
  RETURN_IF_ERROR(files_->CreateDir(directory_));
  CachedPlans others;
  if (const auto text = ReadFileToString(files_.get(), path_, kLargestFile); text.ok()) {
    if (auto plans = ParsePlans(*text, identity_); plans.ok()) others = *std::move(plans);
  }
  CachedPlans all;
  {
    MutexLock lock(mu_);
    plans_.merge(others);
    all = plans_;
  }
  // Under a name of its own: another who saves now writes beside it, not into it.
  const std::string written = absl::StrFormat("%s.%016x", path_, RandomBits());
  RETURN_IF_ERROR(WriteStringToFile(files_.get(), written, FormatPlans(identity_, all)));
  absl::Status renamed = files_->Rename(written, path_);
  if (!renamed.ok()) files_->DeleteFile(written).IgnoreError();
  return renamed;
}

}  // namespace weir
