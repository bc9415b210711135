// Text in any encoding as code points and back, by ICU.
#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/ucnv_err.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <functional>
#include <memory>

#include "core/tensor/index_tensor.h"
#include "kernels/strings/family.h"

namespace weir {
namespace {

// What to do with bytes or code points that stand for nothing.
struct ErrorOptions {
  absl::Status Read(OpKernelConstruction& ctx) {
    std::string errors;
    int64_t code;
    RETURN_IF_ERROR(ctx.GetAttr("errors", &errors));
    RETURN_IF_ERROR(ctx.GetAttr("replacement_char", &code));
    if (code < UCHAR_MIN_VALUE || code > UCHAR_MAX_VALUE) {
      return errors::InvalidArgument("replacement_char out of unicode codepoint range: ", code);
    }
    replacement = static_cast<UChar32>(code);
    strict = errors == "strict";
    ignore = errors == "ignore";
    if (ctx.HasAttr("replace_control_characters")) {
      RETURN_IF_ERROR(ctx.GetAttr("replace_control_characters", &replace_controls));
    }
    return absl::OkStatus();
  }

  bool strict = false, ignore = false, replace_controls = false;
  bool controls_are_errors = false;  // where control characters are replaced and errors are strict
  UChar32 replacement = 0xFFFD;
};

using Converter = std::unique_ptr<UConverter, decltype(&ucnv_close)>;

absl::StatusOr<Converter> OpenConverter(const std::string& encoding) {
  UErrorCode status = U_ZERO_ERROR;
  Converter converter(ucnv_open(encoding.c_str(), &status), &ucnv_close);
  if (U_FAILURE(status)) {
    return errors::InvalidArgument("Could not create converter for input encoding: ", encoding);
  }
  return converter;
}

// Notes in *context that bytes stood for nothing, and puts U+FFFD for them.
void NoteError(const void* context, UConverterToUnicodeArgs* args, const char* units, int32_t length,
               UConverterCallbackReason reason, UErrorCode* status) {
  if (reason == UCNV_UNASSIGNED || reason == UCNV_ILLEGAL || reason == UCNV_IRREGULAR) {
    *const_cast<bool*>(static_cast<const bool*>(context)) = true;
  }
  UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, args, units, length, reason, status);
}

// Calls emit(code point, byte at which it starts) for each that remains under the options.
absl::Status Decode(UConverter* converter, const std::string& text, const ErrorOptions& options,
                    const std::function<void(UChar32, int64_t)>& emit) {
  UErrorCode status = U_ZERO_ERROR;
  bool malformed = false;
  ucnv_reset(converter);
  ucnv_setToUCallBack(converter, &NoteError, &malformed, nullptr, nullptr, &status);
  if (U_FAILURE(status)) return errors::Internal("ICU refuses a callback: ", u_errorName(status));
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const char* const begin = at;
    malformed = false;
    UChar32 code = ucnv_getNextUChar(converter, &at, end, &status);
    if (U_FAILURE(status)) at = end;
    if (malformed && options.strict) return errors::InvalidArgument("Invalid formatting on input string");
    if (malformed || (options.replace_controls && code <= 0x1F)) {
      if (options.strict && options.controls_are_errors) {
        return errors::InvalidArgument("Invalid formatting on input string");
      }
      if (options.ignore) continue;
      code = options.replacement;
    }
    emit(code, begin - text.data());
  }
  return absl::OkStatus();
}

enum class Encoding { kUtf8, kUtf16, kUtf32 };

absl::StatusOr<Encoding> ParseEncoding(const std::string& name) {
  if (name == "UTF-8") return Encoding::kUtf8;
  if (name == "UTF-16-BE") return Encoding::kUtf16;
  if (name == "UTF-32-BE") return Encoding::kUtf32;
  return errors::InvalidArgument("output_encoding must be one of {UTF-8, UTF-16-BE, UTF-32-BE}, got ", name);
}

tstring Encode(const icu::UnicodeString& text, Encoding encoding) {
  std::string result;
  const auto append = [&result](uint32_t value, int bytes) {
    while (bytes-- > 0) result.push_back(static_cast<char>(value >> (8 * bytes)));
  };
  switch (encoding) {
    case Encoding::kUtf8:
      text.toUTF8String(result);
      break;
    case Encoding::kUtf16:
      for (int32_t i = 0; i < text.length(); ++i) append(text.charAt(i), 2);
      break;
    case Encoding::kUtf32:
      for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) append(text.char32At(i), 4);
      break;
  }
  return result;
}

template <bool kOffsets>
class UnicodeDecodeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(options_.Read(ctx));
    RETURN_IF_ERROR(ctx.GetAttr("input_encoding", &encoding_));
    return OpenConverter(encoding_).status();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Converter converter, OpenConverter(encoding_));
    DimVector splits = {0};
    std::vector<int32_t> codes;
    std::vector<int64_t> starts;
    for (const tstring& text : input.flat<tstring>()) {
      RETURN_IF_ERROR(Decode(converter.get(), text, options_, [&](UChar32 code, int64_t start) {
        codes.push_back(code);
        if (kOffsets) starts.push_back(start);
      }));
      splits.push_back(codes.size());
    }
    ASSIGN_OR_RETURN(Tensor * row_splits, ctx.allocate_output(0, TensorShape({static_cast<int64_t>(splits.size())})));
    ctx.set_output(1, Tensor::Vector<int32_t>(codes));
    if (kOffsets) ctx.set_output(2, Tensor::Vector<int64_t>(starts));
    return WriteIntegers(splits, row_splits);
  }

 private:
  ErrorOptions options_;
  std::string encoding_;
};

// input_values, input_splits: a string for each row.
class UnicodeEncodeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string encoding;
    RETURN_IF_ERROR(options_.Read(ctx));
    RETURN_IF_ERROR(ctx.GetAttr("output_encoding", &encoding));
    ASSIGN_OR_RETURN(encoding_, ParseEncoding(encoding));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).dims() != 1 || ctx.input(1).dims() != 1) {
      return errors::InvalidArgument("Both the input_tensor and input_splits should be of rank 1. Got shapes ",
                                     ctx.input(0).shape().ToString(), " and ", ctx.input(1).shape().ToString());
    }
    const absl::Span<const int32_t> codes = ctx.input(0).flat<int32_t>();
    ASSIGN_OR_RETURN(const DimVector splits, ReadIntegers(ctx.input(1)));
    if (splits.empty())
      return errors::InvalidArgument("Input_splits should contain elements, but given input_values has 0 elements");
    if (splits[0] != 0) return errors::InvalidArgument("First value in input_splits must be zero.");
    if (splits.back() != static_cast<int64_t>(codes.size())) {
      return errors::InvalidArgument("Last value in input_splits must be equal to length of input_tensor.");
    }
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1]) {
        return errors::InvalidArgument("Values in input_splits must be equal or in ascending order.");
      }
    }
    const int64_t rows = static_cast<int64_t>(splits.size()) - 1;
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({rows})));
    for (int64_t row = 0; row < rows; ++row) {
      icu::UnicodeString text;
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        UChar32 code = codes[i];
        if (!IsCodePoint(code)) {
          if (options_.strict) {
            return errors::InvalidArgument("Code point is out of range for Unicode, or is a surrogate.");
          }
          if (options_.ignore) continue;
          code = options_.replacement;
        }
        if (IsCodePoint(code)) text.append(code);
      }
      output->data<tstring>()[row] = Encode(text, encoding_);
    }
    return absl::OkStatus();
  }

 private:
  // Also those that stand for no character.
  static bool IsCodePoint(UChar32 code) { return code >= 0 && code <= UCHAR_MAX_VALUE && !U_IS_SURROGATE(code); }

  ErrorOptions options_;
  Encoding encoding_ = Encoding::kUtf8;
};

class UnicodeTranscodeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string output;
    RETURN_IF_ERROR(options_.Read(ctx));
    options_.controls_are_errors = true;
    RETURN_IF_ERROR(ctx.GetAttr("input_encoding", &input_encoding_));
    RETURN_IF_ERROR(ctx.GetAttr("output_encoding", &output));
    ASSIGN_OR_RETURN(output_encoding_, ParseEncoding(output));
    return OpenConverter(input_encoding_).status();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    ASSIGN_OR_RETURN(const Converter converter, OpenConverter(input_encoding_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      icu::UnicodeString text;
      RETURN_IF_ERROR(Decode(converter.get(), input.data<tstring>()[i], options_,
                             [&text](UChar32 code, int64_t) { text.append(code); }));
      output->data<tstring>()[i] = Encode(text, output_encoding_);
    }
    return absl::OkStatus();
  }

 private:
  ErrorOptions options_;
  std::string input_encoding_;
  Encoding output_encoding_ = Encoding::kUtf8;
};

// The number of the script that each code point belongs to; -1: not a code point.
class UnicodeScriptKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      UErrorCode status = U_ZERO_ERROR;
      const UScriptCode script = uscript_getScript(input.data<int32_t>()[i], &status);
      output->data<int32_t>()[i] = U_SUCCESS(status) ? script : USCRIPT_INVALID_CODE;
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterUnicodeKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<UnicodeDecodeKernel<false>>(Kernel("UnicodeDecode").Cpu()));
  RETURN_IF_ERROR(kernels.Register<UnicodeDecodeKernel<true>>(Kernel("UnicodeDecodeWithOffsets").Cpu()));
  RETURN_IF_ERROR(kernels.Register<UnicodeEncodeKernel>(Kernel("UnicodeEncode").Cpu()));
  RETURN_IF_ERROR(kernels.Register<UnicodeTranscodeKernel>(Kernel("UnicodeTranscode").Cpu()));
  return kernels.Register<UnicodeScriptKernel>(Kernel("UnicodeScript").Cpu());
}

}  // namespace weir
