// CTCBeamSearchDecoder: the most probable label sequences, found by keeping the best prefixes at each moment (Graves
// and others, 2006).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/ctc/family.h"
#include "kernels/device/wide.h"

namespace weir {
namespace {

template <typename T>
T AddLogs(T a, T b) {
  constexpr T kLogOfZero = -std::numeric_limits<T>::infinity();
  const T high = std::max(a, b), low = std::min(a, b);
  return low == kLogOfZero ? high : high + std::log1p(std::exp(low - high));
}

template <typename T>
constexpr T kLogOfZero = -std::numeric_limits<T>::infinity();

// Logarithms of probabilities that a prefix ends with a blank, with its last label, or either.
template <typename T>
struct Chances {
  T total = kLogOfZero<T>, blank = kLogOfZero<T>, label = kLogOfZero<T>;
};

template <typename T>
struct Prefix {
  Prefix* parent = nullptr;
  int label = -1;
  bool active = false;  // among the best
  Chances<T> before, now;
  absl::flat_hash_map<int, std::unique_ptr<Prefix>> longer;
};

template <typename T>
class BeamSearch {
 public:
  BeamSearch(int64_t width, int64_t classes) : width_(width), classes_(classes) {
    root_.active = true;
    root_.now = {0, 0, kLogOfZero<T>};
    best_.push_back(&root_);
  }
  // Destroys the tree without recursion: it may be deep.
  ~BeamSearch() {
    std::vector<std::unique_ptr<Prefix<T>>> rest;
    for (auto& [label, child] : root_.longer) rest.push_back(std::move(child));
    while (!rest.empty()) {
      const std::unique_ptr<Prefix<T>> next = std::move(rest.back());
      rest.pop_back();
      for (auto& [label, child] : next->longer) rest.push_back(std::move(child));
    }
  }

  // One moment; the last class is the blank. ResourceExhausted where there are too many prefixes.
  absl::Status Step(const T* x) {
    const T most = *std::max_element(x, x + classes_);
    T sum = 0;
    for (int64_t c = 0; c < classes_; ++c) sum += std::exp(x[c] - most);
    const T norm = most + std::log(sum);
    std::vector<Prefix<T>*> branches = best_;
    std::stable_sort(branches.begin(), branches.end(),
                     [](const Prefix<T>* a, const Prefix<T>* b) { return a->now.total > b->now.total; });
    for (Prefix<T>* branch : branches) branch->before = branch->now;
    for (Prefix<T>* branch : branches) Stay(*branch, x, norm);
    best_.clear();
    for (Prefix<T>* branch : branches) Push(branch);
    constexpr int64_t kMostPrefixes = 10'000'000;
    for (Prefix<T>* branch : branches) {
      if (!IsCandidate(branch->before.total)) continue;
      if (prefixes_ > kMostPrefixes) {
        return errors::ResourceExhausted("Beam search keeps more than ", kMostPrefixes, " prefixes; reduce beam_width");
      }
      for (int label = 0; label + 1 < classes_; ++label) Grow(*branch, label, x[label] - norm);
    }
    return absl::OkStatus();
  }

  // Labels and the logarithm of the probability of the best; InvalidArgument where there are fewer.
  absl::Status Top(int64_t count, bool merge, std::vector<std::vector<int64_t>>* paths, std::vector<T>* logs) {
    if (static_cast<int64_t>(best_.size()) < count) {
      return errors::InvalidArgument("Less leaves in the beam search than requested.");
    }
    std::stable_sort(best_.begin(), best_.end(),
                     [](const Prefix<T>* a, const Prefix<T>* b) { return a->now.total > b->now.total; });
    for (int64_t i = 0; i < count; ++i) {
      std::vector<int64_t> labels;
      int previous = -1;
      for (const Prefix<T>* p = best_[i]; p->parent != nullptr; p = p->parent) {
        if (!merge || p->label != previous) labels.push_back(p->label);
        previous = p->label;
      }
      std::reverse(labels.begin(), labels.end());
      paths->push_back(std::move(labels));
      logs->push_back(best_[i]->now.total);
    }
    return absl::OkStatus();
  }

 private:
  static bool Worse(const Prefix<T>* a, const Prefix<T>* b) { return a->now.total > b->now.total; }

  // The same labels after one more moment.
  void Stay(Prefix<T>& branch, const T* x, T norm) {
    if (branch.parent != nullptr) {
      if (branch.parent->active) {
        const Chances<T>& parent = branch.parent->before;
        branch.now.label =
            AddLogs(branch.now.label, branch.label == branch.parent->label ? parent.blank : parent.total);
      }
      branch.now.label += x[branch.label] - norm;
    }
    branch.now.blank = branch.before.total + x[classes_ - 1] - norm;
    branch.now.total = AddLogs(branch.now.blank, branch.now.label);
  }

  void Grow(Prefix<T>& branch, int label, T chance) {
    const auto found = branch.longer.find(label);
    if (found != branch.longer.end() && found->second->active) return;
    const T grown = chance + (label == branch.label ? branch.before.blank : branch.before.total);
    Prefix<T>* child = found != branch.longer.end() ? found->second.get() : nullptr;
    if (!IsCandidate(grown)) {
      if (child != nullptr) child->before = child->now = {};
      return;
    }
    if (child == nullptr) {
      auto made = std::make_unique<Prefix<T>>();
      child = made.get();
      child->parent = &branch;
      child->label = label;
      branch.longer[label] = std::move(made);
      ++prefixes_;
    }
    child->now = {grown, kLogOfZero<T>, grown};
    if (static_cast<int64_t>(best_.size()) == width_) {
      Prefix<T>* const last = best_.front();
      std::pop_heap(best_.begin(), best_.end(), Worse);
      best_.pop_back();
      last->active = false;
      last->now = {};
    }
    Push(child);
  }

  bool IsCandidate(T total) const {
    return total > kLogOfZero<T> && (static_cast<int64_t>(best_.size()) < width_ || total > best_.front()->now.total);
  }
  void Push(Prefix<T>* prefix) {
    prefix->active = true;
    best_.push_back(prefix);
    std::push_heap(best_.begin(), best_.end(), Worse);
  }

  const int64_t width_, classes_;
  Prefix<T> root_;
  std::vector<Prefix<T>*> best_;  // a heap with the worst of them in front
  int64_t prefixes_ = 0;
};

class CtcBeamSearchKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("merge_repeated", &merge_));
    RETURN_IF_ERROR(ctx.GetAttr("beam_width", &width_));
    RETURN_IF_ERROR(ctx.GetAttr("top_paths", &paths_));
    if (width_ >= paths_) return absl::OkStatus();
    return errors::InvalidArgument("requested more paths than the beam width.");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &inputs = ctx.input(0), &lengths = ctx.input(1);
    if (inputs.dims() != 3) return errors::InvalidArgument("inputs is not a 3-Tensor");
    const int64_t time = inputs.dim_size(0), batch = inputs.dim_size(1), classes = inputs.dim_size(2);
    if (time == 0) return errors::InvalidArgument("max_time is 0");
    if (batch == 0) return errors::InvalidArgument("batch_size is 0");
    if (classes == 0 || classes > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("num_classes is out of range: ", classes);
    }
    if (lengths.dims() != 1) return errors::InvalidArgument("sequence_length is not a vector");
    if (lengths.dim_size(0) != batch) {
      return errors::FailedPrecondition(
          "len(sequence_length) != batch_size.  len(sequence_length):  ", lengths.dim_size(0), " batch_size: ", batch);
    }
    for (int64_t b = 0; b < batch; ++b) {
      const int32_t length = lengths.data<int32_t>()[b];
      if (length < 0 || length > time) return errors::FailedPrecondition("sequence_length(", b, ") <= ", time);
    }
    ASSIGN_OR_RETURN(Tensor * scores, ctx.allocate_output(static_cast<int>(3 * paths_), TensorShape({batch, paths_})));
    // By path, then by example.
    std::vector<std::vector<std::vector<int64_t>>> decoded(paths_);
    const auto run = [&](auto element) -> absl::Status {
      using T = decltype(element);
      for (int64_t b = 0; b < batch; ++b) {
        BeamSearch<T> search(width_, classes);
        for (int64_t t = 0; t < lengths.data<int32_t>()[b]; ++t) {
          RETURN_IF_ERROR(search.Step(inputs.data<T>() + (t * batch + b) * classes));
        }
        std::vector<std::vector<int64_t>> best;
        std::vector<T> logs;
        RETURN_IF_ERROR(search.Top(paths_, merge_, &best, &logs));
        for (int64_t p = 0; p < paths_; ++p) {
          decoded[p].push_back(std::move(best[p]));
          scores->data<T>()[b * paths_ + p] = logs[p];
        }
      }
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(VisitWide(inputs.dtype(), run));
    for (int64_t p = 0; p < paths_; ++p) RETURN_IF_ERROR(SetPath(ctx, decoded[p], p));
    return absl::OkStatus();
  }

 private:
  // A sparse tensor of the labels of one path.
  absl::Status SetPath(OpKernelContext& ctx, const std::vector<std::vector<int64_t>>& labels, int64_t path) const {
    int64_t total = 0, longest = 0;
    for (const auto& row : labels) {
      total += static_cast<int64_t>(row.size());
      longest = std::max(longest, static_cast<int64_t>(row.size()));
    }
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(static_cast<int>(path), TensorShape({total, 2})));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(static_cast<int>(paths_ + path), TensorShape({total})));
    int64_t at = 0;
    for (size_t b = 0; b < labels.size(); ++b) {
      for (size_t i = 0; i < labels[b].size(); ++i, ++at) {
        indices->data<int64_t>()[2 * at] = static_cast<int64_t>(b);
        indices->data<int64_t>()[2 * at + 1] = static_cast<int64_t>(i);
        values->data<int64_t>()[at] = labels[b][i];
      }
    }
    ctx.set_output(static_cast<int>(2 * paths_ + path),
                   Tensor::Vector<int64_t>({static_cast<int64_t>(labels.size()), longest}));
    return absl::OkStatus();
  }

  bool merge_ = true;
  int64_t width_ = 1, paths_ = 1;
};

}  // namespace

absl::Status RegisterCtcBeamKernels(KernelRegistry& kernels) {
  return kernels.Register<CtcBeamSearchKernel>(Kernel("CTCBeamSearchDecoder").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE}));
}

}  // namespace weir
