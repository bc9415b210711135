// Tensor lists: values of type variant that loops build up element by element.
#include <algorithm>

#include "kernels/containers/family.h"
#include "kernels/containers/tensor_list_access.h"
#include "kernels/containers/tensor_sequence.h"
#include "kernels/device/indices.h"

namespace weir {
namespace {

class CheapListKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  bool IsExpensive() const override { return false; }
};

class ReserveKernel : public ListKernel {  // EmptyTensorList and TensorListReserve
 public:
  using ListKernel::ListKernel;
  absl::Status Init(OpKernelConstruction& ctx) override {
    reserve_ = ctx.op() == "TensorListReserve";
    return ctx.GetAttr("element_dtype", &dtype_);
  }
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
  bool reserve_ = false;
  DataType dtype_ = DT_INVALID;
};

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

class PushBackKernel : public CheapListKernel {
 public:
  using CheapListKernel::CheapListKernel;
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
};

class PopBackKernel : public CheapListKernel {
 public:
  using CheapListKernel::CheapListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialShapeFromTensor(ctx.input(1)));
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    RETURN_IF_ERROR(CheckDtype(*list, ctx.expected_output_dtype(1)));
    if (list->elements.empty()) return errors::InvalidArgument("Trying to pop from an empty list.");
    std::optional<Tensor> element = list->elements.back();
    if (!element.has_value()) {
      ASSIGN_OR_RETURN(element, Missing(ctx, *list, shape));
    }
    ASSIGN_OR_RETURN(TensorList * output, ForwardList(ctx));
    output->elements.pop_back();
    ctx.set_output(1, *std::move(element));
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Tensor> Missing(const OpKernelContext& ctx, const TensorList& list,
                                 const PartialTensorShape& argument) const {
    ASSIGN_OR_RETURN(const PartialTensorShape shape, argument.MergeWith(list.element_shape));
    if (!shape.IsFullyDefined()) {
      return errors::InvalidArgument("Trying to read an uninitialized tensor but element_shape is not fully defined.",
                                     shape.ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape known, shape.AsTensorShape());
    return memory().Zeros(ctx, list.dtype, known);
  }
};

class GetItemKernel : public CheapListKernel {
 public:
  using CheapListKernel::CheapListKernel;
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
    ASSIGN_OR_RETURN(Tensor element, stored ? *stored : Missing(ctx, *list, shape));
    ctx.set_output(0, std::move(element));
    return absl::OkStatus();
  }

 private:
  // Zeros of the shape that op, list and the other elements agree on.
  absl::StatusOr<Tensor> Missing(const OpKernelContext& ctx, const TensorList& list,
                                 const PartialTensorShape& argument) const {
    ASSIGN_OR_RETURN(PartialTensorShape shape, argument.MergeWith(list.element_shape));
    const bool ask_elements = !shape.IsFullyDefined();
    for (const std::optional<Tensor>& element : list.elements) {
      if (!ask_elements || !element.has_value()) continue;
      ASSIGN_OR_RETURN(shape, shape.MergeWith(element->shape()));
    }
    if (!shape.IsFullyDefined()) {
      return errors::InvalidArgument("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                                     shape.ToString(), " and no list element is set.");
    }
    ASSIGN_OR_RETURN(const TensorShape known, shape.AsTensorShape());
    return memory().Zeros(ctx, list.dtype, known);
  }
};

class SetItemKernel : public CheapListKernel {
 public:
  using CheapListKernel::CheapListKernel;
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

 private:
  bool resize_ = false;
};

class LengthKernel : public CheapListKernel {
 public:
  using CheapListKernel::CheapListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(list->elements.size())));
    return absl::OkStatus();
  }
};

class ElementShapeKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    const PartialTensorShape& shape = list->element_shape;
    const bool wide = ctx.expected_output_dtype(0) == DT_INT64;
    const int64_t unknown[] = {-1};
    const absl::Span<const int64_t> dims = shape.unknown_rank() ? absl::MakeConstSpan(unknown) : shape.dim_sizes();
    Tensor output(ctx.expected_output_dtype(0), shape.unknown_rank() ? TensorShape() : TensorShape({shape.dims()}));
    for (size_t i = 0; i < dims.size(); ++i) {
      if (wide) {
        output.data<int64_t>()[i] = dims[i];
      } else {
        output.data<int32_t>()[i] = static_cast<int32_t>(dims[i]);
      }
    }
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
};

// Element-wise over handles of one shape: the lists of the first, then those of the second.
class ConcatListsKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
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
      if (first->elements.size() + second->elements.size() > TensorList::kMaxSize) {
        return errors::InvalidArgument("Lists of ", first->elements.size(), " and ", second->elements.size(),
                                       " elements make one that is too long: it may have ", TensorList::kMaxSize);
      }
      if (first->element_shape != second->element_shape) {
        return errors::InvalidArgument("input_a and input_b TensorList element shapes are not identical at index ", i,
                                       ".  Saw ", first->element_shape.ToString(), " vs. ",
                                       second->element_shape.ToString());
      }
      auto list = std::make_shared<TensorList>(*first);
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
class PushBackBatchKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& handles = ctx.input(0);
    const Tensor& rows = ctx.input(1);
    if (rows.dims() < 1 || rows.dim_size(0) != handles.NumElements()) {
      return errors::InvalidArgument("Expected tensor.shape[0] == input_handles.size, but saw ",
                                     rows.dims() < 1 ? 0 : rows.dim_size(0), " vs. ", handles.NumElements());
    }
    ASSIGN_OR_RETURN(const std::vector<Tensor> elements, RowsOf(ctx, memory(), rows));
    Tensor output(DT_VARIANT, handles.shape());
    for (int64_t i = 0; i < handles.NumElements(); ++i) {
      const TensorList* const list = handles.data<Variant>()[i].get<TensorList>();
      if (list == nullptr) return errors::InvalidArgument("Input handle ", i, " is not a list");
      const Tensor& row = elements[i];
      RETURN_IF_ERROR(CheckRow(*list, row, i));
      auto longer = std::make_shared<TensorList>(*list);
      RETURN_IF_ERROR(longer->Admit(row));
      longer->elements.emplace_back(row);
      output.data<Variant>()[i] = Variant(std::move(longer));
    }
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }

 private:
  // max_num_elements is not checked.
  static absl::Status CheckRow(const TensorList& list, const Tensor& row, int64_t i) {
    if (list.dtype != row.dtype()) {
      return errors::InvalidArgument("Invalid data type at index ", i, "; op elements ", DataTypeName(row.dtype()),
                                     " but list elements ", DataTypeName(list.dtype));
    }
    if (!list.element_shape.IsCompatibleWith(row.shape())) {
      return errors::InvalidArgument("Tried to append a tensor with incompatible shape to a list at index ", i,
                                     ". Op element shape: ", row.shape().ToString(),
                                     " list shape: ", list.element_shape.ToString());
    }
    if (static_cast<int64_t>(list.elements.size()) < TensorList::kMaxSize) return absl::OkStatus();
    return errors::InvalidArgument("The list at index ", i, " is full");
  }
};

class ResizeKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
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
  constexpr char kType[] = "element_dtype";
  const auto on = [](const char* op, std::initializer_list<const char*> host_args) {
    Kernel kernel(op);
    for (const char* arg : host_args) kernel.HostMemory(arg);
    return kernel;
  };
  RETURN_IF_ERROR(RegisterSequenceKernel<ReserveKernel>(
      kernels, on("EmptyTensorList", {"element_shape", "max_num_elements"}), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<ReserveKernel>(
      kernels, on("TensorListReserve", {"element_shape", "num_elements"}), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<PushBackKernel>(kernels, on("TensorListPushBack", {}), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<PopBackKernel>(kernels, on("TensorListPopBack", {"element_shape"}), kType));
  RETURN_IF_ERROR(
      RegisterSequenceKernel<GetItemKernel>(kernels, on("TensorListGetItem", {"index", "element_shape"}), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<SetItemKernel>(kernels, on("TensorListSetItem", {"index"}), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<LengthKernel>(kernels, on("TensorListLength", {"length"})));
  RETURN_IF_ERROR(RegisterSequenceKernel<ElementShapeKernel>(kernels, on("TensorListElementShape", {"element_shape"})));
  RETURN_IF_ERROR(RegisterSequenceKernel<ConcatListsKernel>(kernels, on("TensorListConcatLists", {}), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<PushBackBatchKernel>(kernels, on("TensorListPushBackBatch", {}), kType));
  RETURN_IF_ERROR(RegisterSequenceKernel<ResizeKernel>(kernels, on("TensorListResize", {"size"})));
  return absl::OkStatus();
}

}  // namespace weir
