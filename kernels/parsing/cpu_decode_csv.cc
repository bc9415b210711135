#include "absl/strings/numbers.h"

#include "kernels/parsing/family.h"

namespace weir {
namespace {

// How records are divided into fields.
struct CsvFormat {
  char delimiter = ',';
  bool quotes = true;
  std::vector<int64_t> selected;  // ascending; empty: all fields
};

// Reads the fields of one record from front to back.
class FieldReader {
 public:
  FieldReader(const CsvFormat& format, absl::string_view record) : format_(format), record_(record) {}

  absl::Status Read(std::vector<std::string>* fields) {
    if (record_.empty()) return absl::OkStatus();
    while (at_ < record_.size()) {
      if (IsLineEnd(record_[at_])) {
        ++at_;
        continue;
      }
      std::string field;
      RETURN_IF_ERROR(format_.quotes && record_[at_] == '"' ? ReadQuoted(&field) : ReadPlain(&field));
      if (IsWanted(fields->size())) fields->push_back(std::move(field));
      ++read_;
      if (!format_.selected.empty() && fields->size() == format_.selected.size()) return absl::OkStatus();
    }
    // A delimiter at the end stands before one more, empty field.
    if (record_.back() == format_.delimiter && IsWanted(fields->size())) fields->emplace_back();
    return absl::OkStatus();
  }

 private:
  static bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }
  bool IsWanted(size_t taken) const { return format_.selected.empty() || format_.selected[taken] == read_; }

  absl::Status ReadPlain(std::string* field) {
    for (; at_ < record_.size() && record_[at_] != format_.delimiter; ++at_) {
      if ((format_.quotes && record_[at_] == '"') || IsLineEnd(record_[at_])) {
        return errors::InvalidArgument("Unquoted fields cannot have quotes/CRLFs inside");
      }
      field->push_back(record_[at_]);
    }
    ++at_;
    return absl::OkStatus();
  }

  // Up to a quote that stands before a delimiter or the end.
  absl::Status ReadQuoted(std::string* field) {
    ++at_;
    const size_t last = record_.size() - 1;
    while (at_ < last && (record_[at_] != '"' || record_[at_ + 1] != format_.delimiter)) {
      if (record_[at_] == '"') {
        if (record_[at_ + 1] != '"') {
          return errors::InvalidArgument("Quote inside a string has to be escaped by another quote");
        }
        ++at_;
      }
      field->push_back(record_[at_++]);
    }
    if (at_ > last || record_[at_] != '"' || (at_ < last && record_[at_ + 1] != format_.delimiter)) {
      return errors::InvalidArgument("Quoted field has to end with quote followed by delim or end");
    }
    at_ += 2;
    return absl::OkStatus();
  }

  const CsvFormat& format_;
  const absl::string_view record_;
  size_t at_ = 0;
  int64_t read_ = 0;  // fields, those that are left out too
};

template <typename T>
bool Parse(const std::string& text, T* value) {
  if constexpr (std::is_same_v<T, float>) return absl::SimpleAtof(text, value);
  if constexpr (std::is_same_v<T, double>) return absl::SimpleAtod(text, value);
  if constexpr (std::is_integral_v<T>) return absl::SimpleAtoi(text, value);
  if constexpr (std::is_same_v<T, tstring>) {
    *value = text;
    return true;
  }
}

// Records, and a default for each field; one without elements makes the field required.
class DecodeCsvKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string delimiter;
    RETURN_IF_ERROR(ctx.GetAttr("OUT_TYPE", &types_));
    RETURN_IF_ERROR(ctx.GetAttr("field_delim", &delimiter));
    RETURN_IF_ERROR(ctx.GetAttr("use_quote_delim", &format_.quotes));
    RETURN_IF_ERROR(ctx.GetAttr("select_cols", &format_.selected));
    RETURN_IF_ERROR(ctx.GetAttr("na_value", &na_value_));
    if (delimiter.size() != 1) return errors::InvalidArgument("field_delim should be only 1 char");
    format_.delimiter = delimiter[0];
    const std::vector<int64_t>& selected = format_.selected;
    if (!selected.empty() && selected.size() != types_.size()) {
      return errors::InvalidArgument("select_cols should match output size");
    }
    for (size_t i = 0; i < selected.size(); ++i) {
      if (selected[i] < 0) return errors::InvalidArgument("select_cols should be non-negative indices");
      if (i > 0 && selected[i] <= selected[i - 1]) {
        return errors::InvalidArgument("select_cols should be strictly increasing indices");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor records = ctx.input(0);
    const int fields = static_cast<int>(types_.size());
    for (int f = 0; f < fields; ++f) {
      if (ctx.input(f + 1).dims() > 1)
        return errors::InvalidArgument("Shape must be at most rank 1 but is rank ", ctx.input(f + 1).dims());
      if (ctx.input(f + 1).NumElements() > 1) {
        return errors::InvalidArgument("There should only be 1 default per field but field ", f, " has ",
                                       ctx.input(f + 1).NumElements());
      }
      RETURN_IF_ERROR(ctx.allocate_output(f, records.shape()).status());
    }
    std::vector<std::string> texts;
    for (int64_t i = 0; i < records.NumElements(); ++i) {
      texts.clear();
      RETURN_IF_ERROR(FieldReader(format_, records.data<tstring>()[i]).Read(&texts));
      if (static_cast<int>(texts.size()) != fields) {
        return errors::InvalidArgument("Expect ", fields, " fields but have ", texts.size(), " in record ", i);
      }
      for (int f = 0; f < fields; ++f) RETURN_IF_ERROR(SetField(ctx, f, i, texts[f]));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status SetField(OpKernelContext& ctx, int field, int64_t record, const std::string& text) const {
    switch (types_[field]) {
      case DT_INT32:
        return Set<int32_t>(ctx, field, record, text);
      case DT_INT64:
        return Set<int64_t>(ctx, field, record, text);
      case DT_FLOAT:
        return Set<float>(ctx, field, record, text);
      case DT_DOUBLE:
        return Set<double>(ctx, field, record, text);
      case DT_STRING:
        return Set<tstring>(ctx, field, record, text);
      default:
        return errors::InvalidArgument("csv: data type ", DataTypeName(types_[field]), " not supported in field ",
                                       field);
    }
  }

  template <typename T>
  absl::Status Set(OpKernelContext& ctx, int field, int64_t record, const std::string& text) const {
    T* const out = ctx.mutable_output(field)->data<T>() + record;
    const Tensor& initial = ctx.input(field + 1);
    if (text.empty() || text == na_value_) {
      if (initial.NumElements() != 1) {
        return errors::InvalidArgument("Field ", field, " is required but missing in record ", record, "!");
      }
      *out = initial.data<T>()[0];
      return absl::OkStatus();
    }
    if (Parse(text, out)) return absl::OkStatus();
    return errors::InvalidArgument("Field ", field, " in record ", record, " is not a valid ",
                                   DataTypeName(types_[field]), ": ", text);
  }

  DataTypeVector types_;
  CsvFormat format_;
  std::string na_value_;
};

}  // namespace

absl::Status RegisterDecodeCsvKernels(KernelRegistry& kernels) {
  return kernels.Register<DecodeCsvKernel>(Kernel("DecodeCSV").Cpu());
}

}  // namespace weir
