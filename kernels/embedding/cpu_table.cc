// Embedding tables themselves, and what reads them.
#include "kernels/embedding/family.h"
#include "kernels/embedding/table_inputs.h"
#include "kernels/embedding/waiting_kernel.h"

namespace weir {
namespace {

constexpr int64_t kMaxWidth = 1 << 16;
constexpr int64_t kMaxFilterCounters = int64_t{1} << 28;

template <typename Enum>
absl::StatusOr<Enum> ReadEnum(const OpKernelConstruction& ctx, absl::string_view attr,
                              std::initializer_list<std::pair<absl::string_view, Enum>> values) {
  std::string text;
  RETURN_IF_ERROR(ctx.GetAttr(attr, &text));
  for (const auto& [name, value] : values) {
    if (text == name) return value;
  }
  return errors::InvalidArgument(attr, " cannot be '", text, "'");
}

absl::Status ReadInitializer(const OpKernelConstruction& ctx, EmbeddingOptions* options) {
  ASSIGN_OR_RETURN(options->initializer,
                   ReadEnum<EmbeddingInitializer>(ctx, "initializer",
                                                  {{"constant", EmbeddingInitializer::kConstant},
                                                   {"uniform", EmbeddingInitializer::kUniform},
                                                   {"normal", EmbeddingInitializer::kNormal},
                                                   {"truncated_normal", EmbeddingInitializer::kTruncatedNormal}}));
  std::vector<float> params;
  RETURN_IF_ERROR(ctx.GetAttr("initializer_params", &params));
  const size_t expected = options->initializer == EmbeddingInitializer::kConstant ? 1 : 2;
  if (params.size() != expected && !params.empty()) {
    return errors::InvalidArgument("initializer_params must have ", expected, " elements, got ", params.size());
  }
  const bool is_uniform = options->initializer == EmbeddingInitializer::kUniform;
  if (params.empty()) {
    options->a = is_uniform ? -0.05f : 0.0f;
    options->b = 0.05f;
  } else {
    options->a = params[0];
    options->b = params.back();
  }
  return ctx.GetAttr("seed", &options->seed);
}

absl::Status ReadFilter(const OpKernelConstruction& ctx, EmbeddingOptions* options) {
  RETURN_IF_ERROR(ctx.GetAttr("filter_freq", &options->filter_freq));
  RETURN_IF_ERROR(ctx.GetAttr("filter_counters", &options->filter_counters));
  RETURN_IF_ERROR(ctx.GetAttr("filter_probability", &options->filter_probability));
  RETURN_IF_ERROR(ctx.GetAttr("default_value_no_permission", &options->default_value_no_permission));
  if (options->filter_freq < 0 || options->filter_freq > AdmissionFilter::kMaxFrequency) {
    return errors::InvalidArgument("filter_freq must be in [0, ", AdmissionFilter::kMaxFrequency, "], got ",
                                   options->filter_freq);
  }
  if (options->filter_counters < 1 || options->filter_counters > kMaxFilterCounters) {
    return errors::InvalidArgument("filter_counters must be in [1, 2**28], got ", options->filter_counters);
  }
  if (!(options->filter_probability > 0 && options->filter_probability <= 1)) {
    return errors::InvalidArgument("filter_probability must be in (0, 1], got ", options->filter_probability);
  }
  return absl::OkStatus();
}

absl::Status ReadEviction(const OpKernelConstruction& ctx, EmbeddingOptions* options) {
  RETURN_IF_ERROR(ctx.GetAttr("steps_to_live", &options->steps_to_live));
  RETURN_IF_ERROR(ctx.GetAttr("seconds_to_live", &options->seconds_to_live));
  RETURN_IF_ERROR(ctx.GetAttr("max_element_size", &options->max_element_size));
  if (options->steps_to_live < 0 || options->seconds_to_live < 0 || options->max_element_size < 0) {
    return errors::InvalidArgument("steps_to_live, seconds_to_live and max_element_size must not be negative");
  }
  if (options->steps_to_live > 0 && options->seconds_to_live > 0) {
    return errors::InvalidArgument("Rows live for a number of steps or of seconds, not both");
  }
  return absl::OkStatus();
}

absl::Status ReadStorage(const OpKernelConstruction& ctx, EmbeddingOptions* options) {
  RETURN_IF_ERROR(ctx.GetAttr("value_dtype", &options->value_dtype));
  RETURN_IF_ERROR(ctx.GetAttr("memory_limit_bytes", &options->memory_limit_bytes));
  RETURN_IF_ERROR(ctx.GetAttr("storage_path", &options->storage_path));
  const int64_t limit = options->memory_limit_bytes;
  if (limit == 0 && options->storage_path.empty()) return absl::OkStatus();
  if (limit < EmbeddingOptions::kLeastMemoryLimit) {
    return errors::InvalidArgument("With a storage_path, memory_limit_bytes must be at least ",
                                   EmbeddingOptions::kLeastMemoryLimit, ", got ", limit);
  }
  if (!options->storage_path.empty()) return absl::OkStatus();
  return errors::InvalidArgument("memory_limit_bytes (", limit,
                                 ") needs a storage_path: the folder of a local disk for rows beyond it");
}

absl::StatusOr<EmbeddingOptions> ReadOptions(const OpKernelConstruction& ctx) {
  EmbeddingOptions options;
  RETURN_IF_ERROR(ctx.GetAttr("width", &options.width));
  if (options.width < 1 || options.width > kMaxWidth) {
    return errors::InvalidArgument("width must be in [1, ", kMaxWidth, "], got ", options.width);
  }
  ASSIGN_OR_RETURN(options.rule, ReadEnum<EmbeddingRule>(ctx, "optimizer",
                                                         {{"none", EmbeddingRule::kNone},
                                                          {"sgd", EmbeddingRule::kGradientDescent},
                                                          {"adagrad", EmbeddingRule::kAdagrad},
                                                          {"adam", EmbeddingRule::kAdam},
                                                          {"ftrl", EmbeddingRule::kFtrl}}));
  RETURN_IF_ERROR(ctx.GetAttr("initial_accumulator_value", &options.initial_accumulator_value));
  RETURN_IF_ERROR(ReadInitializer(ctx, &options));
  RETURN_IF_ERROR(ReadFilter(ctx, &options));
  RETURN_IF_ERROR(ReadEviction(ctx, &options));
  RETURN_IF_ERROR(ReadStorage(ctx, &options));
  RETURN_IF_ERROR(ctx.GetAttr("parts", &options.parts));
  if (options.parts < 0 || options.parts > EmbeddingOptions::kMaxParts) {
    return errors::InvalidArgument("parts must be in [0, ", EmbeddingOptions::kMaxParts, "], got ", options.parts);
  }
  return options;
}

class TableKernel : public ResourceKernel<EmbeddingTable> {
 protected:
  absl::Status Configure(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(options_, ReadOptions(ctx));
    options_.name = name();
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<EmbeddingTable>> Make(OpKernelContext& ctx, const std::string&) override {
    return EmbeddingTable::Create(options_, ctx.allocator());
  }
  absl::Status CheckMatches(const EmbeddingTable& table) const override {
    if (table.options() == options_) return absl::OkStatus();
    return errors::InvalidArgument("Embedding table ", name(), " exists with other attributes (width ",
                                   table.options().width, ", asked for ", options_.width, ")");
  }
  std::string TypeName() const override { return "EmbeddingTable"; }

 private:
  EmbeddingOptions options_;
};

class InitializeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    return table->Initialize();
  }
};

class IsInitializedKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ctx.set_output(0, Tensor::Scalar(table->is_initialized()));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class SizeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    ctx.set_output(0, Tensor::Scalar(table->counts().size));
    return absl::OkStatus();
  }
};

class StatisticsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    const EmbeddingCounts counts = table->counts();
    const EmbeddingOptions& options = table->options();
    const RowFormat format(options);
    const int64_t slot_bytes = counts.size * format.slot_floats() * int64_t{sizeof(float)};
    ctx.set_output(
        0, Tensor::Vector<int64_t>({counts.size, options.width, counts.size * format.value_bytes(), slot_bytes,
                                    counts.bytes, counts.pulled, counts.pushed, counts.filtered, counts.rejected,
                                    counts.evicted, counts.size - counts.cold, counts.cold, counts.hits, counts.misses,
                                    table->bytes_read(), table->bytes_written()}));
    return absl::OkStatus();
  }
};

class GatherKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingTable> table, TableInput(ctx));
    const Tensor& keys = ctx.input(1);
    if (keys.dtype() != DT_INT64) {
      return errors::InvalidArgument("keys must be int64, got ", DataTypeName(keys.dtype()));
    }
    TensorShape shape = keys.shape();
    RETURN_IF_ERROR(shape.AddDim(table->options().width));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ASSIGN_OR_RETURN(const int64_t version, table->Gather(ctx, keys.flat<int64_t>(), output->data<float>()));
    ctx.set_output(1, Tensor::Scalar(version));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterEmbeddingKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<TableKernel>(Kernel("EmbeddingTable").Cpu()));
  RETURN_IF_ERROR(kernels.Register<InitializeKernel>(Kernel("EmbeddingTableInitialize").Cpu()));
  RETURN_IF_ERROR(kernels.Register<IsInitializedKernel>(Kernel("EmbeddingTableIsInitialized").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SizeKernel>(Kernel("EmbeddingTableSize").Cpu()));
  RETURN_IF_ERROR(kernels.Register<StatisticsKernel>(Kernel("EmbeddingTableStatistics").Cpu()));
  RETURN_IF_ERROR(kernels.Register<GatherKernel>(Kernel("EmbeddingTableGather").Cpu()));
  RETURN_IF_ERROR(
      kernels.Register<WaitingKernel<GatherKernel>>(Kernel("EmbeddingTableGather").Cpu().Label(kWaitingLabel)));
  return absl::OkStatus();
}

}  // namespace weir
