// The datasets ParquetDataset and ArrowIpcDataset: batches of the rows of files, column by column.
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parquet/column_tensor.h"
#include "parquet/group_file.h"
#include "weir/core/device/device.h"
#include "weir/core/kernel/kernel_registry.h"
#include "weir/core/op/op_registry.h"
#include "weir/core/threads/work_queue.h"
#include "weir/graph/shapes/shape_inference.h"
#include "weir/kernels/data/dataset.h"
#include "weir/kernels/data/dataset_kernel.h"
#include "weir/kernels/plugin.h"

namespace {

using table_files::Format;
using table_files::GroupFile;
using weir::Element;
using weir::IteratorContext;

using TablePtr = std::shared_ptr<arrow::Table>;

struct Options {
  Format format = Format::kParquet;
  std::vector<std::string> files;
  std::vector<std::string> columns;
  int64_t batch_size = 0;
  int64_t parallel_groups = 0;  // that are read at a time
};

// A group of rows that is being read on another thread.
class PendingGroup {
 public:
  PendingGroup(int64_t file, int64_t group) : file(file), group(group) {}

  const int64_t file, group;

  void Finish(absl::StatusOr<TablePtr> table) {
    const std::lock_guard<std::mutex> lock(mu_);
    table_ = std::move(table);
    finished_.notify_all();
  }
  // Waits for it; an error of `go_on`, which is called now and then, ends that.
  template <typename F>
  absl::StatusOr<TablePtr> Await(const F& go_on) {
    std::unique_lock<std::mutex> lock(mu_);
    while (!finished_.wait_for(lock, std::chrono::milliseconds(50), [&] { return table_.has_value(); })) {
      RETURN_IF_ERROR(go_on());
    }
    return *table_;
  }

 private:
  std::mutex mu_;
  std::condition_variable finished_;
  std::optional<absl::StatusOr<TablePtr>> table_;
};

class GroupDataset : public weir::DatasetBase {
 public:
  GroupDataset(Spec spec, Options options) : DatasetBase(std::move(spec)), options_(std::move(options)) {}

  const Options& options() const { return options_; }

 protected:
  weir::IteratorPtr NewIterator() const override;

 private:
  const Options options_;
};

class GroupIterator : public weir::DatasetIterator<GroupDataset> {
 public:
  using DatasetIterator::DatasetIterator;
  ~GroupIterator() override { AwaitPending(); }

 protected:
  absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
    const Options& options = dataset().options();
    while (table_ == nullptr || row_ >= table_->num_rows()) {
      table_ = nullptr;
      const absl::Status scheduled = Schedule(ctx);
      if (pending_.empty()) {
        RETURN_IF_ERROR(scheduled);
        return false;
      }
      if (!scheduled.ok()) failure_ = scheduled;  // reported once the groups before it are taken
      const std::shared_ptr<PendingGroup> next = pending_.front();
      absl::StatusOr<TablePtr> table = next->Await([&] { return ctx.CheckCancelled(); });
      RETURN_IF_ERROR(ctx.CheckCancelled());
      pending_.pop_front();
      at_file_ = next->file;
      at_group_ = next->group;
      row_ = std::exchange(skipped_rows_, 0);
      RETURN_IF_ERROR(table.status());
      table_ = *std::move(table);
    }
    const int64_t rows = std::min(options.batch_size, table_->num_rows() - row_);
    element->clear();
    for (size_t i = 0; i < options.columns.size(); ++i) {
      ASSIGN_OR_RETURN(weir::Tensor tensor, table_files::ColumnTensor(options.columns[i], *table_->column(i), row_,
                                                                      rows, dataset().output_types()[i]));
      if (!dataset().output_shapes()[i].IsCompatibleWith(weir::PartialTensorShape(tensor.shape()))) {
        return weir::errors::InvalidArgument("Column ", options.columns[i], " has the shape ",
                                             tensor.shape().ToString(), ", but output_shapes has ",
                                             dataset().output_shapes()[i].ToString());
      }
      element->push_back(std::move(tensor));
    }
    row_ += rows;
    return true;
  }

  absl::Status SaveState(IteratorContext& ctx, weir::StateWriter writer) override {
    const bool in_table = table_ != nullptr && row_ < table_->num_rows();
    const bool waits = !in_table && !pending_.empty();
    writer.Int("file", in_table ? at_file_ : waits ? pending_.front()->file : next_file_);
    writer.Int("group", in_table ? at_group_ : waits ? pending_.front()->group : next_group_);
    writer.Int("row", in_table ? row_ : skipped_rows_);
    return absl::OkStatus();
  }

  absl::Status RestoreState(IteratorContext& ctx, const weir::StateReader& reader) override {
    const auto files = static_cast<int64_t>(dataset().options().files.size());
    AwaitPending();
    pending_.clear();
    table_ = nullptr;
    file_ = nullptr;
    failure_ = absl::OkStatus();
    ASSIGN_OR_RETURN(next_file_, reader.Int("file", 0, files));
    ASSIGN_OR_RETURN(next_group_, reader.Int("group"));
    ASSIGN_OR_RETURN(skipped_rows_, reader.Int("row"));
    return absl::OkStatus();
  }

 private:
  // Readers use the device's files.
  void AwaitPending() {
    for (const auto& pending : pending_) pending->Await([] { return absl::OkStatus(); }).status().IgnoreError();
  }

  // Begins to read groups, as many as may be read at a time. An error is that of a file that cannot be opened, which is
  // passed over.
  absl::Status Schedule(IteratorContext& ctx) {
    const Options& options = dataset().options();
    if (!failure_.ok()) return pending_.empty() ? std::exchange(failure_, absl::OkStatus()) : failure_;
    while (static_cast<int64_t>(pending_.size()) < options.parallel_groups) {
      if (next_file_ >= static_cast<int64_t>(options.files.size())) return absl::OkStatus();
      if (file_ == nullptr) {
        absl::Status opened = OpenFile(ctx, options.files[next_file_]);
        if (!opened.ok()) {
          ++next_file_;
          next_group_ = skipped_rows_ = 0;
          return opened;
        }
      }
      if (next_group_ >= file_->num_groups()) {
        file_ = nullptr;
        ++next_file_;
        next_group_ = 0;
        continue;
      }
      const auto pending = std::make_shared<PendingGroup>(next_file_, next_group_);
      pending_.push_back(pending);
      ctx.work_queue()->ScheduleBlocking(
          [pending, file = file_] { pending->Finish(file->Read(static_cast<int>(pending->group))); });
      ++next_group_;
    }
    return absl::OkStatus();
  }

  absl::Status OpenFile(IteratorContext& ctx, const std::string& path) {
    const Options& options = dataset().options();
    ASSIGN_OR_RETURN(auto file, table_files::DeviceFile::Open(*ctx.device()->file_systems(), path));
    ASSIGN_OR_RETURN(file_, GroupFile::Open(options.format, std::move(file), options.columns));
    return absl::OkStatus();
  }

  std::deque<std::shared_ptr<PendingGroup>> pending_;
  absl::Status failure_;
  std::shared_ptr<GroupFile> file_;                            // the one to schedule from
  int64_t next_file_ = 0, next_group_ = 0, skipped_rows_ = 0;  // to schedule; rows of the first group to pass over
  TablePtr table_;                                             // the group that batches are cut from
  int64_t at_file_ = 0, at_group_ = 0, row_ = 0;
};

weir::IteratorPtr GroupDataset::NewIterator() const { return weir::NewIteratorOf<GroupIterator>(this); }

template <Format kFormat>
class GroupDatasetKernel : public weir::DatasetKernel {
 protected:
  absl::Status InitDataset(weir::OpKernelConstruction& ctx) override {
    options_.format = kFormat;
    RETURN_IF_ERROR(ctx.GetAttr("columns", &options_.columns));
    RETURN_IF_ERROR(ctx.GetAttr("batch_size", &options_.batch_size));
    return ctx.GetAttr("parallel_groups", &options_.parallel_groups);
  }

  absl::StatusOr<std::shared_ptr<weir::DatasetBase>> MakeDataset(const weir::NodeInputs& inputs) override {
    const weir::NodeArguments& node = inputs.node();
    if (node.output_types().size() != options_.columns.size() ||
        node.output_shapes().size() != options_.columns.size()) {
      return weir::errors::InvalidArgument("There are ", options_.columns.size(), " columns, but ",
                                           node.output_types().size(), " output_types and ",
                                           node.output_shapes().size(), " output_shapes");
    }
    Options options = options_;
    ASSIGN_OR_RETURN(options.files, inputs.Strings("filenames"));
    const char* const type = kFormat == Format::kParquet ? "Parquet" : "ArrowIpc";
    return std::make_shared<GroupDataset>(weir::DatasetBase::Spec{type, node.output_types(), node.output_shapes(), {}},
                                          std::move(options));
  }

 private:
  Options options_;
};

absl::Status RegisterOps(weir::OpRegistry& ops) {
  for (const char* name : {"ParquetDataset", "ArrowIpcDataset"}) {
    RETURN_IF_ERROR(ops.Register(weir::Op(name)
                                     .Input("filenames: string")
                                     .Output("handle: variant")
                                     .Attr("columns: list(string) >= 1")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Attr("batch_size: int >= 1 = 1024")
                                     .Attr("parallel_groups: int >= 1 = 4")
                                     .Stateful()
                                     .Shape(weir::shapes::Scalar)));
  }
  return absl::OkStatus();
}

absl::Status RegisterKernels(weir::KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<GroupDatasetKernel<Format::kParquet>>(weir::Kernel("ParquetDataset").Cpu()));
  return kernels.Register<GroupDatasetKernel<Format::kArrowIpc>>(weir::Kernel("ArrowIpcDataset").Cpu());
}

absl::Status RegisterGradients(weir::OpRegistry& ops) {
  RETURN_IF_ERROR(ops.RegisterNotDifferentiable("ParquetDataset"));
  return ops.RegisterNotDifferentiable("ArrowIpcDataset");
}

}  // namespace

WEIR_PLUGIN({.name = "parquet", .ops = {RegisterOps}, .kernels = {RegisterKernels}, .gradients = {RegisterGradients}})
