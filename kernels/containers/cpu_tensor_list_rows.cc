// Tensor lists made of a tensor's rows, and tensors made of a list's elements.
#include <iterator>
#include <optional>

#include "kernels/containers/family.h"
#include "kernels/containers/tensor_list_access.h"
#include "kernels/containers/tensor_sequence.h"
#include "kernels/device/indices.h"

namespace weir {
namespace {

// What op, list and the elements `indices` (all when nullptr) know of an element's shape. Elements that are not asked
// for may have any shape.
absl::StatusOr<PartialTensorShape> KnownShapeOf(const TensorList& list, const Indices* indices,
                                                const PartialTensorShape& argument) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, argument.MergeWith(list.element_shape));
  const int64_t size = static_cast<int64_t>(list.elements.size()), count = indices ? indices->size() : size;
  if (count == 0 && !shape.IsFullyDefined()) {
    return errors::InvalidArgument(indices ? "Tried to gather 0-elements from a list with non-fully-defined shape: "
                                           : "Tried to stack elements of an empty list with non-fully-defined "
                                             "element_shape: ",
                                   shape.ToString());
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = indices ? (*indices)[i] : i;
    if (index < 0 || index >= size) {
      if (list.element_shape.IsFullyDefined()) {
        return errors::InvalidArgument("Index ", index, " out o range; list only has ", size, " elements.");
      }
      return errors::InvalidArgument("Trying to gather element ", index, " in a list with ", size, " elements.");
    }
    const std::optional<Tensor>& element = list.elements[index];
    if (element.has_value()) {
      ASSIGN_OR_RETURN(shape, shape.MergeWith(element->shape()));
    }
  }
  if (shape.IsFullyDefined()) return shape;
  return errors::InvalidArgument(indices ? "Tried to gather uninitialized tensors from a list with non-fully-defined "
                                           "element_shape: "
                                         : "Tried to stack list which only contains uninitialized tensors and has a "
                                           "non-fully-defined element_shape: ",
                                 shape.ToString());
}

// Stacks the elements `indices` (all when nullptr).
absl::Status StackElements(OpKernelContext& ctx, const SequenceMemory& memory, const TensorList& list,
                           const Indices* indices, const PartialTensorShape& argument) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, KnownShapeOf(list, indices, argument));
  ASSIGN_OR_RETURN(const TensorShape known, shape.AsTensorShape());
  const int64_t count = indices ? indices->size() : static_cast<int64_t>(list.elements.size());
  std::vector<Tensor> elements;
  std::optional<Tensor> zeros;  // one for all that are missing
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<Tensor>& element = list.elements[indices ? (*indices)[i] : i];
    if (!element.has_value() && !zeros.has_value()) {
      ASSIGN_OR_RETURN(zeros, memory.Zeros(ctx, list.dtype, known));
    }
    elements.push_back(element.has_value() ? *element : *zeros);
  }
  ASSIGN_OR_RETURN(Tensor stacked, StackTensors(ctx, memory, list.dtype, elements, known));
  ctx.set_output(0, std::move(stacked));
  return absl::OkStatus();
}

class ListStackKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("num_elements", &count_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialShapeFromTensor(ctx.input(1)));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(0)));
    if (count_ >= 0 && count_ != static_cast<int64_t>(list->elements.size())) {
      return errors::InvalidArgument("Operation expected a list with ", count_, " elements but got a list with ",
                                     list->elements.size(), " elements.");
    }
    return StackElements(ctx, memory(), *list, nullptr, shape);
  }

 private:
  int64_t count_ = -1;
};

class ListGatherKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ASSIGN_OR_RETURN(const Indices indices, Indices::Read(ctx.input(1)));
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialShapeFromTensor(ctx.input(2)));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(0)));
    if (!indices.shape().IsVector()) {
      return errors::InvalidArgument("indices must be a vector, got shape ", indices.shape().ToString());
    }
    return StackElements(ctx, memory(), *list, &indices, shape);
  }
};

// A new list for slices of `tensor`, whose element shape is in input `i`.
absl::StatusOr<std::shared_ptr<TensorList>> NewListFor(const OpKernelContext& ctx, const Tensor& tensor, int i) {
  auto list = std::make_shared<TensorList>();
  list->dtype = tensor.dtype();
  ASSIGN_OR_RETURN(list->element_shape, PartialShapeFromTensor(ctx.input(i)));
  if (tensor.dims() < 1) {
    return errors::InvalidArgument("Tensor must be at least a vector, but saw shape: ", tensor.shape().ToString());
  }
  return list;
}

absl::Status CheckSliceShape(const TensorList& list, const Tensor& tensor) {
  TensorShape row = tensor.shape();
  row.RemoveDim(0);
  if (list.element_shape.IsCompatibleWith(row)) return absl::OkStatus();
  return errors::InvalidArgument("Specified a list with shape ", list.element_shape.ToString(),
                                 " from a tensor with shape ", row.ToString());
}

// The rows of a tensor that are to be elements.
absl::StatusOr<std::vector<Tensor>> ListRows(const OpKernelContext& ctx, const SequenceMemory& memory,
                                             const Tensor& tensor) {
  if (tensor.dim_size(0) <= TensorList::kMaxSize) return RowsOf(ctx, memory, tensor);
  return errors::InvalidArgument("A tensor of ", tensor.dim_size(0), " rows is too long for a list: it may have ",
                                 TensorList::kMaxSize, " elements");
}

class FromTensorKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewListFor(ctx, tensor, 1));
    RETURN_IF_ERROR(CheckSliceShape(*list, tensor));
    RETURN_IF_ERROR(list->Admit(tensor));
    ASSIGN_OR_RETURN(std::vector<Tensor> rows, ListRows(ctx, memory(), tensor));
    list->elements.assign(std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    SetList(ctx, std::move(list));
    return absl::OkStatus();
  }
};

// Puts row i of `tensor` at indices[i], growing the list as needed.
absl::Status ScatterRows(const OpKernelContext& ctx, const SequenceMemory& memory, TensorList& list,
                         const Tensor& tensor, const Indices& indices) {
  RETURN_IF_ERROR(CheckSliceShape(list, tensor));
  if (indices.size() != tensor.dim_size(0)) {
    return errors::InvalidArgument("Invalid number of rows in input tensor. Expected: ", indices.size(),
                                   " Actual: ", tensor.dim_size(0));
  }
  RETURN_IF_ERROR(list.Admit(tensor));
  ASSIGN_OR_RETURN(const std::vector<Tensor> rows, ListRows(ctx, memory, tensor));
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0) {
      return errors::InvalidArgument("Indices in TensorListScatter must all be non-negative. Got ", indices[i]);
    }
    if (indices[i] >= TensorList::kMaxSize) {
      return errors::InvalidArgument("Indices in TensorListScatter must be below ", TensorList::kMaxSize, ", got ",
                                     indices[i]);
    }
    if (indices[i] >= static_cast<int64_t>(list.elements.size())) list.elements.resize(indices[i] + 1);
    list.elements[indices[i]] = rows[i];
  }
  return absl::OkStatus();
}

class ListScatterKernel : public ListKernel {  // both versions; the second has an input for the size, or -1
 public:
  using ListKernel::ListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    int64_t size = -1;
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(size, ScalarFromTensor(ctx.input(3), "num_elements"));
      if (size < -1 || size > TensorList::kMaxSize) {
        return errors::InvalidArgument("TensorListScatter expects num_elements >= -1, found: ", size);
      }
    }
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewListFor(ctx, tensor, 2));
    ASSIGN_OR_RETURN(const Indices indices, Indices::Read(ctx.input(1)));
    if (size >= 0) list->elements.resize(size);
    RETURN_IF_ERROR(ScatterRows(ctx, memory(), *list, tensor, indices));
    if (size >= 0 && static_cast<int64_t>(list->elements.size()) > size) {
      return errors::InvalidArgument("TensorListScatter: Trying to scatter at index ", list->elements.size() - 1,
                                     " in list with size ", size);
    }
    SetList(ctx, std::move(list));
    return absl::OkStatus();
  }
};

class ScatterIntoExistingKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor tensor = ctx.input(1);
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ASSIGN_OR_RETURN(const Indices indices, Indices::Read(ctx.input(2)));
    RETURN_IF_ERROR(CheckDtype(*list, tensor.dtype()));
    if (tensor.dims() < 1) {
      return errors::InvalidArgument("Tensor must be at least a vector, but saw shape: ", tensor.shape().ToString());
    }
    if (!indices.shape().IsVector()) {
      return errors::InvalidArgument("Expected indices to be a vector, but received shape: ",
                                     indices.shape().ToString());
    }
    if (indices.size() != tensor.dim_size(0)) {
      return errors::InvalidArgument("Expected len(indices) == tensor.shape[0], but saw: ", indices.size(), " vs. ",
                                     tensor.dim_size(0));
    }
    ASSIGN_OR_RETURN(TensorList * output, ForwardList(ctx));
    return ScatterRows(ctx, memory(), *output, tensor, indices);
  }
};

// Both versions. The second has the shape and the sizes of missing elements as inputs, and respects the list's shape.
class ListConcatKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (!ctx.HasAttr("element_shape")) return absl::OkStatus();
    PartialTensorShape shape;
    RETURN_IF_ERROR(ctx.GetAttr("element_shape", &shape));
    ASSIGN_OR_RETURN(row_, RowShape(shape));
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(0)));
    PartialTensorShape row = row_;
    int64_t length = -1;  // of every element
    std::optional<Indices> lengths;
    if (ctx.num_inputs() > 1) {
      ASSIGN_OR_RETURN(PartialTensorShape shape, PartialShapeFromTensor(ctx.input(1)));
      ASSIGN_OR_RETURN(shape, shape.MergeWith(list->element_shape));
      if (!shape.unknown_rank() && shape.dims() < 1) {
        return errors::InvalidArgument("Concat requires elements to be at least vectors, found scalars instead.");
      }
      ASSIGN_OR_RETURN(row, RowShape(shape));
      if (!shape.unknown_rank()) length = shape.dim_size(0);
      ASSIGN_OR_RETURN(lengths, Indices::Read(ctx.input(2)));
    }
    if (list->elements.empty() && !row.IsFullyDefined()) {
      return errors::InvalidArgument(
          "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: ",
          row.ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape known, KnownRow(*list, row, &length));
    std::vector<Tensor> elements;
    std::vector<int64_t> leading;
    for (size_t i = 0; i < list->elements.size(); ++i) {
      if (list->elements[i].has_value()) {
        RETURN_IF_ERROR(CheckRow(*list->elements[i], known));
        elements.push_back(*list->elements[i]);
      } else {
        TensorShape missing = known;
        ASSIGN_OR_RETURN(const int64_t missing_length, LengthOfMissing(i, lengths, length));
        RETURN_IF_ERROR(missing.InsertDim(0, missing_length));
        ASSIGN_OR_RETURN(Tensor zeros, memory().Zeros(ctx, list->dtype, missing));
        elements.push_back(std::move(zeros));
      }
      leading.push_back(elements.back().dim_size(0));
    }
    ASSIGN_OR_RETURN(Tensor value, ConcatTensors(ctx, memory(), list->dtype, elements, known));
    ctx.set_output(0, std::move(value));
    ctx.set_output(1, Tensor::Vector<int64_t>(leading));
    return absl::OkStatus();
  }

 private:
  // The shape of a row of every element. Sets `length`, if it is -1, where all elements that are there have the same.
  // The elements of a list whose shape is known are not asked.
  static absl::StatusOr<TensorShape> KnownRow(const TensorList& list, PartialTensorShape row, int64_t* length) {
    int64_t common = *length;
    bool differs = false;
    for (size_t i = 0; i < list.elements.size() && !list.element_shape.IsFullyDefined(); ++i) {
      if (!list.elements[i].has_value()) continue;
      const TensorShape& element = list.elements[i]->shape();
      if (element.dims() < 1) {
        return errors::InvalidArgument("Concat saw a scalar shape at index ", i, " but requires at least vectors.");
      }
      ASSIGN_OR_RETURN(const PartialTensorShape element_row, RowShape(element));
      ASSIGN_OR_RETURN(row, row.MergeWith(element_row));
      if (*length >= 0 && *length != element.dim_size(0)) {
        return errors::InvalidArgument(
            "First entry of element_shape input does not match the first dim of list element at index: ", i,
            " Expected: ", *length, " Actual: ", element.dim_size(0));
      }
      differs = differs || (common >= 0 && common != element.dim_size(0));
      common = element.dim_size(0);
    }
    if (!differs) *length = common;
    if (row.IsFullyDefined()) return row.AsTensorShape();
    return errors::InvalidArgument(
        "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim is not fully "
        "defined: ",
        row.ToString());
  }

  static absl::Status CheckRow(const Tensor& element, const TensorShape& known) {
    ASSIGN_OR_RETURN(const PartialTensorShape row, RowShape(element.shape()));
    return row.MergeWith(known).status();
  }

  static absl::StatusOr<int64_t> LengthOfMissing(size_t i, const std::optional<Indices>& lengths, int64_t common) {
    if (lengths.has_value() && static_cast<int64_t>(i) < lengths->size()) return (*lengths)[i];
    if (common >= 0) return common;
    if (!lengths.has_value()) {
      return errors::InvalidArgument(
          "Concating lists with uninitialized tensors is not supported in this version of TensorListConcat. Consider "
          "updating your GraphDef to run the newer version.");
    }
    return errors::InvalidArgument("List contains uninitialized tensor at index ", i, " but leading_dims has only ",
                                   lengths->size(), " elements.");
  }

  PartialTensorShape row_;
};

class ListSplitKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialShapeFromTensor(ctx.input(1)));
    if (!shape.unknown_rank() && shape.dims() < 1) {
      return errors::InvalidArgument("TensorListSplit requires element_shape to be at least of rank 1, but saw: ",
                                     shape.ToString());
    }
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewListFor(ctx, tensor, 1));
    ASSIGN_OR_RETURN(const Indices lengths, Indices::Read(ctx.input(2)));
    ASSIGN_OR_RETURN(const PartialTensorShape row, RowShape(list->element_shape));
    TensorShape tensor_row = tensor.shape();
    tensor_row.RemoveDim(0);
    if (!row.IsCompatibleWith(tensor_row)) {
      return errors::InvalidArgument("tensor shape ", tensor.shape().ToString(),
                                     " is not compatible with element_shape ", list->element_shape.ToString());
    }
    if (!lengths.shape().IsVector()) {
      return errors::InvalidArgument("Expected lengths to be a vector, received shape: ", lengths.shape().ToString());
    }
    if (lengths.size() > TensorList::kMaxSize) {
      return errors::InvalidArgument("A split into ", lengths.size(), " parts is too long for a list: it may have ",
                                     TensorList::kMaxSize, " elements");
    }
    RETURN_IF_ERROR(list->Admit(tensor));
    int64_t start = 0;
    for (int64_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] < 0) return errors::InvalidArgument("Invalid value in lengths: ", lengths[i]);
      if (lengths[i] > tensor.dim_size(0) - start) {
        return errors::InvalidArgument("Attempting to slice [", start, ", ", start + lengths[i],
                                       "] from tensor with length ", tensor.dim_size(0));
      }
      start += lengths[i];
    }
    if (start != tensor.dim_size(0)) {
      return errors::InvalidArgument("Unused values in tensor. Length of tensor: ", tensor.dim_size(0),
                                     " Values used: ", start);
    }
    ASSIGN_OR_RETURN(std::vector<Tensor> parts,
                     memory().Cut(ctx, tensor, absl::MakeConstSpan(lengths.data(), lengths.size())));
    list->elements.assign(std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
    SetList(ctx, std::move(list));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterTensorListRowKernels(KernelRegistry& kernels) {
  constexpr char kType[] = "element_dtype";
  const auto shaped = [](const char* op) { return Kernel(op).HostMemory("element_shape"); };
  RETURN_IF_ERROR(RegisterSequenceKernel<ListStackKernel>(kernels, shaped("TensorListStack"), kType));
  RETURN_IF_ERROR(
      RegisterSequenceKernel<ListGatherKernel>(kernels, shaped("TensorListGather").HostMemory("indices"), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<FromTensorKernel>(kernels, shaped("TensorListFromTensor"), kType));
  RETURN_IF_ERROR(
      RegisterSequenceKernel<ListScatterKernel>(kernels, shaped("TensorListScatter").HostMemory("indices"), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<ListScatterKernel>(
      kernels, shaped("TensorListScatterV2").HostMemory("indices").HostMemory("num_elements"), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<ScatterIntoExistingKernel>(
      kernels, Kernel("TensorListScatterIntoExistingList").HostMemory("indices"), kType));
  RETURN_IF_ERROR(
      RegisterSequenceKernel<ListConcatKernel>(kernels, Kernel("TensorListConcat").HostMemory("lengths"), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<ListConcatKernel>(
      kernels, shaped("TensorListConcatV2").HostMemory("leading_dims").HostMemory("lengths"), kType));
  return RegisterSequenceKernel<ListSplitKernel>(kernels, shaped("TensorListSplit").HostMemory("lengths"), kType);
}

}  // namespace weir
