// MapDefun: calls a function on each row of its arguments and stacks the results.
#include <atomic>
#include <memory>
#include <vector>

#include "core/memory/out_of_memory.h"
#include "core/mutex.h"
#include "kernels/control/family.h"
#include "kernels/control/function_call.h"
#include "kernels/data/element_buffer.h"

namespace weir {
namespace {

using function_call::Tensors;

class MapDefunKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(function_, function_call::InstantiateAttr(ctx, "f"));
    RETURN_IF_ERROR(ctx.GetAttr("output_shapes", &shapes_));
    DataTypeVector arguments;
    RETURN_IF_ERROR(ctx.GetAttr("Targuments", &arguments));
    arguments_ = static_cast<int>(arguments.size());
    if (shapes_.size() == ctx.output_types().size()) return absl::OkStatus();
    return errors::InvalidArgument("`output_shapes` must have one shape for each of ", ctx.output_types().size(),
                                   " outputs, got ", shapes_.size());
  }

  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    auto map = std::make_shared<Map>(*this, ctx, std::move(done));
    absl::Status status = map->Begin();
    if (!status.ok()) return map->done(std::move(status));
    if (map->rows == 0) return map->Finish();
    map->left = map->rows;
    for (int64_t row = 0; row < map->rows; ++row) {
      // Exceptions must not leave: calls for earlier rows are still running.
      status = OrOutOfMemory([&] {
        Call(map, row);
        return absl::OkStatus();
      });
      if (status.ok()) continue;
      map->Fail(std::move(status));
      if (map->left.fetch_sub(1) == 1) map->Finish();
    }
  }

 private:
  // One run of the kernel.
  struct Map {
    Map(const MapDefunKernel& kernel, OpKernelContext& context, DoneCallback callback)
        : self(kernel), ctx(context), done(std::move(callback)) {}

    absl::Status Begin() {
      inputs = function_call::Inputs(ctx, 0);
      for (int i = 0; i < self.arguments_; ++i) {
        if (inputs[i].dims() == 0) {
          return errors::InvalidArgument("All inputs must have rank at least 1. Input ", i, " has a rank of 0");
        }
        if (inputs[i].dim_size(0) != inputs[0].dim_size(0)) {
          return errors::InvalidArgument("All inputs must have the same dimension 0. Input ", i,
                                         " has leading dimension ", inputs[i].dim_size(0),
                                         ", while all previous inputs have leading dimension ", inputs[0].dim_size(0));
        }
      }
      rows = inputs.empty() ? 0 : inputs[0].dim_size(0);
      for (int o = 0; o < ctx.num_outputs(); ++o) {
        outputs.emplace_back();
        allocated.push_back(false);
        if (!self.shapes_[o].IsFullyDefined()) {
          if (rows > 0) continue;
          return errors::InvalidArgument("MapDefun of no rows needs output shapes that are known, not ",
                                         self.shapes_[o].ToString());
        }
        ASSIGN_OR_RETURN(const TensorShape shape, self.shapes_[o].AsTensorShape());
        RETURN_IF_ERROR(Allocate(o, shape));
      }
      return absl::OkStatus();
    }

    absl::Status Allocate(int o, const TensorShape& row) {
      TensorShape shape = row;
      RETURN_IF_ERROR(shape.InsertDim(0, rows));
      ASSIGN_OR_RETURN(outputs[o], ctx.allocate_temp(ctx.expected_output_dtype(o), shape));
      allocated[o] = true;
      return absl::OkStatus();
    }

    absl::Status Store(int64_t row, const Tensors& results) {
      if (results.size() != outputs.size()) {
        return errors::InvalidArgument("The function returned ", results.size(), " values, not ", outputs.size());
      }
      MutexLock lock(mu);
      for (size_t o = 0; o < results.size(); ++o) {
        const Tensor& value = results[o];
        if (value.dtype() != ctx.expected_output_dtype(static_cast<int>(o))) {
          return errors::InvalidArgument("Output ", o, " of the function is ", DataTypeName(value.dtype()));
        }
        if (!allocated[o]) RETURN_IF_ERROR(Allocate(static_cast<int>(o), value.shape()));
        TensorShape expected = outputs[o].shape();
        expected.RemoveDim(0);
        if (value.shape() != expected) {
          return errors::InvalidArgument("Mismatch in function retval shape, ", value.shape().ToString(),
                                         ", and expected output shape, ", expected.ToString(), ".");
        }
        CopyElements(value, outputs[o], row * value.NumElements());
      }
      return absl::OkStatus();
    }

    void Fail(absl::Status error) {
      MutexLock lock(mu);
      if (status.ok()) status = std::move(error);
    }
    void Finish() {
      if (status.ok()) {
        for (size_t o = 0; o < outputs.size(); ++o) ctx.set_output(static_cast<int>(o), std::move(outputs[o]));
      }
      done(status);
    }

    const MapDefunKernel& self;
    OpKernelContext& ctx;
    const DoneCallback done;
    Tensors inputs;
    int64_t rows = 0;
    std::atomic<int64_t> left{0};
    // Written by concurrent calls under the lock.
    Mutex mu;
    Tensors outputs;
    std::vector<bool> allocated;
    absl::Status status;  // the first error
  };

  void Call(const std::shared_ptr<Map>& map, int64_t row) const {
    Tensors args;
    for (int i = 0; i < static_cast<int>(map->inputs.size()); ++i) {
      const Tensor& input = map->inputs[i];
      if (i >= arguments_) {
        args.push_back(input);
        continue;
      }
      absl::StatusOr<Tensor> slice = input.SubSlice(row);
      if (slice.ok() && !slice->IsAligned()) slice = slice->DeepCopy(map->ctx.allocator());
      if (!slice.ok()) {
        map->Fail(slice.status());
        break;
      }
      args.push_back(*std::move(slice));
    }
    const auto finish = [map, row](absl::StatusOr<Tensors> results) {
      absl::Status status = results.ok() ? map->Store(row, *results) : results.status();
      if (!status.ok()) map->Fail(std::move(status));
      if (map->left.fetch_sub(1) == 1) map->Finish();
    };
    if (args.size() != map->inputs.size()) return finish(Tensors());
    FunctionRuntime::RunOptions options = function_call::OptionsFor(map->ctx);
    map->ctx.step().functions->RunAsync(function_, options, std::move(args), finish);
  }

  FunctionRuntime::Handle function_ = 0;
  int arguments_ = 0;
  std::vector<PartialTensorShape> shapes_;
};

}  // namespace

absl::Status RegisterMapDefunKernels(KernelRegistry& kernels) {
  return kernels.Register<MapDefunKernel>(Kernel("MapDefun").Cpu());
}

}  // namespace weir
