#include "client/estimator/exporter.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/files/file_system.h"

namespace weir {
namespace {

constexpr char kBestFile[] = "best_evaluation";

absl::Status DeleteOldest(const std::string& base, int keep, FileSystem* files) {
  if (keep == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(base));
  std::vector<int64_t> versions;
  for (const std::string& name : names) {
    int64_t version;
    if (absl::SimpleAtoi(name, &version)) versions.push_back(version);
  }
  std::sort(versions.begin(), versions.end());
  for (size_t i = 0; i + keep < versions.size(); ++i) {
    RETURN_IF_ERROR(files->DeleteRecursively(JoinPath(base, absl::StrCat(versions[i]))));
  }
  return absl::OkStatus();
}

class Latest : public Exporter {
 public:
  explicit Latest(ExporterOptions options) : options_(std::move(options)) {}
  const std::string& name() const override { return options_.name; }
  absl::StatusOr<std::string> Export(const Estimator& estimator, const std::string& base, const std::string& checkpoint,
                                     const Evaluation&) override {
    ASSIGN_OR_RETURN(std::string dir, estimator.ExportSavedModel(base, options_.serving, checkpoint));
    ASSIGN_OR_RETURN(FileSystem * files, registry_->Find(base));
    RETURN_IF_ERROR(DeleteOldest(base, options_.exports_to_keep, files));
    return dir;
  }
  const FileSystemRegistry& registry() const { return *registry_; }

 private:
  const ExporterOptions options_;
  const std::shared_ptr<FileSystemRegistry> registry_ = FileSystemRegistry::Default();
};

// One line "name value" each, starting with the step.
std::string EvaluationText(const Evaluation& evaluation) {
  std::string text = absl::StrCat("global_step ", evaluation.global_step, "\n");
  for (const auto& [name, value] : evaluation.values) absl::StrAppendFormat(&text, "%s %.17g\n", name, value);
  return text;
}

absl::StatusOr<Evaluation> ParseEvaluation(const std::string& text, const std::string& path) {
  Evaluation evaluation;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const size_t space = line.rfind(' ');
    double value;
    if (space == absl::string_view::npos || !absl::SimpleAtod(line.substr(space + 1), &value)) {
      return errors::DataLoss(path, " has the line '", line, "'; expected a name and a number");
    }
    const std::string name(line.substr(0, space));
    if (name == "global_step") {
      evaluation.global_step = static_cast<int64_t>(value);
    } else {
      evaluation.values[name] = value;
    }
  }
  return evaluation;
}

class Best : public Exporter {
 public:
  Best(ExporterOptions options, IsBetter is_better) : latest_(std::move(options)), is_better_(std::move(is_better)) {}
  const std::string& name() const override { return latest_.name(); }

  absl::StatusOr<std::string> Export(const Estimator& estimator, const std::string& base, const std::string& checkpoint,
                                     const Evaluation& evaluation) override {
    ASSIGN_OR_RETURN(FileSystem * files, latest_.registry().Find(base));
    const std::string path = JoinPath(base, kBestFile);
    if (!best_.has_value()) {
      const absl::StatusOr<std::string> text = ReadFileToString(files, path);
      if (text.ok()) {
        ASSIGN_OR_RETURN(best_, ParseEvaluation(*text, path));
      } else if (!absl::IsNotFound(text.status())) {
        return text.status();
      }
    }
    if (best_.has_value() && !is_better_(*best_, evaluation)) return "";
    ASSIGN_OR_RETURN(std::string dir, latest_.Export(estimator, base, checkpoint, evaluation));
    RETURN_IF_ERROR(WriteStringToFile(files, path, EvaluationText(evaluation)));
    best_ = evaluation;
    return dir;
  }

 private:
  Latest latest_;
  const IsBetter is_better_;
  std::optional<Evaluation> best_;
};

// nullopt if there is no such value, or if it is NaN, which any number improves on.
std::optional<double> Number(const Evaluation& evaluation, const std::string& name) {
  const auto found = evaluation.values.find(name);
  if (found == evaluation.values.end() || std::isnan(found->second)) return std::nullopt;
  return found->second;
}

}  // namespace

std::unique_ptr<Exporter> LatestExporter(ExporterOptions options) {
  return std::make_unique<Latest>(std::move(options));
}

IsBetter SmallerLoss() {
  return [](const Evaluation& best, const Evaluation& candidate) {
    const std::optional<double> before = Number(best, "loss"), now = Number(candidate, "loss");
    return now.has_value() && (!before.has_value() || *now < *before);
  };
}

IsBetter LargerMetric(const std::string& name) {
  return [name](const Evaluation& best, const Evaluation& candidate) {
    const std::optional<double> before = Number(best, name), now = Number(candidate, name);
    return now.has_value() && (!before.has_value() || *now > *before);
  };
}

std::unique_ptr<Exporter> BestExporter(ExporterOptions options, IsBetter is_better) {
  return std::make_unique<Best>(std::move(options), std::move(is_better));
}

}  // namespace weir
