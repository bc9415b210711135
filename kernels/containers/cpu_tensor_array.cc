// Tensor arrays and what reads and writes through their handles: resources, or in the first versions [container, name]
// of a resource of the step. Flow values only order the ops.
#include <algorithm>
#include <atomic>
#include <limits>

#include "core/tensor/index_tensor.h"
#include "kernels/containers/family.h"
#include "kernels/containers/tensor_array.h"
#include "kernels/containers/tensor_sequence.h"
#include "kernels/device/named_resource.h"

namespace weir {
namespace {

absl::StatusOr<std::shared_ptr<TensorArray>> FindArray(const OpKernelContext& ctx) {
  return FindResource<TensorArray>(ctx, 0);
}

// Sets output 0 in the kind that the op has.
absl::Status SetHandle(OpKernelContext& ctx, std::shared_ptr<TensorArray> array, const std::string& name) {
  if (RemoveRef(ctx.expected_output_dtype(0)) == DT_STRING) {
    const std::string& container = ctx.step().step_container->name();
    absl::Status created = ctx.resources()->Create(container, name, array);
    if (!created.ok() && !absl::IsAlreadyExists(created)) return created;  // an array of gradients may be there
    if (!IsRefType(ctx.expected_output_dtype(0))) {
      ctx.set_output(0, Tensor::Vector<tstring>({container, name}));
      return absl::OkStatus();
    }
    TensorArray::Reference& reference = array->reference();
    {
      std::lock_guard<std::mutex> lock(reference.mutex);
      reference.handle = Tensor::Vector<tstring>({container, name});
    }
    ctx.set_output_ref(0, &reference.mutex, &reference.handle);
    return absl::OkStatus();
  }
  ctx.set_output(0, Tensor::Scalar(OwningHandle(ctx, std::move(array), name, "TensorArray")));
  return absl::OkStatus();
}

absl::Status CheckWrites(const TensorArray& array, DataType dtype) {
  if (array.dtype() == dtype) return absl::OkStatus();
  return errors::InvalidArgument("TensorArray dtype is ", DataTypeName(array.dtype()),
                                 " but Op is trying to write dtype ", DataTypeName(dtype), ".");
}

absl::Status CheckReads(const TensorArray& array, DataType dtype) {
  if (array.dtype() == dtype) return absl::OkStatus();
  return errors::InvalidArgument("TensorArray dtype is ", DataTypeName(array.dtype()), " but Op requested dtype ",
                                 DataTypeName(dtype), ".");
}

// Hands on the flow that came, input `input`. The first versions of what makes a handle have none to give.
void SetFlow(OpKernelContext& ctx, int output, int input) {
  if (output < ctx.num_outputs()) ctx.set_output(output, ctx.input(input));
}

// A kernel of arrays, of which the elements lie in `memory`.
class ArrayKernel : public OpKernel {
 public:
  explicit ArrayKernel(const SequenceMemory& memory) : memory_(memory) {}

 protected:
  const SequenceMemory& memory() const { return memory_; }

 private:
  const SequenceMemory& memory_;
};

class NewArrayKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &options_.dtype));
    RETURN_IF_ERROR(ctx.GetAttr("element_shape", &options_.element_shape));
    RETURN_IF_ERROR(ctx.GetAttr("dynamic_size", &options_.dynamic_size));
    RETURN_IF_ERROR(ctx.GetAttr("clear_after_read", &options_.clear_after_read));
    if (ctx.HasAttr("identical_element_shapes")) {
      RETURN_IF_ERROR(ctx.GetAttr("identical_element_shapes", &options_.identical_element_shapes));
    }
    RETURN_IF_ERROR(ctx.GetAttr("tensor_array_name", &options_.name));
    if (options_.name.empty()) options_.name = ctx.name();
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t size, ReadInteger(ctx.input(0), "size"));
    if (size < 0) return errors::InvalidArgument("Size should be >= 0.");
    if (size > TensorArray::kMaxSize) {
      return errors::InvalidArgument("A TensorArray of ", size, " elements is too large");
    }
    TensorArray::Options options = options_;
    options.name += absl::StrCat("_", next_.fetch_add(1, std::memory_order_relaxed));
    const std::string name = options.name;
    if (ctx.num_outputs() > 1) {
      ASSIGN_OR_RETURN(Tensor flow, memory().Zeros(ctx, DT_FLOAT, TensorShape()));
      ctx.set_output(1, std::move(flow));
    }
    return SetHandle(ctx, std::make_shared<TensorArray>(std::move(options), memory(), size), name);
  }

 private:
  TensorArray::Options options_;
  std::atomic<int64_t> next_{0};
};

class WriteKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    ASSIGN_OR_RETURN(const int64_t index, ReadInteger(ctx.input(1), "index"));
    RETURN_IF_ERROR(CheckWrites(*array, ctx.input(2).dtype()));
    RETURN_IF_ERROR(array->Write(ctx, index, ctx.input(2)));
    SetFlow(ctx, 0, ctx.num_inputs() - 1);
    return absl::OkStatus();
  }
};

class ReadKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    ASSIGN_OR_RETURN(const int64_t index, ReadInteger(ctx.input(1), "index"));
    RETURN_IF_ERROR(CheckReads(*array, ctx.expected_output_dtype(0)));
    ASSIGN_OR_RETURN(Tensor value, array->Read(ctx, index));
    ctx.set_output(0, std::move(value));
    return absl::OkStatus();
  }
};

// Input 1, or without it 0 to `count` - 1.
absl::StatusOr<DimVector> ReadIndices(const OpKernelContext& ctx, bool has_indices, int64_t count) {
  if (has_indices) {
    if (ctx.input(1).dims() == 1) return ReadIntegers(ctx.input(1));
    return errors::InvalidArgument("Expected indices to be a vector, but received shape: ",
                                   ctx.input(1).shape().ToString());
  }
  if (count > TensorArray::kMaxSize) return errors::InvalidArgument(count, " elements are too many for a TensorArray");
  DimVector all(count);
  for (int64_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

// Without indices (TensorArrayPack): all elements.
template <bool kHasIndices>
class GatherKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("element_shape", &element_shape_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    ASSIGN_OR_RETURN(const int64_t size, array->Size());
    ASSIGN_OR_RETURN(const DimVector indices, ReadIndices(ctx, kHasIndices, size));
    RETURN_IF_ERROR(CheckReads(*array, ctx.expected_output_dtype(0)));
    RETURN_IF_ERROR(array->NarrowElementShape(element_shape_));
    if (indices.empty() && !element_shape_.IsFullyDefined()) {
      return errors::Unimplemented("TensorArray has size zero, but element shape ", element_shape_.ToString(),
                                   " is not fully defined. Currently only static shapes are supported when packing "
                                   "zero-size TensorArrays.");
    }
    std::vector<Tensor> elements;
    for (size_t i = 0; i < indices.size(); ++i) {
      ASSIGN_OR_RETURN(Tensor element, array->Read(ctx, indices[i]));
      if (i == 0 && !element_shape_.IsCompatibleWith(element.shape())) {
        return errors::InvalidArgument("TensorArray was passed element_shape ", element_shape_.ToString(),
                                       " which does not match the Tensor at index 0: ", element.shape().ToString());
      }
      if (i > 0 && element.shape() != elements[0].shape()) {
        return errors::InvalidArgument("TensorArray has inconsistent shapes.  Index ", indices[0],
                                       " has shape: ", elements[0].shape().ToString(), " but index ", indices[i],
                                       " has shape: ", element.shape().ToString());
      }
      elements.push_back(std::move(element));
    }
    TensorShape element_shape;
    if (elements.empty()) {
      ASSIGN_OR_RETURN(element_shape, element_shape_.AsTensorShape());
    } else {
      element_shape = elements[0].shape();
    }
    ASSIGN_OR_RETURN(Tensor stacked, StackTensors(ctx, memory(), array->dtype(), elements, element_shape));
    ctx.set_output(0, std::move(stacked));
    return absl::OkStatus();
  }

 private:
  PartialTensorShape element_shape_;
};

// Whether all of an array that does not grow can be written, before any of it is.
absl::Status CheckScatter(const TensorArray& array, bool has_indices, absl::Span<const int64_t> indices) {
  if (array.dynamic_size()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t size, array.Size());
  const int64_t count = static_cast<int64_t>(indices.size());
  if (!has_indices && count != size) {
    return errors::InvalidArgument("Input value must have first dimension equal to the array size (", count, " vs. ",
                                   size, ")");
  }
  const int64_t last = indices.empty() ? -1 : *std::max_element(indices.begin(), indices.end());
  if (last < size) return absl::OkStatus();
  return errors::InvalidArgument("Max scatter index must be < array size (", last, " vs. ", size, ")");
}

// Without indices (TensorArrayUnpack): to elements 0, 1, 2 and so on.
template <bool kHasIndices>
class ScatterKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    const Tensor& value = ctx.input(kHasIndices ? 2 : 1);
    RETURN_IF_ERROR(CheckWrites(*array, value.dtype()));
    if (value.dims() < 1) {
      return errors::InvalidArgument("Input value for unpack must be at least a vector but received shape: ",
                                     value.shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector indices, ReadIndices(ctx, kHasIndices, value.dim_size(0)));
    if (value.dim_size(0) != static_cast<int64_t>(indices.size())) {
      return errors::InvalidArgument("Expected len(indices) == values.shape[0], but saw: ", indices.size(), " vs. ",
                                     value.dim_size(0));
    }
    RETURN_IF_ERROR(CheckScatter(*array, kHasIndices, indices));
    ASSIGN_OR_RETURN(const std::vector<Tensor> rows, RowsOf(ctx, memory(), value));
    for (size_t i = 0; i < indices.size(); ++i) RETURN_IF_ERROR(array->Write(ctx, indices[i], rows[i]));
    SetFlow(ctx, 0, ctx.num_inputs() - 1);
    return absl::OkStatus();
  }
};

class ConcatKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("element_shape_except0", &row_shape_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    RETURN_IF_ERROR(CheckReads(*array, ctx.expected_output_dtype(0)));
    ASSIGN_OR_RETURN(const int64_t size, array->Size());
    std::vector<Tensor> elements;
    std::vector<int64_t> lengths;
    TensorShape row;
    for (int64_t i = 0; i < size; ++i) {
      ASSIGN_OR_RETURN(Tensor element, array->Read(ctx, i));
      if (element.dims() < 1) {
        return errors::InvalidArgument("Concat saw a scalar shape at index ", i,
                                       " but requires at least vectors.  Did you mean to call pack?");
      }
      lengths.push_back(element.dim_size(0));
      TensorShape this_row = element.shape();
      this_row.RemoveDim(0);
      if (i > 0 && this_row != row) {
        return errors::InvalidArgument(
            "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ", row.ToString(),
            " but index ", i, " has (excepting dimension 0) shape: ", this_row.ToString());
      }
      row = std::move(this_row);
      elements.push_back(std::move(element));
    }
    if (size == 0) {
      if (!row_shape_.IsFullyDefined()) {
        return errors::Unimplemented("TensorArray has size zero, but element_shape_except0 ", row_shape_.ToString(),
                                     " is not fully defined. Currently only static shapes are supported when "
                                     "concatenating zero-size TensorArrays.");
      }
      ASSIGN_OR_RETURN(row, row_shape_.AsTensorShape());
    }
    ASSIGN_OR_RETURN(Tensor value, ConcatTensors(ctx, memory(), array->dtype(), elements, row));
    ctx.set_output(0, std::move(value));
    ctx.set_output(1, Tensor::Vector<int64_t>(lengths));
    return absl::OkStatus();
  }

 private:
  PartialTensorShape row_shape_;
};

class SplitKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    const Tensor& value = ctx.input(1);
    if (!ctx.input(2).shape().IsVector()) {
      return errors::InvalidArgument("Expected lengths to be a vector, received shape: ",
                                     ctx.input(2).shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector lengths, ReadIntegers(ctx.input(2)));
    const int64_t count = static_cast<int64_t>(lengths.size());
    if (value.dims() < 1) {
      return errors::InvalidArgument("Expected value to be at least a vector, but received shape: ",
                                     value.shape().ToString());
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (lengths[i] < 0) return errors::InvalidArgument("Length ", i, " of the split is negative: ", lengths[i]);
      sum += std::min(lengths[i], std::numeric_limits<int64_t>::max() - sum);
    }
    if (sum != value.dim_size(0)) {
      return errors::InvalidArgument("Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ",
                                     sum, " and value's shape is: ", value.shape().ToString());
    }
    ASSIGN_OR_RETURN(const int64_t size, array->Size());
    if (!array->dynamic_size() && size != count) {
      return errors::InvalidArgument("TensorArray's size is not equal to the size of lengths (", size, " vs. ", count,
                                     "), and the TensorArray is not marked as dynamically resizeable");
    }
    RETURN_IF_ERROR(CheckWrites(*array, value.dtype()));
    if (array->dynamic_size()) RETURN_IF_ERROR(array->Reserve(count));
    ASSIGN_OR_RETURN(const std::vector<Tensor> parts, memory().Cut(ctx, value, lengths));
    for (int64_t i = 0; i < count; ++i) RETURN_IF_ERROR(array->Write(ctx, i, parts[i]));
    SetFlow(ctx, 0, ctx.num_inputs() - 1);
    return absl::OkStatus();
  }
};

class SizeKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    ASSIGN_OR_RETURN(const int64_t size, array->Size());
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
    return absl::OkStatus();
  }
};

// TensorArrayGradV3, and TensorArrayGradWithShape, whose third input goes in front of the elements' shapes.
class GradKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("source", &source_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    TensorShape prepend;
    if (ctx.num_inputs() > 2) {
      ASSIGN_OR_RETURN(prepend, ReadShape(ctx.input(2)));
    }
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> gradient, array->Gradient(source_, prepend));
    std::string name;
    if (IsNameInput(ctx, 0)) {
      ASSIGN_OR_RETURN(const ResourceName where, NameFromInput(ctx, 0));
      name = where.name;
    } else {
      name = ctx.input(0).data<ResourceHandle>()->name;
    }
    SetFlow(ctx, 1, 1);
    return SetHandle(ctx, std::move(gradient), name + "@" + source_);
  }

 private:
  std::string source_;
};

class CloseKernel : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, FindArray(ctx));
    array->Close();
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterTensorArrayKernels(KernelRegistry& kernels) {
  for (const std::string version : {"", "V2"}) {
    const auto on = [&version](const char* op) { return Kernel(op + version).Cpu(); };
    RETURN_IF_ERROR(kernels.Register(on("TensorArray"), &MakeHostSequenceKernel<NewArrayKernel>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArrayWrite"), &MakeHostSequenceKernel<WriteKernel>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArrayRead"), &MakeHostSequenceKernel<ReadKernel>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArrayGather"), &MakeHostSequenceKernel<GatherKernel<true>>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArrayScatter"), &MakeHostSequenceKernel<ScatterKernel<true>>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArrayConcat"), &MakeHostSequenceKernel<ConcatKernel>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArraySplit"), &MakeHostSequenceKernel<SplitKernel>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArraySize"), &MakeHostSequenceKernel<SizeKernel>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArrayGrad"), &MakeHostSequenceKernel<GradKernel>));
    RETURN_IF_ERROR(kernels.Register(on("TensorArrayClose"), &MakeHostSequenceKernel<CloseKernel>));
  }
  RETURN_IF_ERROR(kernels.Register(Kernel("TensorArrayPack").Cpu(), &MakeHostSequenceKernel<GatherKernel<false>>));
  RETURN_IF_ERROR(kernels.Register(Kernel("TensorArrayUnpack").Cpu(), &MakeHostSequenceKernel<ScatterKernel<false>>));
  const auto on = [](const char* op) { return Kernel(op).HostMemory("handle"); };
  RETURN_IF_ERROR(RegisterSequenceKernel<NewArrayKernel>(kernels, on("TensorArrayV3").HostMemory("size"), "dtype"));
  RETURN_IF_ERROR(RegisterSequenceKernel<WriteKernel>(kernels, on("TensorArrayWriteV3").HostMemory("index"), "T"));
  RETURN_IF_ERROR(RegisterSequenceKernel<ReadKernel>(kernels, on("TensorArrayReadV3").HostMemory("index"), "dtype"));
  RETURN_IF_ERROR(
      RegisterSequenceKernel<GatherKernel<true>>(kernels, on("TensorArrayGatherV3").HostMemory("indices"), "dtype"));
  RETURN_IF_ERROR(
      RegisterSequenceKernel<ScatterKernel<true>>(kernels, on("TensorArrayScatterV3").HostMemory("indices"), "T"));
  RETURN_IF_ERROR(
      RegisterSequenceKernel<ConcatKernel>(kernels, on("TensorArrayConcatV3").HostMemory("lengths"), "dtype"));
  RETURN_IF_ERROR(RegisterSequenceKernel<SplitKernel>(kernels, on("TensorArraySplitV3").HostMemory("lengths"), "T"));
  RETURN_IF_ERROR(RegisterSequenceKernel<SizeKernel>(kernels, on("TensorArraySizeV3").HostMemory("size")));
  RETURN_IF_ERROR(RegisterSequenceKernel<GradKernel>(kernels, on("TensorArrayGradV3").HostMemory("grad_handle")));
  RETURN_IF_ERROR(RegisterSequenceKernel<GradKernel>(
      kernels, on("TensorArrayGradWithShape").HostMemory("grad_handle").HostMemory("shape_to_prepend")));
  return RegisterSequenceKernel<CloseKernel>(kernels, on("TensorArrayCloseV3"));
}

}  // namespace weir
