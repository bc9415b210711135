// group_by_window: elements of one key, window by window.
#include <limits>
#include <map>
#include <optional>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/element_list.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

class GroupByWindowDataset : public UnaryDataset {
 public:
  struct Functions {
    CapturedFunction key, reduce, window_size;
  };
  GroupByWindowDataset(const DatasetPtr& input, const NodeArguments& node, Functions functions)
      : UnaryDataset("GroupByWindow", input, node.output_types(), node.output_shapes()),
        functions_(std::move(functions)) {}
  int64_t CountElements(IteratorContext* ctx) const override {
    return input()->CountElements(ctx) == kInfiniteCardinality ? kInfiniteCardinality : kUnknownCardinality;
  }

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator;
  const Functions functions_;
};

class GroupByWindowDataset::Iterator : public UnaryIterator<GroupByWindowDataset> {
 public:
  using UnaryIterator::UnaryIterator;

  absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
    for (;;) {
      if (current_ != nullptr) {
        ASSIGN_OR_RETURN(const bool more, current_->GetNext(ctx, element));
        if (more) {
          RETURN_IF_ERROR(CheckElement(*element, dataset().output_types()));
          return true;
        }
        current_.reset();
        current_elements_.clear();
      }
      std::optional<int64_t> full;
      while (!input_at_end_ && !full) {
        ASSIGN_OR_RETURN(full, TakeOne(ctx));
      }
      if (!full && groups_.empty()) return false;
      RETURN_IF_ERROR(Flush(ctx, full ? *full : groups_.begin()->first));
    }
  }

  absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
    writer.Int("input_at_end", input_at_end_ ? 1 : 0);
    writer.Int("groups", static_cast<int64_t>(groups_.size()));
    int64_t i = 0;
    for (const auto& [key, elements] : groups_) {
      writer.Int(absl::StrCat("key", i), key);
      SaveElements(writer, absl::StrCat("group", i++), elements);
    }
    writer.Int("windows", static_cast<int64_t>(window_sizes_.size()));
    i = 0;
    for (const auto& [key, size] : window_sizes_) {
      writer.Int(absl::StrCat("window_key", i), key);
      writer.Int(absl::StrCat("window_size", i++), size);
    }
    writer.Int("has_current", current_ != nullptr ? 1 : 0);
    if (current_ != nullptr) {
      writer.Int("current_key", current_key_);
      SaveElements(writer, "current", current_elements_);
      RETURN_IF_ERROR(current_->Save(ctx, writer.Scope("current")));
    }
    return UnaryIterator::SaveState(ctx, writer);
  }

  absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
    const DataTypeVector& types = dataset().input()->output_types();
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    ASSIGN_OR_RETURN(input_at_end_, reader.Int("input_at_end", 0, 1));
    ASSIGN_OR_RETURN(const int64_t groups, reader.Int("groups", 0, reader.size()));
    groups_.clear();
    for (int64_t i = 0; i < groups; ++i) {
      ASSIGN_OR_RETURN(const int64_t key, reader.Int(absl::StrCat("key", i), kMin));
      RETURN_IF_ERROR(RestoreElements(reader, absl::StrCat("group", i), types, &groups_[key]));
    }
    ASSIGN_OR_RETURN(const int64_t windows, reader.Int("windows", 0, reader.size()));
    window_sizes_.clear();
    for (int64_t i = 0; i < windows; ++i) {
      ASSIGN_OR_RETURN(const int64_t key, reader.Int(absl::StrCat("window_key", i), kMin));
      ASSIGN_OR_RETURN(window_sizes_[key], reader.Int(absl::StrCat("window_size", i), 1));
    }
    ASSIGN_OR_RETURN(const bool has_current, reader.Int("has_current", 0, 1));
    if (has_current) {
      ASSIGN_OR_RETURN(current_key_, reader.Int("current_key", kMin));
      RETURN_IF_ERROR(RestoreElements(reader, "current", types, &current_elements_));
      RETURN_IF_ERROR(MakeCurrent(ctx));
      RETURN_IF_ERROR(current_->Restore(ctx, reader.Scope("current")));
    }
    return UnaryIterator::RestoreState(ctx, reader);
  }

 private:
  // Puts one element of the input into its group; gives the key of the group if that is full now.
  absl::StatusOr<std::optional<int64_t>> TakeOne(IteratorContext& ctx) {
    Element next;
    ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &next));
    input_at_end_ = !more;
    if (!more) return std::nullopt;
    RETURN_IF_ERROR(CheckElement(next, dataset().input()->output_types()));
    const Functions& functions = dataset().functions_;
    ASSIGN_OR_RETURN(const int64_t key, functions.key.CallForInt(ctx, next, "key_func"));
    auto window = window_sizes_.find(key);
    if (window == window_sizes_.end()) {
      ASSIGN_OR_RETURN(const int64_t size,
                       functions.window_size.CallForInt(ctx, {Tensor::Scalar<int64_t>(key)}, "window_size_func"));
      if (size <= 0) {
        return errors::InvalidArgument("Window size must be greater than zero, but got ", size, ".");
      }
      window = window_sizes_.emplace(key, size).first;
    }
    RETURN_IF_ERROR(limit_.Add(next, "group_by_window"));
    std::deque<Element>& group = groups_[key];
    group.push_back(std::move(next));
    if (static_cast<int64_t>(group.size()) < window->second) return std::nullopt;
    return key;
  }

  absl::Status Flush(IteratorContext& ctx, int64_t key) {
    current_key_ = key;
    current_elements_ = std::move(groups_[key]);
    groups_.erase(key);
    for (const Element& element : current_elements_) limit_.Remove(element);
    return MakeCurrent(ctx);
  }

  absl::Status MakeCurrent(IteratorContext& ctx) {
    const DatasetBase& input = *dataset().input();
    auto group =
        std::make_shared<ElementListDataset>("Window", input.output_types(), input.output_shapes(),
                                             std::vector<Element>(current_elements_.begin(), current_elements_.end()));
    const absl::StatusOr<DatasetPtr> reduced = dataset().functions_.reduce.CallForDataset(
        ctx, {Tensor::Scalar<int64_t>(current_key_), DatasetTensor(std::move(group))});
    if (!reduced.ok()) {
      RETURN_IF_ERROR(ctx.CheckCancelled());
      return errors::Internal("Got error code ", absl::StatusCodeToString(reduced.status().code()), " and message: {\n",
                              reduced.status().message(),
                              "\n} \nfrom running user-defined function of group_by_window: ");
    }
    RETURN_IF_ERROR(CheckTypesMatch(dataset().output_types(), (*reduced)->output_types()));
    ASSIGN_OR_RETURN(current_, (*reduced)->MakeIterator(ctx));
    return absl::OkStatus();
  }

  std::map<int64_t, std::deque<Element>> groups_;
  std::map<int64_t, int64_t> window_sizes_;
  BufferLimit limit_;
  bool input_at_end_ = false;
  int64_t current_key_ = 0;  // of the group that is put out, where there is one
  std::deque<Element> current_elements_;
  IteratorPtr current_;
};

class GroupByWindowKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    return std::make_shared<GroupByWindowDataset>(
        input, inputs.node(),
        GroupByWindowDataset::Functions{
            inputs.Function("key_func", "key_func_other_arguments"),
            inputs.Function("reduce_func", "reduce_func_other_arguments"),
            inputs.Function("window_size_func", "window_size_func_other_arguments"),
        });
  }
};

}  // namespace

absl::Status RegisterGroupKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<GroupByWindowKernel>(Kernel("GroupByWindowDataset").Cpu()));
  return kernels.Register<GroupByWindowKernel>(Kernel("ExperimentalGroupByWindowDataset").Cpu());
}

}  // namespace weir
