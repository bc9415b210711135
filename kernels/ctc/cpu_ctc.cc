// Connectionist temporal classification (Graves and others, 2006): the loss with its gradient, and greedy decoding.
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_join.h"
#include "kernels/ctc/family.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"

namespace weir {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double AddLogs(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return low == kNever ? high : high + std::log1p(std::exp(low - high));
}

// Checked inputs [time, batch, classes] and sequence lengths of the loss and the decoder.
struct Sequences {
  // Lengths out of range are errors with `code`.
  static absl::StatusOr<Sequences> Check(const Tensor& inputs, const Tensor& lengths, absl::StatusCode code) {
    if (inputs.dims() != 3) return errors::InvalidArgument("inputs is not a 3-Tensor");
    Sequences s{inputs.dim_size(0), inputs.dim_size(1), inputs.dim_size(2)};
    if (s.time == 0) return errors::InvalidArgument("max_time is 0");
    if (s.batch == 0) return errors::InvalidArgument("batch_size must not be 0");
    if (s.classes == 0) return errors::InvalidArgument("num_classes is 0");
    if (s.time > std::numeric_limits<int32_t>::max() || s.classes > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("inputs are too large: ", inputs.shape().ToString());
    }
    if (lengths.dims() != 1) return errors::InvalidArgument("sequence_length is not a vector");
    if (lengths.dim_size(0) != s.batch) {
      return absl::Status(code, absl::StrCat("len(sequence_length) != batch_size.  len(sequence_length):  ",
                                             lengths.dim_size(0), " batch_size: ", s.batch));
    }
    for (int64_t b = 0; b < s.batch; ++b) {
      const int32_t length = lengths.data<int32_t>()[b];
      if (length > s.time) return absl::Status(code, absl::StrCat("sequence_length(", b, ") <= ", s.time));
      if (length < 0) return errors::FailedPrecondition("sequence_length(", b, ") must not be negative, got ", length);
    }
    return s;
  }
  int64_t time, batch, classes;
};

// One example: the probabilities of its classes over time, and its labels with blanks between and around them.
class Alignment {
 public:
  Alignment(const double* log_probability, int64_t time, int64_t classes, std::vector<int32_t> labels, int32_t blank,
            bool merge_repeated)
      : y_(log_probability), time_(time), classes_(classes), blank_(blank), merge_(merge_repeated) {
    for (int32_t label : labels) {
      path_.push_back(blank);
      path_.push_back(label);
    }
    path_.push_back(blank);
  }

  // The loss; `gradient` [time, classes] gets d(loss)/d(logits).
  double Loss(double* gradient) const {
    const int64_t n = Places();
    std::vector<double> alpha(time_ * n, kNever), beta(time_ * n, kNever);
    Forward(alpha);
    Backward(beta);
    double total = kNever;
    for (int64_t u = 0; u < n; ++u) total = AddLogs(total, alpha[u] + beta[u]);
    std::vector<double> sums(classes_);
    for (int64_t t = 0; t < time_; ++t) {
      std::fill(sums.begin(), sums.end(), kNever);
      for (int64_t u = 0; u < n; ++u) sums[path_[u]] = AddLogs(sums[path_[u]], alpha[t * n + u] + beta[t * n + u]);
      for (int64_t c = 0; c < classes_; ++c) {
        gradient[t * classes_ + c] = std::exp(Y(t, c)) - (total == kNever ? 0 : std::exp(sums[c] - total));
      }
    }
    return -total;
  }

 private:
  int64_t Places() const { return static_cast<int64_t>(path_.size()); }
  double Y(int64_t t, int64_t c) const { return y_[t * classes_ + c]; }
  bool MayStay(int64_t u) const { return merge_ || path_[u] == blank_; }
  // From place u to u + 2, leaving out the blank between.
  bool MaySkip(int64_t u) const { return path_[u] != blank_ && !(merge_ && path_[u] == path_[u + 2]); }
  // Places from which the end can still be reached, and that can have been reached.
  int64_t First(int64_t t) const { return std::max<int64_t>(0, Places() - 2 * (time_ - t)); }
  int64_t End(int64_t t) const { return std::min(Places(), 2 * (t + 1)); }

  void Forward(std::vector<double>& alpha) const {
    const int64_t n = Places();
    alpha[0] = Y(0, blank_);
    if (n > 1) alpha[1] = Y(0, path_[1]);
    for (int64_t t = 1; t < time_; ++t) {
      const double* const before = alpha.data() + (t - 1) * n;
      for (int64_t u = First(t); u < End(t); ++u) {
        double sum = MayStay(u) ? before[u] : kNever;
        if (u > 0) sum = AddLogs(sum, before[u - 1]);
        if (u > 1 && MaySkip(u - 2)) sum = AddLogs(sum, before[u - 2]);
        alpha[t * n + u] = Y(t, path_[u]) + sum;
      }
    }
  }
  void Backward(std::vector<double>& beta) const {
    const int64_t n = Places();
    for (int64_t u = std::max<int64_t>(0, n - 2); u < n; ++u) beta[(time_ - 1) * n + u] = 0;
    for (int64_t t = time_ - 2; t >= 0; --t) {
      const double* const after = beta.data() + (t + 1) * n;
      for (int64_t u = First(t); u < End(t); ++u) {
        double sum = MayStay(u) ? after[u] + Y(t + 1, path_[u]) : kNever;
        if (u + 1 < n) sum = AddLogs(sum, after[u + 1] + Y(t + 1, path_[u + 1]));
        if (u + 2 < n && MaySkip(u)) sum = AddLogs(sum, after[u + 2] + Y(t + 1, path_[u + 2]));
        beta[t * n + u] = sum;
      }
    }
  }

  const double* const y_;
  const int64_t time_, classes_;
  const int32_t blank_;
  const bool merge_;
  std::vector<int32_t> path_;
};

// CTCLoss, where the last class is the blank, and CTCLossV2, where the first is.
class CtcLossKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    blank_first_ = ctx.op() == "CTCLossV2";
    RETURN_IF_ERROR(ctx.GetAttr("preprocess_collapse_repeated", &collapse_));
    RETURN_IF_ERROR(ctx.GetAttr("ctc_merge_repeated", &merge_));
    return ctx.GetAttr("ignore_longer_outputs_than_inputs", &ignore_longer_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& lengths = ctx.input(3);
    ASSIGN_OR_RETURN(const Sequences s, Sequences::Check(ctx.input(0), lengths, absl::StatusCode::kInvalidArgument));
    ASSIGN_OR_RETURN(const auto labels, ReadLabels(ctx.input(1), ctx.input(2), s));
    if (!blank_first_) RETURN_IF_ERROR(CheckEachRowHasLabels(ctx.input(1), s.batch));
    ASSIGN_OR_RETURN(const Tensor inputs, ConvertTensor(ctx, ctx.input(0), DT_DOUBLE));
    ASSIGN_OR_RETURN(Tensor loss, ctx.allocate_temp(DT_DOUBLE, TensorShape({s.batch})));
    ASSIGN_OR_RETURN(Tensor gradient, ctx.allocate_temp(DT_DOUBLE, inputs.shape()));
    std::fill_n(gradient.data<double>(), gradient.NumElements(), 0.0);
    std::fill_n(loss.data<double>(), s.batch, 0.0);
    for (int64_t b = 0; b < s.batch; ++b) RETURN_IF_ERROR(CheckTime(labels[b], lengths.data<int32_t>()[b], b));
    const double cost = static_cast<double>(s.time) * static_cast<double>(s.classes) * 50'000;
    ParallelRanges(ctx, s.batch, static_cast<int64_t>(std::min(cost, 1e15)), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t time = lengths.data<int32_t>()[b];
        if (time == 0 || Required(labels[b]) > time) continue;
        loss.data<double>()[b] = Example(s, b, time, labels[b], inputs.data<double>(), gradient.data<double>());
      }
    });
    for (int i : {0, 1}) {
      ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, i == 0 ? loss : gradient, ctx.expected_output_dtype(i)));
      ctx.set_output(i, std::move(narrow));
    }
    return absl::OkStatus();
  }

 private:
  using Labels = std::vector<std::vector<int32_t>>;

  int32_t Blank(const Sequences& s) const { return blank_first_ ? 0 : static_cast<int32_t>(s.classes - 1); }

  // The labels of one row of the batch, whatever they are: for an error.
  static std::vector<int32_t> RowOf(const Tensor& indices, const Tensor& values, int64_t batch) {
    std::vector<int32_t> row;
    for (int64_t i = 0; i < values.NumElements(); ++i) {
      if (indices.data<int64_t>()[2 * i] == batch) row.push_back(values.data<int32_t>()[i]);
    }
    return row;
  }

  absl::StatusOr<Labels> ReadLabels(const Tensor& indices, const Tensor& values, const Sequences& s) const {
    if (indices.dims() != 2) return errors::InvalidArgument("labels_indices is not a matrix");
    if (indices.dim_size(1) != 2)
      return errors::InvalidArgument("labels_indices must have two columns, got ", indices.shape().ToString());
    if (values.dims() != 1) return errors::InvalidArgument("labels_values is not a vector");
    if (indices.dim_size(0) != values.dim_size(0)) {
      return errors::InvalidArgument(
          "labels_indices and labels_values must contain the same number of rows, but saw shapes: ",
          indices.shape().ToString(), " vs. ", values.shape().ToString());
    }
    Labels labels(s.batch);
    std::vector<bool> ended(s.batch);
    std::pair<int64_t, int64_t> last = {0, -1};
    for (int64_t i = 0; i < values.NumElements(); ++i) {
      const int64_t b = indices.data<int64_t>()[2 * i], place = indices.data<int64_t>()[2 * i + 1];
      const int32_t label = values.data<int32_t>()[i];
      if (b < 0 || b >= s.batch || place < 0) {
        return errors::InvalidArgument("label SparseTensor is not valid: indices[", i, "] = [", b, ",", place,
                                       "] is out of bounds: need 0 <= index < ", s.batch, " in the first column");
      }
      const std::pair<int64_t, int64_t> index = {b, place};
      if (index <= last) {
        return errors::InvalidArgument("label SparseTensor is not valid: indices[", i, "] = [", b, ",", place,
                                       index == last ? "] is repeated"
                                                     : "] is out of order. Many sparse ops require sorted indices.\n"
                                                       "    Use `tf.sparse.reorder` to create a correctly ordered "
                                                       "copy.\n\n");
      }
      last = index;
      if (label < 0) {
        return errors::InvalidArgument("All labels must be nonnegative integers, batch: ", b,
                                       " labels: ", absl::StrJoin(RowOf(indices, values, b), ","));
      }
      // The blank, and for the first version what is beyond it, only fills the end.
      const bool null = label == Blank(s) || (!blank_first_ && label > Blank(s));
      if (label >= s.classes && blank_first_) {
        return errors::InvalidArgument("No label may be greater than num_classes. num_classes: ", s.classes,
                                       ", batch: ", b, " labels: ", label);
      }
      if (ended[b] && !null) {
        return errors::InvalidArgument(
            "Saw a non-null label (index >= num_classes - 1) following a null label, batch: ", b,
            " num_classes: ", s.classes, " labels: ", absl::StrJoin(RowOf(indices, values, b), ","),
            " labels seen so far: ", absl::StrJoin(labels[b], ","));
      }
      ended[b] = ended[b] || null;
      if (null) continue;
      if (collapse_ && !labels[b].empty() && labels[b].back() == label) continue;
      labels[b].push_back(label);
    }
    return labels;
  }

  // A row of length zero needs labels too.
  static absl::Status CheckEachRowHasLabels(const Tensor& indices, int64_t batch) {
    std::vector<bool> has_labels(batch, false);
    for (int64_t i = 0; i < indices.dim_size(0); ++i) has_labels[indices.data<int64_t>()[2 * i]] = true;
    const auto bare = std::find(has_labels.begin(), has_labels.end(), false);
    if (bare == has_labels.end()) return absl::OkStatus();
    return errors::InvalidArgument("Labels length is zero in batch ", bare - has_labels.begin());
  }

  // The blanks between equal neighbours are not counted: without time for them the loss is infinite.
  static int64_t Required(const std::vector<int32_t>& labels) { return static_cast<int64_t>(labels.size()); }
  absl::Status CheckTime(const std::vector<int32_t>& labels, int64_t time, int64_t b) const {
    if (ignore_longer_ || Required(labels) <= time) return absl::OkStatus();
    return errors::InvalidArgument(
        "Not enough time for target transition sequence (required: ", Required(labels), ", available: ", time, ")", b,
        "You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs");
  }

  double Example(const Sequences& s, int64_t b, int64_t time, const std::vector<int32_t>& labels, const double* inputs,
                 double* gradient) const {
    std::vector<double> log_probability(time * s.classes), own(time * s.classes);
    for (int64_t t = 0; t < time; ++t) {
      const double* const x = inputs + (t * s.batch + b) * s.classes;
      const double most = *std::max_element(x, x + s.classes);
      double sum = 0;
      for (int64_t c = 0; c < s.classes; ++c) sum += std::exp(x[c] - most);
      for (int64_t c = 0; c < s.classes; ++c) log_probability[t * s.classes + c] = x[c] - most - std::log(sum);
    }
    const double loss = Alignment(log_probability.data(), time, s.classes, labels, Blank(s), merge_).Loss(own.data());
    for (int64_t t = 0; t < time; ++t) {
      std::copy_n(own.data() + t * s.classes, s.classes, gradient + (t * s.batch + b) * s.classes);
    }
    return loss;
  }

  bool blank_first_ = false, collapse_ = false, merge_ = true, ignore_longer_ = false;
};

// The best class of each moment, without blanks and, where asked, without repetitions; as one sparse tensor.
class CtcGreedyDecoderKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("merge_repeated", &merge_));
    return ctx.GetAttr("blank_index", &blank_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& lengths = ctx.input(1);
    ASSIGN_OR_RETURN(const Sequences s, Sequences::Check(ctx.input(0), lengths, absl::StatusCode::kFailedPrecondition));
    const int64_t blank = blank_ < 0 ? blank_ + s.classes : blank_;
    if (blank < 0 || blank >= s.classes) {
      return errors::InvalidArgument("blank_index expected to be between ", -s.classes, " and ", s.classes - 1,
                                     " but was ", blank_);
    }
    ASSIGN_OR_RETURN(const Tensor inputs, ConvertTensor(ctx, ctx.input(0), DT_DOUBLE));
    ASSIGN_OR_RETURN(Tensor scores, ctx.allocate_temp(DT_DOUBLE, TensorShape({s.batch, 1})));
    std::vector<int64_t> indices, values;
    int64_t longest = 0;
    for (int64_t b = 0; b < s.batch; ++b) {
      double score = 0;
      int64_t count = 0, before = -1;
      for (int64_t t = 0; t < lengths.data<int32_t>()[b]; ++t) {
        const double* const x = inputs.data<double>() + (t * s.batch + b) * s.classes;
        const int64_t best = std::max_element(x, x + s.classes) - x;
        score -= x[best];
        if (best != blank && !(merge_ && best == before)) {
          indices.push_back(b);
          indices.push_back(count++);
          values.push_back(best);
        }
        before = best;
      }
      scores.data<double>()[b] = score;
      longest = std::max(longest, count);
    }
    const int64_t n = static_cast<int64_t>(values.size());
    ASSIGN_OR_RETURN(Tensor * places, ctx.allocate_output(0, TensorShape({n, 2})));
    std::copy(indices.begin(), indices.end(), places->data<int64_t>());
    ctx.set_output(1, Tensor::Vector<int64_t>(values));
    ctx.set_output(2, Tensor::Vector<int64_t>({s.batch, longest}));
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, scores, ctx.expected_output_dtype(3)));
    ctx.set_output(3, std::move(narrow));
    return absl::OkStatus();
  }

 private:
  bool merge_ = false;
  int64_t blank_ = -1;
};

}  // namespace

absl::Status RegisterCtcKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE};
  RETURN_IF_ERROR(kernels.Register<CtcLossKernel>(Kernel("CTCLoss").Cpu().Types("T", floats)));
  RETURN_IF_ERROR(kernels.Register<CtcLossKernel>(Kernel("CTCLossV2").Cpu()));
  return kernels.Register<CtcGreedyDecoderKernel>(Kernel("CTCGreedyDecoder").Cpu().Types("T", floats));
}

}  // namespace weir
