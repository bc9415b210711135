// SampleDistortedBoundingBox: a random part of an image, of a shape and size within bounds, that shows enough of one of
// the objects in it. Draws and arithmetic are TensorFlow's: equal seeds give equal boxes.
#include <cmath>
#include <vector>

#include "core/tensor/index_tensor.h"
#include "kernels/image/family.h"
#include "kernels/random/random_fill.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

struct Rectangle {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
  float Area() const { return static_cast<float>((right - left) * (bottom - top)); }
  float Common(const Rectangle& other) const {
    const Rectangle both{std::max(left, other.left), std::max(top, other.top), std::min(right, other.right),
                         std::min(bottom, other.bottom)};
    return both.left >= both.right || both.top >= both.bottom ? 0 : both.Area();
  }
};

class Draws {
 public:
  explicit Draws(const Philox& stream) : words_(stream) {}
  float Fraction() { return UniformFloat(words_.Next()); }
  uint32_t Below(uint32_t n) {
    return DrawBelow(n, [this] { return words_.Next(); });
  }

 private:
  SingleSamples words_;
};

struct Bounds {
  float least_area = 0, most_area = 1;  // as parts of the image's
};

// A part of that aspect ratio; false where none fits.
bool Sample(int64_t width, int64_t height, const Bounds& bounds, float aspect, Draws& draws, Rectangle* out) {
  if (!(bounds.most_area > 0) || !(aspect > 0) || bounds.least_area > bounds.most_area) return false;
  const auto width_of = [&](int64_t rows) { return std::lrint(static_cast<float>(rows) * aspect); };
  const float w = static_cast<float>(width), h = static_cast<float>(height);
  const float least = bounds.least_area * w * h, most = bounds.most_area * w * h;
  int64_t rows = std::lrint(std::sqrt(least / aspect)), most_rows = std::lrint(std::sqrt(most / aspect));
  if (width_of(most_rows) > width) {
    most_rows = static_cast<int64_t>((w + 0.5f - 0.0000001f) / aspect);
  }
  most_rows = std::min(most_rows, height);
  rows = std::min(rows, most_rows);
  if (rows < most_rows) rows += draws.Below(static_cast<uint32_t>(most_rows - rows + 1));
  int64_t columns = width_of(rows);
  const auto area = [&] { return static_cast<float>(columns * rows); };
  // Rounding may have left the bounds by a row.
  if (area() < least) columns = width_of(++rows);
  if (area() > most) columns = width_of(--rows);
  if (area() < least || area() > most || columns > width || rows > height || columns <= 0 || rows <= 0) return false;
  const int64_t top = rows < height ? draws.Below(static_cast<uint32_t>(height - rows)) : 0;
  const int64_t left = columns < width ? draws.Below(static_cast<uint32_t>(width - columns)) : 0;
  *out = {left, top, left + columns, top + rows};
  return true;
}

bool ShowsEnough(const Rectangle& part, const std::vector<Rectangle>& objects, float least) {
  if (part.Area() < 1) return false;
  for (const Rectangle& object : objects) {
    if (object.Area() >= 1 && part.Common(object) / object.Area() >= least) return true;
  }
  return false;
}

class SampleDistortedBoxKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    stateless_ = ctx.op() == "StatelessSampleDistortedBoundingBox";
    if (!stateless_) RETURN_IF_ERROR(generator_.Init(ctx));
    if (ctx.HasAttr("min_object_covered")) {
      has_covered_ = true;
      RETURN_IF_ERROR(ctx.GetAttr("min_object_covered", &covered_));
      RETURN_IF_ERROR(CheckCovered(covered_));
    }
    RETURN_IF_ERROR(ctx.GetAttr("use_image_if_no_bounding_boxes", &use_image_));
    RETURN_IF_ERROR(ctx.GetAttr("aspect_ratio_range", &aspects_));
    RETURN_IF_ERROR(ctx.GetAttr("area_range", &areas_));
    RETURN_IF_ERROR(ctx.GetAttr("max_attempts", &attempts_));
    if (aspects_.size() != 2) {
      return errors::InvalidArgument("Aspect ratio range field must specify 2 dimensions");
    }
    if (!(aspects_[0] > 0) || !(aspects_[1] > 0)) {
      return errors::InvalidArgument("Aspect ratio range must be non-negative: [", aspects_[0], ", ", aspects_[1], "]");
    }
    if (areas_.size() != 2) return errors::InvalidArgument("Area range field must specify 2 dimensions");
    if (!(areas_[0] > 0) || !(areas_[1] > 0) || !(areas_[0] <= 1) || !(areas_[1] <= 1)) {
      return errors::InvalidArgument("Area range must be within (0, 1]: [", areas_[0], ", ", areas_[1], "]");
    }
    constexpr int64_t kMostAttempts = 1 << 24;
    if (attempts_ > 0 && attempts_ <= kMostAttempts) return absl::OkStatus();
    return errors::InvalidArgument("Max attempts must be non-negative: ", attempts_, ". Between 1 and ", kMostAttempts,
                                   " are supported.");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& size = ctx.input(0);
    if (size.dims() != 1) {
      return errors::InvalidArgument("image_size must be 1-dimensional", size.shape().ToString());
    }
    if (size.dim_size(0) != 3)
      return errors::InvalidArgument("image_size must contain 3 elements", size.shape().ToString());
    ASSIGN_OR_RETURN(const DimVector sizes, ReadIntegers(size));
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const int64_t height = sizes[0], width = sizes[1];
    if (height <= 0 || height > kMost) return errors::InvalidArgument("image height must be >= 0, got ", height);
    if (width <= 0 || width > kMost) return errors::InvalidArgument("image width must be >= 0, got ", width);
    float covered = covered_;
    if (!has_covered_) {
      const Tensor& least = ctx.input(2);
      if (least.dims() != 0) {
        return errors::InvalidArgument("min_object_covered must be 0-D, got shape ", least.shape().ToString());
      }
      covered = least.scalar<float>();
      if (!(covered >= 0)) return errors::InvalidArgument("Min object covered must be non-negative: ", covered);
    }
    ASSIGN_OR_RETURN(std::vector<Rectangle> objects, ReadObjects(ctx.input(1), height, width));
    const Rectangle image{0, 0, width, height};
    if (objects.empty()) {
      if (!use_image_) {
        return errors::InvalidArgument("No bounding boxes provided as input. One must enable ",
                                       "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes.");
      }
      objects.push_back(image);
    }
    Philox stream;
    if (stateless_) {
      ASSIGN_OR_RETURN(stream, PhiloxFromSeed(ctx.input(3)));
    } else {
      stream = generator_.Reserve(attempts_);
    }
    Draws draws(stream);
    Rectangle part = image;
    for (int64_t i = 0; i < attempts_; ++i) {
      const float aspect = draws.Fraction() * (aspects_[1] - aspects_[0]) + aspects_[0];
      Rectangle sample;
      if (Sample(width, height, {areas_[0], areas_[1]}, aspect, draws, &sample) &&
          ShowsEnough(sample, objects, covered)) {
        part = sample;
        break;
      }
    }
    return SetOutputs(ctx, part, height, width);
  }

 private:
  static absl::Status CheckCovered(float covered) {
    if (covered >= 0 && covered <= 1) return absl::OkStatus();
    return errors::InvalidArgument("Min object covered must be non-negative: ", covered, ", and not exceed 1");
  }

  static absl::StatusOr<std::vector<Rectangle>> ReadObjects(const Tensor& boxes, int64_t height, int64_t width) {
    std::vector<Rectangle> objects;
    if (boxes.dims() != 3) {
      return errors::InvalidArgument("input boxes must be 3-dimensional [batch, num_boxes, coords]: ",
                                     boxes.shape().ToString());
    }
    if (boxes.dim_size(2) != 4) {
      return errors::InvalidArgument("bounding boxes must have shape [4] or [*, 4], got ", boxes.shape().ToString());
    }
    if (boxes.NumElements() == 0) return objects;
    for (int64_t i = 0; i < boxes.NumElements() / 4; ++i) {
      const float* const box = boxes.data<float>() + 4 * i;
      for (int j = 0; j < 4; ++j) {
        if (!(box[j] >= 0) || !(box[j] <= 1)) {
          return errors::InvalidArgument("All bounding box coordinates must be in [0.0, 1.0]: ", box[j]);
        }
      }
      const auto scale = [](float part, int64_t whole) {
        return static_cast<int64_t>(part * static_cast<float>(whole));
      };
      objects.push_back({scale(box[1], width), scale(box[0], height), scale(box[3], width), scale(box[2], height)});
    }
    return objects;
  }

  static absl::Status SetOutputs(OpKernelContext& ctx, const Rectangle& part, int64_t height, int64_t width) {
    ASSIGN_OR_RETURN(Tensor * begin, ctx.allocate_output(0, TensorShape({3})));
    ASSIGN_OR_RETURN(Tensor * size, ctx.allocate_output(1, TensorShape({3})));
    ASSIGN_OR_RETURN(Tensor * box, ctx.allocate_output(2, TensorShape({1, 1, 4})));
    RETURN_IF_ERROR(Write({part.top, part.left, 0}, begin));
    RETURN_IF_ERROR(Write({part.bottom - part.top, part.right - part.left, -1}, size));
    const float h = static_cast<float>(height), w = static_cast<float>(width);
    float* const corners = box->data<float>();
    corners[0] = static_cast<float>(part.top) / h;
    corners[1] = static_cast<float>(part.left) / w;
    corners[2] = static_cast<float>(part.bottom) / h;
    corners[3] = static_cast<float>(part.right) / w;
    return absl::OkStatus();
  }
  // Eight bits too; -1 is 255 where they have no sign.
  static absl::Status Write(absl::Span<const int64_t> values, Tensor* out) {
    for (int i = 0; i < 3; ++i) {
      if (out->dtype() == DT_UINT8) out->data<uint8_t>()[i] = static_cast<uint8_t>(values[i]);
      if (out->dtype() == DT_INT8) out->data<int8_t>()[i] = static_cast<int8_t>(values[i]);
    }
    return out->dtype() == DT_UINT8 || out->dtype() == DT_INT8 ? absl::OkStatus() : WriteIntegers(values, out);
  }

  bool stateless_ = false, has_covered_ = false, use_image_ = false;
  float covered_ = 0;
  std::vector<float> aspects_, areas_;
  int64_t attempts_ = 0;
  GuardedPhilox generator_;
};

}  // namespace

absl::Status RegisterDistortedBoxKernels(KernelRegistry& kernels) {
  for (const char* op :
       {"SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatelessSampleDistortedBoundingBox"}) {
    RETURN_IF_ERROR(kernels.Register<SampleDistortedBoxKernel>(
        Kernel(op).Cpu().Types("T", {DT_UINT8, DT_INT8, DT_INT16, DT_INT32, DT_INT64})));
  }
  return absl::OkStatus();
}

}  // namespace weir
