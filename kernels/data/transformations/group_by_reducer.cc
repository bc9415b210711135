// group_by_reducer: all elements of a key are folded into one.
#include <map>
#include <optional>

#include "kernels/data/dataset_kernel.h"
#include "kernels/data/element_buffer.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

class GroupByReducerDataset : public UnaryDataset {
 public:
  struct Functions {
    CapturedFunction key, init, reduce, finalize;
  };
  GroupByReducerDataset(const DatasetPtr& input, const NodeArguments& node, Functions functions)
      : UnaryDataset("GroupByReducer", input, node.output_types(), node.output_shapes()),
        functions_(std::move(functions)) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public UnaryIterator<GroupByReducerDataset> {
   public:
    using UnaryIterator::UnaryIterator;

    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      while (!input_at_end_) RETURN_IF_ERROR(TakeOne(ctx));
      if (states_.empty()) return false;
      // Taken first: the next call goes on after an error.
      auto taken = states_.extract(states_.begin());
      limit_.Remove(taken.mapped());
      ASSIGN_OR_RETURN(*element, dataset().functions_.finalize.Call(ctx, std::move(taken.mapped())));
      RETURN_IF_ERROR(CheckElement(*element, dataset().output_types()));
      return true;
    }

    absl::Status SaveState(IteratorContext& ctx, StateWriter writer) override {
      writer.Int("input_at_end", input_at_end_ ? 1 : 0);
      writer.Int("states", static_cast<int64_t>(states_.size()));
      int64_t i = 0;
      for (const auto& [key, state] : states_) {
        writer.Int(absl::StrCat("key", i), key);
        writer.Tensors(absl::StrCat("state", i++), state);
      }
      return UnaryIterator::SaveState(ctx, writer);
    }

    absl::Status RestoreState(IteratorContext& ctx, const StateReader& reader) override {
      ASSIGN_OR_RETURN(input_at_end_, reader.Int("input_at_end", 0, 1));
      ASSIGN_OR_RETURN(const int64_t states, reader.Int("states", 0, reader.size()));
      states_.clear();
      limit_.Clear();
      for (int64_t i = 0; i < states; ++i) {
        ASSIGN_OR_RETURN(const int64_t key, reader.Int(absl::StrCat("key", i), std::numeric_limits<int64_t>::min()));
        ASSIGN_OR_RETURN(Element state, reader.Tensors(absl::StrCat("state", i)));
        RETURN_IF_ERROR(limit_.Add(state, "group_by_reducer"));
        states_.insert_or_assign(key, std::move(state));
      }
      return UnaryIterator::RestoreState(ctx, reader);
    }

   private:
    // Folds one element of the input into the state of its key.
    absl::Status TakeOne(IteratorContext& ctx) {
      Element next;
      ASSIGN_OR_RETURN(const bool more, input_->GetNext(ctx, &next));
      input_at_end_ = !more;
      if (!more) return absl::OkStatus();
      RETURN_IF_ERROR(CheckElement(next, dataset().input()->output_types()));
      const Functions& functions = dataset().functions_;
      ASSIGN_OR_RETURN(const int64_t key, functions.key.CallForInt(ctx, next, "key_func"));
      auto state = states_.find(key);
      if (state == states_.end()) {
        ASSIGN_OR_RETURN(Element initial, functions.init.Call(ctx, {Tensor::Scalar<int64_t>(key)}));
        RETURN_IF_ERROR(limit_.Add(initial, "group_by_reducer"));
        state = states_.emplace(key, std::move(initial)).first;
      }
      Element args = state->second;
      std::move(next.begin(), next.end(), std::back_inserter(args));
      ASSIGN_OR_RETURN(Element reduced, functions.reduce.Call(ctx, std::move(args)));
      limit_.Remove(state->second);
      RETURN_IF_ERROR(limit_.Add(reduced, "group_by_reducer"));
      state->second = std::move(reduced);
      return absl::OkStatus();
    }

    std::map<int64_t, Element> states_;
    BufferLimit limit_;
    bool input_at_end_ = false;
  };

  const Functions functions_;
};

class GroupByReducerKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(DatasetPtr input, inputs.Dataset("input_dataset"));
    return std::make_shared<GroupByReducerDataset>(
        input, inputs.node(),
        GroupByReducerDataset::Functions{
            inputs.Function("key_func", "key_func_other_arguments"),
            inputs.Function("init_func", "init_func_other_arguments"),
            inputs.Function("reduce_func", "reduce_func_other_arguments"),
            inputs.Function("finalize_func", "finalize_func_other_arguments"),
        });
  }
};

}  // namespace

absl::Status RegisterGroupByReducerKernels(KernelRegistry& kernels) {
  for (const char* op : {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"}) {
    RETURN_IF_ERROR(kernels.Register<GroupByReducerKernel>(Kernel(op).Cpu()));
  }
  return absl::OkStatus();
}

}  // namespace weir
