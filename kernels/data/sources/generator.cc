// A dataset of what a function yields until it ends the sequence.
#include "kernels/data/family.h"
#include "kernels/data/map_function.h"

namespace weir {
namespace {

class GeneratorDataset : public DatasetBase {
 public:
  struct Functions {
    CapturedFunction init, next, finalize;
  };
  GeneratorDataset(const NodeArguments& node, Functions functions)
      : DatasetBase({"Generator", node.output_types(), node.output_shapes(), {}}), functions_(std::move(functions)) {}

 protected:
  IteratorPtr NewIterator() const override { return NewIteratorOf<Iterator>(this); }

 private:
  class Iterator : public DatasetIterator<GeneratorDataset> {
   public:
    using DatasetIterator::DatasetIterator;
    absl::StatusOr<bool> Next(IteratorContext& ctx, Element* element) override {
      const Functions& functions = dataset().functions_;
      if (!has_state_) {
        ASSIGN_OR_RETURN(state_, functions.init.Call(ctx, {}));
        has_state_ = true;
      }
      absl::StatusOr<Element> result = functions.next.Call(ctx, state_);
      if (absl::IsOutOfRange(result.status())) {
        RETURN_IF_ERROR(functions.finalize.Call(ctx, state_).status());
        return false;
      }
      RETURN_IF_ERROR(result.status());
      RETURN_IF_ERROR(CheckElement(*result, dataset().output_types()));
      *element = *std::move(result);
      return true;
    }
    absl::Status SaveState(IteratorContext&, StateWriter) override {
      return errors::Unimplemented("GeneratorDataset does not support checkpointing.");
    }
    absl::Status RestoreState(IteratorContext&, const StateReader&) override {
      return errors::Unimplemented("GeneratorDataset does not support checkpointing.");
    }

   private:
    bool has_state_ = false;
    Element state_;
  };

  const Functions functions_;
};

class GeneratorKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    return std::make_shared<GeneratorDataset>(
        inputs.node(), GeneratorDataset::Functions{inputs.Function("init_func", "init_func_other_args"),
                                                   inputs.Function("next_func", "next_func_other_args"),
                                                   inputs.Function("finalize_func", "finalize_func_other_args")});
  }
};

}  // namespace

absl::Status RegisterGeneratorKernels(KernelRegistry& kernels) {
  return kernels.Register<GeneratorKernel>(Kernel("GeneratorDataset").Cpu());
}

}  // namespace weir
