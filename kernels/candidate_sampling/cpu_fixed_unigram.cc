// FixedUnigramCandidateSampler's distribution: each class has a weight of its own.
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/device/device.h"
#include "core/files/file_system.h"
#include "kernels/candidate_sampling/cpu_candidate_sampling.h"

namespace weir {
namespace {

// Walker's alias method: a place is drawn uniformly, and gives itself or its alias.
class FixedUnigramSampler : public Sampler {
 public:
  FixedUnigramSampler(std::vector<float> weights, double total)
      : Sampler(static_cast<int64_t>(weights.size())), weights_(std::move(weights)), total_(total) {
    BuildPlaces();
    for (float weight : weights_) support_ += weight > 0;
  }

  int64_t Sample(Draws& draws) const override {
    const float fraction = draws.SingleFraction();
    const uint32_t at = draws.SingleBelow(static_cast<uint32_t>(places_.size()));
    return fraction < places_[at].own ? at : places_[at].alias;
  }
  float Probability(int64_t value) const override {
    return static_cast<float>(static_cast<double>(weights_[value]) / total_);
  }
  int64_t support() const override { return support_; }

 private:
  struct Place {
    float own = 1;
    uint32_t alias = 0;
  };

  void BuildPlaces() {
    const uint32_t n = static_cast<uint32_t>(weights_.size());
    double sum = 0;
    for (float weight : weights_) sum += static_cast<double>(weight);
    std::vector<double> shares(n);
    std::vector<uint32_t> high, low;
    for (uint32_t i = 0; i < n; ++i) {
      shares[i] = static_cast<double>(weights_[i] * static_cast<float>(n)) / sum;
      (shares[i] < 1 ? low : high).push_back(i);
    }
    places_.resize(n);
    while (!high.empty() && !low.empty()) {
      const uint32_t poor = low.back(), rich = high.back();
      low.pop_back();
      high.pop_back();
      places_[poor] = {static_cast<float>(shares[poor]), rich};
      shares[rich] -= 1 - shares[poor];
      (shares[rich] < 1 ? low : high).push_back(rich);
    }
    for (const std::vector<uint32_t>& rest : {high, low}) {  // theirs is 1 but for rounding
      for (uint32_t i : rest) places_[i] = {1, i};
    }
  }

  const std::vector<float> weights_;
  const double total_;
  std::vector<Place> places_;
  int64_t support_ = 0;
};

// The last field of each line.
absl::StatusOr<std::vector<float>> ReadUnigrams(const OpKernelConstruction& ctx, const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem * file_system, ctx.device()->file_systems()->Find(path));
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(file_system, path));
  std::vector<float> unigrams;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    const absl::string_view field = line.substr(line.rfind(',') + 1);
    if (!absl::SimpleAtof(field, &unigrams.emplace_back())) {
      return errors::InvalidArgument("Wrong vocabulary format at line: ", line);
    }
  }
  return unigrams;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> MakeFixedUnigramSampler(const OpKernelConstruction& ctx, int64_t range) {
  std::string path;
  std::vector<float> unigrams;
  float distortion;
  int64_t reserved, num_shards, shard;
  RETURN_IF_ERROR(ctx.GetAttr("vocab_file", &path));
  RETURN_IF_ERROR(ctx.GetAttr("unigrams", &unigrams));
  RETURN_IF_ERROR(ctx.GetAttr("distortion", &distortion));
  RETURN_IF_ERROR(ctx.GetAttr("num_reserved_ids", &reserved));
  RETURN_IF_ERROR(ctx.GetAttr("num_shards", &num_shards));
  RETURN_IF_ERROR(ctx.GetAttr("shard", &shard));
  if (path.empty() && unigrams.empty()) {
    return errors::InvalidArgument("Must provide either vocab_file or unigrams.");
  }
  if (!path.empty() && !unigrams.empty()) {
    return errors::InvalidArgument("Must only provide one of vocab_file and unigrams.");
  }
  if (!path.empty()) {
    ASSIGN_OR_RETURN(unigrams, ReadUnigrams(ctx, path));
  }
  // Reserved classes are in addition to the weights', so many in each shard.
  const int64_t listed = static_cast<int64_t>(unigrams.size());
  const auto bad_range = [&](int64_t size) {
    return errors::InvalidArgument("range is ", range, " must be equal to weights size  ", size);
  };
  const int64_t before = shard < num_shards && reserved > shard ? (reserved - shard - 1) / num_shards + 1 : 0;
  if (before > range || listed > std::numeric_limits<int32_t>::max()) return bad_range(before);
  std::vector<float> weights(before, 0.0f);
  double total = 0;
  for (int64_t i = 0; i < listed; ++i) {
    if ((before + i) % num_shards != shard) continue;
    weights.push_back(std::pow(unigrams[i], distortion));
    total += static_cast<double>(weights.back());
  }
  if (static_cast<int64_t>(weights.size()) != range) return bad_range(static_cast<int64_t>(weights.size()));
  for (float weight : weights) {
    if (!(weight >= 0)) return errors::InvalidArgument("A class's weight must not be negative, got ", weight);
  }
  if (!(total > 0) || !std::isfinite(total)) {
    return errors::InvalidArgument("The sum of weights must be positive and finite, got ", total);
  }
  return std::make_unique<FixedUnigramSampler>(std::move(weights), total);
}

}  // namespace weir
