#include "examples/digits/dataset.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "weir/core/files/file_system.h"

namespace weir::digits {
namespace {

constexpr float kBrightest = 16;
constexpr uint32_t kSplitSeed = 20;

absl::Status ParseLine(absl::string_view line, std::vector<float>* pixels, std::vector<int32_t>* labels) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
  if (fields.size() != kPixels + 1) {
    return errors::DataLoss("has ", fields.size(), " fields; expected ", kPixels, " pixels and a label");
  }
  for (int i = 0; i < kPixels; ++i) {
    float value;
    if (!absl::SimpleAtof(fields[i], &value) || !(value >= 0 && value <= kBrightest)) {
      return errors::DataLoss("has the pixel '", fields[i], "'; expected a number from 0 to 16");
    }
    pixels->push_back(value / kBrightest);
  }
  int32_t label;
  double as_written;  // the file may write 3 or 3.0
  if (!absl::SimpleAtod(fields[kPixels], &as_written) || as_written < 0 || as_written >= kClasses) {
    return errors::DataLoss("has the label '", fields[kPixels], "'; expected a digit");
  }
  label = static_cast<int32_t>(as_written);
  labels->push_back(label);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> Dataset::Load(const std::string& path) {
  std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  ASSIGN_OR_RETURN(std::string text, ReadFileToString(files.get(), path));
  Dataset dataset;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    RETURN_IF_ERROR(Annotate(ParseLine(line, &dataset.pixels_, &dataset.labels_), absl::StrCat(path, ":", number)));
  }
  if (dataset.labels_.size() < 10) return errors::DataLoss(path, " holds ", dataset.labels_.size(), " examples only");
  std::vector<int> order(dataset.labels_.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(kSplitSeed));
  const size_t split = order.size() * 4 / 5;
  dataset.train_.assign(order.begin(), order.begin() + split);
  dataset.test_.assign(order.begin() + split, order.end());
  return dataset;
}

Batch Dataset::TrainingBatch(int64_t step, int replica, int replicas, int size) const {
  std::vector<int> rows;
  std::vector<int> order;
  int64_t shuffled_epoch = -1;
  for (int i = 0; i < size; ++i) {
    const int64_t position = (step * replicas + replica) * size + i;
    const int64_t epoch = position / num_training();
    if (epoch != shuffled_epoch) {
      order = train_;
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<uint32_t>(epoch + 1)));
      shuffled_epoch = epoch;
    }
    rows.push_back(order[position % num_training()]);
  }
  return Gather(rows);
}

Batch Dataset::Gather(const std::vector<int>& rows) const {
  const int64_t n = static_cast<int64_t>(rows.size());
  Batch batch{Tensor(DT_FLOAT, TensorShape({n, kPixels})), Tensor(DT_INT32, TensorShape({n}))};
  for (int64_t i = 0; i < n; ++i) {
    std::copy_n(&pixels_[rows[i] * kPixels], kPixels, batch.images.data<float>() + i * kPixels);
    batch.labels.data<int32_t>()[i] = labels_[rows[i]];
  }
  return batch;
}

}  // namespace weir::digits
