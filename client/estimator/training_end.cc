#include "client/estimator/training_end.h"

#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "core/files/file_system.h"
#include "core/random_bits.h"

namespace weir {
namespace {

constexpr char kFile[] = "training.done";
constexpr uint64_t kMostBytes = 4096;

}  // namespace

absl::Status RecordTrainingEnd(const std::string& model_dir, int64_t step) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(model_dir));
  return WriteStringToFile(files, JoinPath(model_dir, kFile),
                           absl::StrFormat("step %d\nrun %016x\n", step, RandomBits()));
}

absl::Status ClearTrainingEnd(const std::string& model_dir) {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(model_dir));
  return files->DeleteIfExists(JoinPath(model_dir, kFile));
}

TrainingEndWatcher::TrainingEndWatcher(std::string model_dir) : model_dir_(std::move(model_dir)) {
  absl::StatusOr<std::string> record = Read();
  if (record.ok()) old_ = *std::move(record);
}

absl::StatusOr<bool> TrainingEndWatcher::HasEnded(bool last_step_saved) {
  ASSIGN_OR_RETURN(const std::string record, Read());
  if (!old_.has_value() || record.empty()) old_ = record;
  return !record.empty() && (last_step_saved || record != *old_);
}

absl::StatusOr<std::string> TrainingEndWatcher::Read() const {
  const std::shared_ptr<FileSystemRegistry> registry = FileSystemRegistry::Default();
  ASSIGN_OR_RETURN(FileSystem * files, registry->Find(model_dir_));
  absl::StatusOr<std::string> record = ReadFileToString(files, JoinPath(model_dir_, kFile), kMostBytes);
  if (absl::IsNotFound(record.status())) return std::string();
  return record;
}

}  // namespace weir
