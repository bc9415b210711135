// Keeps the plan chosen for each problem, from process to process.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "core/files/file_system.h"
#include "core/mutex.h"
#include "kernels/device/plans/library_recipe.h"

namespace weir {

struct CachedPlan {
  bool channels_first = false;  // the layout that it was computed in
  LibraryRecipe recipe;
  absl::Duration elapsed;

  // That there is no plan.
  static CachedPlan None() { return {.elapsed = absl::InfiniteDuration()}; }
  bool IsNone() const { return elapsed == absl::InfiniteDuration(); }
  friend bool operator==(const CachedPlan&, const CachedPlan&) = default;
};
// By the problem's ToString().
using CachedPlans = std::map<std::string, CachedPlan>;

// A file is text: a line that names the format, one for the identity, one for each plan, and a checksum of them.
std::string FormatPlans(const std::string& identity, const CachedPlans& plans);
// DATA_LOSS for what is not such a file, or is damaged; FAILED_PRECONDITION for that of another identity.
absl::StatusOr<CachedPlans> ParsePlans(const std::string& text, const std::string& identity);

// One file of a directory that processes, devices and versions may share. Thread-safe.
class PlanCache {
 public:
  // Reads the file of that identity (GpuLibrary::identity). One that cannot be used is left out, with a warning
  // in the log, and is replaced by the next Save. May block.
  PlanCache(std::shared_ptr<FileSystem> files, std::string directory, std::string identity);

  const std::string& path() const { return path_; }
  std::optional<CachedPlan> Find(const std::string& problem) const;
  void Add(const std::string& problem, CachedPlan plan);
  // Writes all there is to the file, with what other processes have added to it: those who read see the old or the new.
  // Of two who save at the same moment one may lose what it added, until it saves again. May block.
  absl::Status Save();

 private:
  const std::shared_ptr<FileSystem> files_;
  const std::string directory_, identity_, path_;
  Mutex saving_;
  mutable Mutex mu_;  // within saving_
  CachedPlans plans_ GUARDED_BY(mu_);
};

}  // namespace weir
