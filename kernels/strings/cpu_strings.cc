// Strings: joining, converting, measuring, and base64.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "core/tensor/numeric_types.h"
#include "core/tensor/variant.h"
#include "kernels/containers/variant_arithmetic.h"
#include "kernels/device/parallel.h"
#include "kernels/strings/family.h"
#include "kernels/strings/unicode_case.h"

namespace weir {
namespace {

class StringJoinKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("separator", &separator_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    TensorShape shape;
    bool found = false;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const TensorShape& input = ctx.input(i).shape();
      if (input.dims() == 0) continue;
      if (found && input != shape) {
        return errors::InvalidArgument("Input shapes do not match: ", shape.ToString(), " vs. ", input.ToString());
      }
      shape = input;
      found = true;
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    for (int64_t n = 0; n < shape.num_elements(); ++n) {
      tstring& text = output->data<tstring>()[n];
      text.clear();
      for (int i = 0; i < ctx.num_inputs(); ++i) {
        if (i > 0) text += separator_;
        text += ctx.input(i).data<tstring>()[ctx.input(i).dims() == 0 ? 0 : n];
      }
    }
    return absl::OkStatus();
  }

 private:
  std::string separator_;
};

// Output 0 is fn(element) for each string; an error is that of the first element that has one.
template <typename Out, typename Fn>
absl::Status MapStrings(OpKernelContext& ctx, Fn fn) {
  const Tensor input = ctx.input(0);
  const tstring* const in = input.data<tstring>();
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
  Out* const out = output->data<Out>();
  std::mutex mutex;
  absl::Status status;
  int64_t failed = input.NumElements();
  ParallelRanges(ctx, input.NumElements(), 20'000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      absl::Status one = fn(in[i], &out[i]);
      if (one.ok()) continue;
      std::lock_guard<std::mutex> lock(mutex);
      if (i < failed) status = std::move(one);
      failed = std::min(failed, i);
      return;
    }
  });
  return status;
}

// Bytes that start a character: all but those of the form 10xxxxxx.
int32_t CountCharacters(const std::string& text) {
  return static_cast<int32_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

class StringLengthKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string unit;
    RETURN_IF_ERROR(ctx.GetAttr("unit", &unit));
    characters_ = unit == "UTF8_CHAR";
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    return MapStrings<int32_t>(ctx, [this](const tstring& in, int32_t* out) {
      *out = characters_ ? CountCharacters(in) : static_cast<int32_t>(in.size());
      return absl::OkStatus();
    });
  }

 private:
  bool characters_ = false;
};

void Lower(std::string* text) { absl::AsciiStrToLower(text); }
void Upper(std::string* text) { absl::AsciiStrToUpper(text); }
void Strip(std::string* text) { absl::StripAsciiWhitespace(text); }

// ASCII letters only, unless the encoding is UTF-8.
template <void (*kChange)(std::string*), void (*kChangeUtf8)(std::string*)>
class ChangeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string encoding;
    if (ctx.HasAttr("encoding")) RETURN_IF_ERROR(ctx.GetAttr("encoding", &encoding));
    if (!encoding.empty() && encoding != "utf-8") {
      return errors::InvalidArgument("only utf-8 or '' (no encoding) is supported, received ", encoding);
    }
    if (encoding == "utf-8") change_ = kChangeUtf8;
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    return MapStrings<tstring>(ctx, [this](const tstring& in, tstring* out) {
      *out = in;
      change_(out);
      return absl::OkStatus();
    });
  }

 private:
  void (*change_)(std::string*) = kChange;
};

template <typename T>
bool ParseNumber(absl::string_view text, T* value) {
  if constexpr (std::is_same_v<T, float>) return absl::SimpleAtof(text, value);
  if constexpr (std::is_same_v<T, double>) return absl::SimpleAtod(text, value);
  if constexpr (std::is_integral_v<T>) return absl::SimpleAtoi(text, value);
}

template <typename T>
class StringToNumberKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    return MapStrings<T>(ctx, [](const tstring& in, T* out) {
      if (ParseNumber(in, out)) return absl::OkStatus();
      return errors::InvalidArgument("StringToNumberOp could not correctly convert string: ", in);
    });
  }
};

class AsStringKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    DataType type;
    int64_t width, precision;
    bool scientific, shortest;
    std::string fill;
    RETURN_IF_ERROR(ctx.GetAttr("T", &type));
    RETURN_IF_ERROR(ctx.GetAttr("precision", &precision));
    RETURN_IF_ERROR(ctx.GetAttr("scientific", &scientific));
    RETURN_IF_ERROR(ctx.GetAttr("shortest", &shortest));
    RETURN_IF_ERROR(ctx.GetAttr("width", &width));
    RETURN_IF_ERROR(ctx.GetAttr("fill", &fill));
    const bool decimal = IsFloating(type) || IsComplex(type);
    // Notations are checked first; a string has none.
    const bool words = type == DT_STRING;
    if ((scientific || shortest) && !decimal && !words) {
      return errors::InvalidArgument("scientific and shortest format not supported for datatype ", DataTypeName(type));
    }
    if (scientific && shortest) {
      return errors::InvalidArgument("Cannot select both scientific and shortest notation");
    }
    if (fill.size() > 1) return errors::InvalidArgument("Fill string must be one or fewer characters");
    if (!fill.empty() && absl::string_view(" +-0#").find(fill[0]) == absl::string_view::npos) {
      return errors::InvalidArgument("Fill argument not supported: \"", fill, "\"");
    }
    if (precision >= 0 && !decimal && !words) {
      return errors::InvalidArgument("precision not supported for datatype ", DataTypeName(type));
    }
    if (!decimal && !IsInteger(type) && type != DT_BOOL && type != DT_STRING && type != DT_VARIANT) {
      return errors::InvalidArgument("AsString does not take ", DataTypeName(type));
    }
    constexpr int64_t kMost = 4096;
    if (width > kMost || precision > kMost) return errors::InvalidArgument("width and precision must be below ", kMost);
    format_ = absl::StrCat("%", fill, width > -1 ? absl::StrCat(width) : "",
                           precision > -1 ? absl::StrCat(".", precision) : "");
    plain_ = format_ == "%";
    width_ = width;
    left_ = fill == "-";
    notation_ = scientific ? "e" : shortest ? "g" : "f";
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in.shape()));
    tstring* const out = output->data<tstring>();
    ParallelRanges(ctx, in.NumElements(), plain_ ? 20'000 : 200'000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = Format(in, i);
    });
    return absl::OkStatus();
  }

 private:
  // `format_` was put together from checked parts.
  template <typename T>
  std::string Print(const char* conversion, T value) const {
    const std::string format = absl::StrCat(format_, conversion);
    char text[128];
    const int size = std::snprintf(text, sizeof(text), format.c_str(), value);
    if (size < static_cast<int>(sizeof(text))) return std::string(text, std::max(size, 0));
    std::string longer(size, '\0');
    std::snprintf(longer.data(), longer.size() + 1, format.c_str(), value);
    return longer;
  }
  std::string Decimal(double value) const { return Print(notation_, value); }

  std::string Format(const Tensor& in, int64_t i) const {
    switch (in.dtype()) {
#define WEIR_CASE(T)                                           \
  case DataTypeOf<T>():                                        \
    if (plain_) return absl::StrCat(int64_t{in.data<T>()[i]}); \
    return Print("lld", static_cast<long long>(in.data<T>()[i]));
      WEIR_FOR_SIGNED_INTEGERS(WEIR_CASE)
#undef WEIR_CASE
#define WEIR_CASE(T)                                            \
  case DataTypeOf<T>():                                         \
    if (plain_) return absl::StrCat(uint64_t{in.data<T>()[i]}); \
    return Print("llu", static_cast<unsigned long long>(in.data<T>()[i]));
      WEIR_FOR_UNSIGNED_INTEGERS(WEIR_CASE)
#undef WEIR_CASE
      case DT_FLOAT:
        return Decimal(in.data<float>()[i]);
      case DT_DOUBLE:
        return Decimal(in.data<double>()[i]);
      case DT_HALF:
        return Decimal(static_cast<float>(in.data<half>()[i]));
      case DT_BFLOAT16:
        return Decimal(static_cast<float>(in.data<bfloat16>()[i]));
      case DT_COMPLEX64:
        return Pair(in.data<complex64>()[i].real(), in.data<complex64>()[i].imag());
      case DT_COMPLEX128:
        return Pair(in.data<complex128>()[i].real(), in.data<complex128>()[i].imag());
      case DT_BOOL:
        return std::string(in.data<bool>()[i] ? "true" : "false");
      case DT_STRING:
        return Padded(in.data<tstring>()[i]);
      case DT_VARIANT:
        return VariantText(in.data<Variant>()[i]);
      default:  // Init refuses the rest
        return std::string();
    }
  }
  // A text may hold any bytes.
  std::string Padded(absl::string_view text) const {
    const std::string padding(std::max<int64_t>(0, width_ - static_cast<int64_t>(text.size())), ' ');
    return left_ ? absl::StrCat(text, padding) : absl::StrCat(padding, text);
  }
  std::string Pair(double re, double im) const { return absl::StrCat("(", Decimal(re), ",", Decimal(im), ")"); }

  std::string format_;
  int64_t width_ = -1;
  bool left_ = false;   // padded behind
  bool plain_ = false;  // integers without width, precision and fill
  const char* notation_ = "f";
};

// The alphabet that is safe in addresses.
constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

class EncodeBase64Kernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("pad", &pad_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    return MapStrings<tstring>(ctx, [this](const tstring& in, tstring* out) {
      out->clear();
      for (size_t i = 0; i < in.size(); i += 3) {
        const size_t count = std::min<size_t>(3, in.size() - i);
        uint32_t bits = 0;
        for (size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < count ? static_cast<unsigned char>(in[i + j]) : 0);
        for (size_t j = 0; j <= count; ++j) out->push_back(kBase64[bits >> (18 - 6 * j) & 63]);
        if (pad_) out->append(3 - count, '=');
      }
      return absl::OkStatus();
    });
  }

 private:
  bool pad_ = false;
};

class DecodeBase64Kernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    return MapStrings<tstring>(ctx, [](const tstring& in, tstring* out) {
      absl::string_view text = in;
      for (int i = 0; i < 2 && !text.empty() && text.back() == '=' && in.size() % 4 == 0; ++i) text.remove_suffix(1);
      if (text.size() % 4 == 1) return errors::InvalidArgument("Base64 string length cannot be 1 modulo 4.");
      out->clear();
      uint32_t bits = 0;
      int have = 0;
      for (char c : text) {
        const char* const found = c == '\0' ? nullptr : std::strchr(kBase64, c);
        if (found == nullptr) return errors::InvalidArgument("Invalid character found in base64.");
        bits = bits << 6 | static_cast<uint32_t>(found - kBase64);
        have += 6;
        if (have >= 8) {
          have -= 8;
          out->push_back(static_cast<char>(bits >> have & 255));
        }
      }
      return absl::OkStatus();
    });
  }
};

}  // namespace

absl::Status RegisterStringKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<StringJoinKernel>(Kernel("StringJoin").Cpu()));
  RETURN_IF_ERROR(kernels.Register<StringLengthKernel>(Kernel("StringLength").Cpu()));
  RETURN_IF_ERROR((kernels.Register<ChangeKernel<&Lower, &LowerUtf8>>(Kernel("StringLower").Cpu())));
  RETURN_IF_ERROR((kernels.Register<ChangeKernel<&Upper, &UpperUtf8>>(Kernel("StringUpper").Cpu())));
  RETURN_IF_ERROR((kernels.Register<ChangeKernel<&Strip, &Strip>>(Kernel("StringStrip").Cpu())));
#define WEIR_REGISTER(T) \
  RETURN_IF_ERROR(kernels.Register<StringToNumberKernel<T>>(Kernel("StringToNumber").Cpu().Type<T>("out_type")));
  WEIR_REGISTER(float)
  WEIR_REGISTER(double)
  WEIR_REGISTER(int32_t)
  // clang-format off
  WEIR_REGISTER(int64_t) WEIR_REGISTER(uint32_t) WEIR_REGISTER(uint64_t)
  // clang-format on
#undef WEIR_REGISTER
      RETURN_IF_ERROR(kernels.Register<AsStringKernel>(Kernel("AsString").Cpu()));
  RETURN_IF_ERROR(kernels.Register<EncodeBase64Kernel>(Kernel("EncodeBase64").Cpu()));
  return kernels.Register<DecodeBase64Kernel>(Kernel("DecodeBase64").Cpu());
}

}  // namespace weir
