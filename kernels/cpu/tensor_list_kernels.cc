// Tensor lists: values of type variant that loops build up element by element.
#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/cpu/indices.h"
#include "kernels/cpu/tensor_list.h"
#include "kernels/cpu/tensor_sequence.h"

namespace weir {
namespace {

absl::StatusOr<const TensorList*> ListFrom(const Tensor& tensor) {
  if (tensor.dtype() != DT_VARIANT || tensor.NumElements() != 1) {
    return errors::InvalidArgument("Input handle must be a scalar variant, saw: ", tensor.shape().ToString());
  }
  const Variant& variant = tensor.data<Variant>()[0];
  const TensorList* const list = variant.get<TensorList>();
  if (list != nullptr) return list;
  return errors::InvalidArgument("Input handle is not a list. Saw: '",
                                 variant.empty() ? "an empty variant" : variant.TypeName(), "'");
}

absl::StatusOr<const TensorList*> ListInput(const OpKernelContext& ctx, int i) { return ListFrom(ctx.input(i)); }

void SetList(OpKernelContext& ctx, std::shared_ptr<TensorList> list) {
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(list))));
}

// Input 0's list as output 0, to be changed: the list itself where nobody else holds it, else a copy.
absl::StatusOr<TensorList*> ForwardList(OpKernelContext& ctx) {
  RETURN_IF_ERROR(ListInput(ctx, 0).status());
  std::optional<Tensor> forwarded = ctx.forward_input(0, DT_VARIANT, TensorShape());
  ctx.set_output(
      0, forwarded.has_value() ? *std::move(forwarded) : Tensor::Scalar(Variant(ctx.input(0).data<Variant>()[0])));
  return ctx.mutable_output(0)->scalar<Variant>().get_mutable<TensorList>();
}

absl::Status CheckDtype(const TensorList& list, DataType dtype) {
  if (list.dtype == dtype) return absl::OkStatus();
  return errors::InvalidArgument("Invalid data types; op elements ", DataTypeName(dtype), " but list elements ",
                                 DataTypeName(list.dtype));
}

// What the list, its elements and the op together know of the shape of an element.
absl::StatusOr<PartialTensorShape> KnownElementShape(const TensorList& list, const PartialTensorShape& argument) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, list.element_shape.MergeWith(argument));
  if (shape.IsFullyDefined()) return shape;
  for (const std::optional<Tensor>& element : list.elements) {
    if (element.has_value()) {
      ASSIGN_OR_RETURN(shape, shape.MergeWith(element->shape()));
    }
  }
  return shape;
}

// Element i, or zeros where it is missing.
absl::StatusOr<Tensor> ElementOrZeros(const OpKernelContext& ctx, const TensorList& list, int64_t i,
                                      const PartialTensorShape& argument) {
  if (list.elements[i].has_value()) {
    const Tensor& element = *list.elements[i];
    if (argument.IsCompatibleWith(element.shape())) return element;
    return errors::InvalidArgument("Incompatible shapes: the op expects an element of shape ", argument.ToString(),
                                   " but element ", i, " has shape ", element.shape().ToString());
  }
  ASSIGN_OR_RETURN(const PartialTensorShape shape, KnownElementShape(list, argument));
  if (!shape.IsFullyDefined()) {
    return errors::InvalidArgument("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                                   shape.ToString(), " and no list element is set.");
  }
  ASSIGN_OR_RETURN(const TensorShape known, shape.AsTensorShape());
  return ZeroTensor(ctx, list.dtype, known);
}

class ReserveKernel : public OpKernel {  // EmptyTensorList and TensorListReserve
 public:
  explicit ReserveKernel(bool reserve) : reserve_(reserve) {}
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("element_dtype", &dtype_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    auto list = std::make_shared<TensorList>();
    list->dtype = dtype_;
    ASSIGN_OR_RETURN(list->element_shape, PartialShapeFromTensor(ctx.input(0)));
    ASSIGN_OR_RETURN(const int64_t n, ScalarFromTensor(ctx.input(1), reserve_ ? "num_elements" : "max_num_elements"));
    if (!reserve_) {
      list->max_size = n;
    } else if (n < 0) {
      return errors::InvalidArgument("The num_elements to reserve must be a non negative number, but got ", n);
    } else if (n > TensorList::kMaxSize) {
      return errors::InvalidArgument("The num_elements to reserve must be at most ", TensorList::kMaxSize, ", but got ",
                                     n);
    } else {
      list->elements.resize(n);
    }
    SetList(ctx, std::move(list));
    return absl::OkStatus();
  }

 private:
  const bool reserve_;
  DataType dtype_ = DT_INVALID;
};

template <bool kReserve>
std::unique_ptr<OpKernel> MakeReserve() {
  return std::make_unique<ReserveKernel>(kReserve);
}

absl::Status CheckAppend(const TensorList& list, const Tensor& element) {
  RETURN_IF_ERROR(CheckDtype(list, element.dtype()));
  if (!list.element_shape.IsCompatibleWith(element.shape())) {
    return errors::InvalidArgument("Tried to append a tensor with incompatible shape to a list. Op element shape: ",
                                   element.shape().ToString(), " list shape: ", list.element_shape.ToString());
  }
  return absl::OkStatus();
}

absl::Status CheckRoom(const TensorList& list) {
  const int64_t size = static_cast<int64_t>(list.elements.size());
  if (size < TensorList::kMaxSize && (list.max_size < 0 || size < list.max_size)) return absl::OkStatus();
  return errors::InvalidArgument("Tried to push item into a full list list size: ", size,
                                 " max_num_elements: ", list.max_size);
}

class PushBackKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor element = ctx.input(1);
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    RETURN_IF_ERROR(CheckAppend(*list, element));
    RETURN_IF_ERROR(CheckRoom(*list));
    ASSIGN_OR_RETURN(TensorList * output, ForwardList(ctx));
    RETURN_IF_ERROR(output->Admit(element));
    output->elements.emplace_back(element);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class PopBackKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialShapeFromTensor(ctx.input(1)));
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(1)));
    if (list->elements.empty()) return errors::InvalidArgument("Trying to pop from an empty list.");
    ASSIGN_OR_RETURN(Tensor element, ElementOrZeros(ctx, *list, list->elements.size() - 1, shape));
    ASSIGN_OR_RETURN(TensorList * output, ForwardList(ctx));
    output->elements.pop_back();
    ctx.set_output(1, std::move(element));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class GetItemKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t index, ScalarFromTensor(ctx.input(1), "index"));
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialShapeFromTensor(ctx.input(2)));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(0)));
    if (index < 0 || index >= static_cast<int64_t>(list->elements.size())) {
      return errors::InvalidArgument("Trying to access element ", index, " in a list with ", list->elements.size(),
                                     " elements.");
    }
    // An element that is set is what it is, whatever shape the op expects.
    const std::optional<Tensor>& stored = list->elements[index];
    ASSIGN_OR_RETURN(Tensor element, stored ? *stored : ElementOrZeros(ctx, *list, index, shape));
    ctx.set_output(0, std::move(element));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class SetItemKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("resize_if_index_out_of_bounds", &resize_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor element = ctx.input(2);
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t index, ScalarFromTensor(ctx.input(1), "index"));
    RETURN_IF_ERROR(CheckDtype(*list, element.dtype()));
    if (!list->element_shape.IsCompatibleWith(element.shape())) {
      return errors::InvalidArgument(
          "Tried to set a tensor with incompatible shape at a list index. Item element shape: ",
          element.shape().ToString(), " list shape: ", list->element_shape.ToString());
    }
    const int64_t size = static_cast<int64_t>(list->elements.size());
    if (index < 0 || index >= TensorList::kMaxSize || (index >= size && !resize_)) {
      return errors::InvalidArgument("Trying to modify element ", index, " in a list with ", size, " elements.");
    }
    ASSIGN_OR_RETURN(TensorList * output, ForwardList(ctx));
    RETURN_IF_ERROR(output->Admit(element));
    if (index >= size) output->elements.resize(index + 1);
    output->elements[index] = element;
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  bool resize_ = false;
};

// What list and op know of the elements `indices`' shape, and, where that is not all, those elements. Elements that are
// not asked for may have any shape.
absl::StatusOr<PartialTensorShape> KnownShapeOf(const TensorList& list, const Indices& indices,
                                                const PartialTensorShape& argument) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, list.element_shape.MergeWith(argument));
  const bool ask_elements = !shape.IsFullyDefined();
  const int64_t size = static_cast<int64_t>(list.elements.size());
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= size) {
      if (list.element_shape.IsFullyDefined() || argument.IsFullyDefined()) {
        return errors::InvalidArgument("Index ", indices[i], " out o range; list only has ", size, " elements.");
      }
      return errors::InvalidArgument("Trying to gather element ", indices[i], " in a list with ", size, " elements.");
    }
    if (ask_elements && list.elements[indices[i]].has_value()) {
      ASSIGN_OR_RETURN(shape, shape.MergeWith(list.elements[indices[i]]->shape()));
    }
  }
  return shape;
}

// Stacks the elements `indices` (all when nullptr).
absl::Status StackElements(OpKernelContext& ctx, const TensorList& list, const Indices* indices,
                           const PartialTensorShape& argument) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape,
                   indices ? KnownShapeOf(list, *indices, argument) : KnownElementShape(list, argument));
  const int64_t size = static_cast<int64_t>(list.elements.size()), count = indices ? indices->size() : size;
  if (!shape.IsFullyDefined()) {
    if (indices && count == 0) {
      return errors::InvalidArgument("Tried to gather 0-elements from a list with non-fully-defined shape: ",
                                     shape.ToString());
    }
    if (count == 0) {
      return errors::InvalidArgument("Tried to stack elements of an empty list with non-fully-defined element_shape: ",
                                     shape.ToString());
    }
    return errors::InvalidArgument(
        "Tried to stack list which only contains uninitialized tensors and has a "
        "non-fully-defined element_shape: ",
        shape.ToString());
  }
  std::vector<Tensor> elements;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = indices ? (*indices)[i] : i;
    ASSIGN_OR_RETURN(Tensor element, ElementOrZeros(ctx, list, index, shape));
    elements.push_back(std::move(element));
  }
  ASSIGN_OR_RETURN(const TensorShape known, shape.AsTensorShape());
  ASSIGN_OR_RETURN(Tensor stacked, StackTensors(ctx, list.dtype, elements, known));
  ctx.set_output(0, std::move(stacked));
  return absl::OkStatus();
}

class StackKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("num_elements", &count_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialShapeFromTensor(ctx.input(1)));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(0)));
    if (count_ >= 0 && count_ != static_cast<int64_t>(list->elements.size())) {
      return errors::InvalidArgument("Operation expected a list with ", count_, " elements but got a list with ",
                                     list->elements.size(), " elements.");
    }
    return StackElements(ctx, *list, nullptr, shape);
  }

 private:
  int64_t count_ = -1;
};

class GatherKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ASSIGN_OR_RETURN(const Indices indices, Indices::Read(ctx.input(1)));
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialShapeFromTensor(ctx.input(2)));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(0)));
    if (!indices.shape().IsVector()) {
      return errors::InvalidArgument("indices must be a vector, got shape ", indices.shape().ToString());
    }
    return StackElements(ctx, *list, &indices, shape);
  }
};

class LengthKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(list->elements.size())));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class ElementShapeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    const PartialTensorShape& shape = list->element_shape;
    const bool wide = ctx.expected_output_dtype(0) == DT_INT64;
    const int64_t unknown[] = {-1};
    const absl::Span<const int64_t> dims = shape.unknown_rank() ? absl::MakeConstSpan(unknown) : shape.dim_sizes();
    ASSIGN_OR_RETURN(Tensor * output,
                     ctx.allocate_output(0, shape.unknown_rank() ? TensorShape() : TensorShape({shape.dims()})));
    for (size_t i = 0; i < dims.size(); ++i) {
      if (wide) {
        output->data<int64_t>()[i] = dims[i];
      } else {
        output->data<int32_t>()[i] = static_cast<int32_t>(dims[i]);
      }
    }
    return absl::OkStatus();
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

class FromTensorKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewListFor(ctx, tensor, 1));
    RETURN_IF_ERROR(CheckSliceShape(*list, tensor));
    RETURN_IF_ERROR(list->Admit(tensor));
    for (int64_t i = 0; i < tensor.dim_size(0); ++i) list->elements.emplace_back(tensor.SubSlice(i));
    SetList(ctx, std::move(list));
    return absl::OkStatus();
  }
};

// Puts row i of `tensor` at indices[i], growing the list as needed.
absl::Status ScatterRows(TensorList& list, const Tensor& tensor, const Indices& indices) {
  if (!indices.shape().IsVector() || indices.size() != tensor.dim_size(0)) {
    return errors::InvalidArgument("Invalid number of rows in input tensor. Expected: ", indices.size(),
                                   " Actual: ", tensor.dim_size(0));
  }
  RETURN_IF_ERROR(CheckSliceShape(list, tensor));
  RETURN_IF_ERROR(list.Admit(tensor));
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= TensorList::kMaxSize) {
      return errors::InvalidArgument("Indices in TensorListScatter must all be non-negative and below ",
                                     TensorList::kMaxSize, ", got ", indices[i]);
    }
    if (indices[i] >= static_cast<int64_t>(list.elements.size())) list.elements.resize(indices[i] + 1);
    list.elements[indices[i]] = tensor.SubSlice(i);
  }
  return absl::OkStatus();
}

class ScatterKernel : public OpKernel {  // both versions; the second tells the size, or -1
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewListFor(ctx, tensor, 2));
    ASSIGN_OR_RETURN(const Indices indices, Indices::Read(ctx.input(1)));
    int64_t size = -1;
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(size, ScalarFromTensor(ctx.input(3), "num_elements"));
      if (size < -1 || size > TensorList::kMaxSize) {
        return errors::InvalidArgument("TensorListScatter expects num_elements >= -1, found: ", size);
      }
    }
    if (size >= 0) list->elements.resize(size);
    RETURN_IF_ERROR(ScatterRows(*list, tensor, indices));
    if (size >= 0 && static_cast<int64_t>(list->elements.size()) > size) {
      return errors::InvalidArgument("TensorListScatter: Trying to scatter at index ", list->elements.size() - 1,
                                     " in list with size ", size);
    }
    SetList(ctx, std::move(list));
    return absl::OkStatus();
  }
};

class ScatterIntoExistingKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor tensor = ctx.input(1);
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ASSIGN_OR_RETURN(const Indices indices, Indices::Read(ctx.input(2)));
    RETURN_IF_ERROR(CheckDtype(*list, tensor.dtype()));
    if (tensor.dims() < 1) return errors::InvalidArgument("Tensor must be at least a vector");
    ASSIGN_OR_RETURN(TensorList * output, ForwardList(ctx));
    return ScatterRows(*output, tensor, indices);
  }
};

// Both versions; the second has the shape and the sizes of missing elements as inputs.
class ConcatKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (!ctx.HasAttr("element_shape")) return absl::OkStatus();
    return ctx.GetAttr("element_shape", &shape_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(0)));
    PartialTensorShape shape = shape_;
    Indices leading;
    if (ctx.num_inputs() > 1) {
      ASSIGN_OR_RETURN(shape, PartialShapeFromTensor(ctx.input(1)));
      ASSIGN_OR_RETURN(leading, Indices::Read(ctx.input(2)));
    }
    ASSIGN_OR_RETURN(PartialTensorShape row, RowShape(shape));
    ASSIGN_OR_RETURN(const PartialTensorShape list_row, RowShape(list->element_shape));
    ASSIGN_OR_RETURN(row, row.MergeWith(list_row));
    for (const std::optional<Tensor>& element : list->elements) {
      if (!element.has_value()) continue;
      if (element->dims() < 1) return errors::InvalidArgument("Concat saw a scalar but requires at least vectors");
      ASSIGN_OR_RETURN(const PartialTensorShape element_row, RowShape(element->shape()));
      ASSIGN_OR_RETURN(row, row.MergeWith(element_row));
    }
    if (!row.IsFullyDefined()) {
      return errors::InvalidArgument(
          "All except the first dimension must be fully defined when concating an empty "
          "tensor list. element_shape: ",
          shape.ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape known, row.AsTensorShape());
    std::vector<Tensor> elements;
    std::vector<int64_t> lengths;
    for (size_t i = 0; i < list->elements.size(); ++i) {
      if (list->elements[i].has_value()) {
        elements.push_back(*list->elements[i]);
      } else {
        if (static_cast<int64_t>(i) >= leading.size()) {
          return errors::InvalidArgument("List contains uninitialized tensor at index ", i,
                                         " but leading_dims has only ", leading.size(), " elements.");
        }
        TensorShape missing = known;
        RETURN_IF_ERROR(missing.InsertDim(0, leading[i]));
        ASSIGN_OR_RETURN(Tensor zeros, ZeroTensor(ctx, list->dtype, missing));
        elements.push_back(std::move(zeros));
      }
      lengths.push_back(elements.back().dim_size(0));
    }
    ASSIGN_OR_RETURN(Tensor value, ConcatTensors(ctx, list->dtype, elements, known));
    ctx.set_output(0, std::move(value));
    ctx.set_output(1, Tensor::Vector<int64_t>(lengths));
    return absl::OkStatus();
  }

 private:
  PartialTensorShape shape_;
};

class SplitKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, NewListFor(ctx, tensor, 1));
    ASSIGN_OR_RETURN(const Indices lengths, Indices::Read(ctx.input(2)));
    if (!lengths.shape().IsVector()) {
      return errors::InvalidArgument("Expected lengths to be a vector, received shape: ", lengths.shape().ToString());
    }
    ASSIGN_OR_RETURN(const PartialTensorShape row, RowShape(list->element_shape));
    TensorShape tensor_row = tensor.shape();
    tensor_row.RemoveDim(0);
    if (!row.IsCompatibleWith(tensor_row)) {
      return errors::InvalidArgument("tensor shape ", tensor.shape().ToString(),
                                     " is not compatible with element_shape ", list->element_shape.ToString());
    }
    RETURN_IF_ERROR(list->Admit(tensor));
    int64_t start = 0;
    for (int64_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] < 0) return errors::InvalidArgument("Invalid value in lengths: ", lengths[i]);
      if (lengths[i] > tensor.dim_size(0) - start) {
        return errors::InvalidArgument("Attempting to slice [", start, ", ", start + lengths[i],
                                       "] from tensor with length ", tensor.dim_size(0));
      }
      list->elements.emplace_back(tensor.Slice(start, start + lengths[i]));
      start += lengths[i];
    }
    if (start != tensor.dim_size(0)) {
      return errors::InvalidArgument("Unused values in tensor. Length of tensor: ", tensor.dim_size(0),
                                     " Values used: ", start);
    }
    SetList(ctx, std::move(list));
    return absl::OkStatus();
  }
};

// Element-wise over handles of one shape: the lists of the first, then those of the second.
class ConcatListsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("element_dtype", &dtype_); }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (a.shape() != b.shape()) {
      return errors::InvalidArgument("Incompatible input TensorList tensor shapes: ", a.shape().ToString(), " vs. ",
                                     b.shape().ToString());
    }
    Tensor output(DT_VARIANT, a.shape());
    for (int64_t i = 0; i < a.NumElements(); ++i) {
      const TensorList* const first = a.data<Variant>()[i].get<TensorList>();
      const TensorList* const second = b.data<Variant>()[i].get<TensorList>();
      if (first == nullptr || second == nullptr) return errors::InvalidArgument("Input element ", i, " is not a list");
      RETURN_IF_ERROR(CheckDtype(*first, dtype_));
      RETURN_IF_ERROR(CheckDtype(*second, dtype_));
      auto list = std::make_shared<TensorList>(*first);
      ASSIGN_OR_RETURN(list->element_shape, first->element_shape.MergeWith(second->element_shape));
      list->depth = std::max(first->depth, second->depth);
      list->elements.insert(list->elements.end(), second->elements.begin(), second->elements.end());
      output.data<Variant>()[i] = Variant(std::move(list));
    }
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }

 private:
  DataType dtype_ = DT_INVALID;
};

// Row i of the tensor goes to list i.
class PushBackBatchKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& handles = ctx.input(0);
    const Tensor& rows = ctx.input(1);
    if (rows.dims() < 1 || rows.dim_size(0) != handles.NumElements()) {
      return errors::InvalidArgument("Expected tensor.shape[0] to be the number of lists, got ",
                                     rows.shape().ToString(), " for ", handles.NumElements(), " lists");
    }
    Tensor output(DT_VARIANT, handles.shape());
    for (int64_t i = 0; i < handles.NumElements(); ++i) {
      const TensorList* const list = handles.data<Variant>()[i].get<TensorList>();
      if (list == nullptr) return errors::InvalidArgument("Input handle ", i, " is not a list");
      const Tensor row = rows.SubSlice(i);
      RETURN_IF_ERROR(CheckAppend(*list, row));
      RETURN_IF_ERROR(CheckRoom(*list));
      auto longer = std::make_shared<TensorList>(*list);
      RETURN_IF_ERROR(longer->Admit(row));
      longer->elements.emplace_back(row);
      output.data<Variant>()[i] = Variant(std::move(longer));
    }
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
};

class ResizeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t size, ScalarFromTensor(ctx.input(1), "size"));
    if (size < 0 || size > TensorList::kMaxSize) {
      return errors::InvalidArgument("TensorListSlice expects size to be non-negative. Got: ", size);
    }
    ASSIGN_OR_RETURN(TensorList * list, ForwardList(ctx));
    list->elements.resize(size);
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterTensorListKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register(Kernel("EmptyTensorList").Cpu(), &MakeReserve<false>));
  RETURN_IF_ERROR(kernels.Register(Kernel("TensorListReserve").Cpu(), &MakeReserve<true>));
  RETURN_IF_ERROR(kernels.Register<PushBackKernel>(Kernel("TensorListPushBack").Cpu()));
  RETURN_IF_ERROR(kernels.Register<PopBackKernel>(Kernel("TensorListPopBack").Cpu()));
  RETURN_IF_ERROR(kernels.Register<GetItemKernel>(Kernel("TensorListGetItem").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SetItemKernel>(Kernel("TensorListSetItem").Cpu()));
  RETURN_IF_ERROR(kernels.Register<StackKernel>(Kernel("TensorListStack").Cpu()));
  RETURN_IF_ERROR(kernels.Register<GatherKernel>(Kernel("TensorListGather").Cpu()));
  RETURN_IF_ERROR(kernels.Register<LengthKernel>(Kernel("TensorListLength").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ElementShapeKernel>(Kernel("TensorListElementShape").Cpu()));
  RETURN_IF_ERROR(kernels.Register<FromTensorKernel>(Kernel("TensorListFromTensor").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ScatterKernel>(Kernel("TensorListScatter").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ScatterKernel>(Kernel("TensorListScatterV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ScatterIntoExistingKernel>(Kernel("TensorListScatterIntoExistingList").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ConcatKernel>(Kernel("TensorListConcat").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ConcatKernel>(Kernel("TensorListConcatV2").Cpu()));
  RETURN_IF_ERROR(kernels.Register<SplitKernel>(Kernel("TensorListSplit").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ConcatListsKernel>(Kernel("TensorListConcatLists").Cpu()));
  RETURN_IF_ERROR(kernels.Register<PushBackBatchKernel>(Kernel("TensorListPushBackBatch").Cpu()));
  return kernels.Register<ResizeKernel>(Kernel("TensorListResize").Cpu());
}

}  // namespace weir
