// Datasets of numbers and of tensors in memory.
#include <algorithm>

#include "core/tensor/numeric_types.h"
#include "kernels/data/dataset_kernel.h"
#include "kernels/data/family.h"
#include "kernels/data/indexed_dataset.h"

namespace weir {
namespace {

std::vector<PartialTensorShape> ShapesOf(const Element& element) {
  std::vector<PartialTensorShape> shapes;
  for (const Tensor& tensor : element) shapes.emplace_back(tensor.shape());
  return shapes;
}

DataTypeVector TypesOf(const Element& element) {
  DataTypeVector types;
  for (const Tensor& tensor : element) types.push_back(tensor.dtype());
  return types;
}

// --- Range ---

absl::StatusOr<Tensor> Number(DataType dtype, int64_t value) {
  Tensor tensor(dtype, TensorShape());
  switch (dtype) {
#define WEIR_NUMBER(T)                     \
  case DataTypeOf<T>():                    \
    tensor.scalar<T>() = T(double(value)); \
    return tensor;
    WEIR_FOR_FLOATS(WEIR_NUMBER)
#undef WEIR_NUMBER
#define WEIR_NUMBER(T)                          \
  case DataTypeOf<T>():                         \
    tensor.scalar<T>() = static_cast<T>(value); \
    return tensor;
    WEIR_FOR_INTEGERS(WEIR_NUMBER)
#undef WEIR_NUMBER
    default:
      return errors::InvalidArgument("Unsupported data type: ", DataTypeName(dtype));
  }
}

class RangeDataset : public IndexedDataset {
 public:
  RangeDataset(DataType dtype, int64_t start, int64_t stop, int64_t step)
      : IndexedDataset({"Range", {dtype}, {TensorShape()}, {}}),
        start_(start),
        step_(step),
        is_open_(stop == INT64_MAX) {
    const __int128 span = __int128{stop} - start;
    const __int128 count = span / step + (span % step != 0);
    if ((span > 0) == (step > 0)) size_ = static_cast<int64_t>(std::min<__int128>(count, INT64_MAX));
  }
  // enumerate zips its input with a range up to the largest number.
  int64_t CountElements(IteratorContext*) const override { return is_open_ ? kInfiniteCardinality : size_; }
  int64_t size() const override { return size_; }

 protected:
  absl::Status GetElement(IteratorContext&, int64_t index, Element* element) const override {
    const auto value = static_cast<int64_t>(__int128{start_} + __int128{index} * step_);
    ASSIGN_OR_RETURN(Tensor number, Number(output_types()[0], value));
    *element = {std::move(number)};
    return absl::OkStatus();
  }

 private:
  const int64_t start_, step_;
  const bool is_open_;
  int64_t size_ = 0;
};

class RangeKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    ASSIGN_OR_RETURN(const int64_t start, inputs.Int("start"));
    ASSIGN_OR_RETURN(const int64_t stop, inputs.Int("stop"));
    ASSIGN_OR_RETURN(const int64_t step, inputs.Int("step"));
    if (step == 0) return errors::InvalidArgument("step must be a non-zero integer.");
    if (inputs.node().output_types().size() != 1) return errors::InvalidArgument("A range has one component");
    const DataType dtype = inputs.node().output_types()[0];
    RETURN_IF_ERROR(Number(dtype, 0).status());
    return std::make_shared<RangeDataset>(dtype, start, stop, step);
  }
};

// --- Tensors ---

class TensorDataset : public IndexedDataset {
 public:
  explicit TensorDataset(Element element)
      : IndexedDataset({"Tensor", TypesOf(element), ShapesOf(element), {}}), element_(std::move(element)) {}
  int64_t CountElements(IteratorContext*) const override { return 1; }

 protected:
  absl::Status GetElement(IteratorContext&, int64_t, Element* element) const override {
    *element = element_;
    return absl::OkStatus();
  }

 private:
  const Element element_;
};

class TensorKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    return std::make_shared<TensorDataset>(inputs.List("components"));
  }
};

// --- Rows of tensors ---

std::vector<PartialTensorShape> RowShapes(const Element& components) {
  std::vector<PartialTensorShape> shapes;
  for (const Tensor& tensor : components) {
    TensorShape shape = tensor.shape();
    shape.RemoveDim(0);
    shapes.emplace_back(shape);
  }
  return shapes;
}

class TensorSliceDataset : public IndexedDataset {
 public:
  explicit TensorSliceDataset(Element components)
      : IndexedDataset({"TensorSlice", TypesOf(components), RowShapes(components), {}}),
        components_(std::move(components)) {}
  int64_t CountElements(IteratorContext*) const override { return components_[0].dim_size(0); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    element->clear();
    for (const Tensor& component : components_) {
      Tensor row = component.SubSlice(index);
      if (IsPlainType(row.dtype()) && !row.IsAligned()) {
        ASSIGN_OR_RETURN(row, row.DeepCopy(ctx.allocator()));
      }
      element->push_back(std::move(row));
    }
    return absl::OkStatus();
  }

 private:
  const Element components_;
};

class TensorSliceKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    Element components = inputs.List("components");
    for (const Tensor& component : components) {
      if (component.dims() < 1) return errors::InvalidArgument("All components must be at least 1-dimensional");
      if (component.dim_size(0) != components[0].dim_size(0)) {
        return errors::InvalidArgument("All components must have the same size in the 0th dimension");
      }
    }
    if (components.empty()) return errors::InvalidArgument("A dataset of slices needs a component");
    return std::make_shared<TensorSliceDataset>(std::move(components));
  }
};

class ListDataset : public IndexedDataset {
 public:
  ListDataset(Element tensors, DataTypeVector types, std::vector<PartialTensorShape> shapes)
      : IndexedDataset({"List", std::move(types), std::move(shapes), {}}), tensors_(std::move(tensors)) {}
  int64_t CountElements(IteratorContext*) const override {
    return static_cast<int64_t>(tensors_.size() / output_types().size());
  }

 protected:
  absl::Status GetElement(IteratorContext&, int64_t index, Element* element) const override {
    const size_t width = output_types().size();
    element->assign(tensors_.begin() + index * width, tensors_.begin() + (index + 1) * width);
    return absl::OkStatus();
  }

 private:
  const Element tensors_;
};

class ListKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    Element tensors = inputs.List("tensors");
    const DataTypeVector& types = inputs.node().output_types();
    bool agrees = !types.empty() && tensors.size() % types.size() == 0;
    for (size_t i = 0; agrees && i < tensors.size(); ++i) agrees = tensors[i].dtype() == types[i % types.size()];
    if (!agrees) return errors::InvalidArgument("The tensors of a list do not have the types of its elements");
    return std::make_shared<ListDataset>(std::move(tensors), types, inputs.node().output_shapes());
  }
};

// --- Rows of a sparse tensor ---

PartialTensorShape Partial(std::initializer_list<int64_t> dims) {
  return *PartialTensorShape::Build(absl::MakeConstSpan(dims.begin(), dims.size()));
}

// Indices are sorted by their first coordinate, which is within the shape; row_begin_ says where each row's begin.
class SparseTensorSliceDataset : public IndexedDataset {
 public:
  SparseTensorSliceDataset(Tensor indices, Tensor values, Tensor shape)
      : IndexedDataset({"SparseTensorSlice",
                        {DT_INT64, values.dtype(), DT_INT64},
                        {Partial({-1, shape.NumElements() - 1}), Partial({-1}), Partial({shape.NumElements() - 1})},
                        {}}),
        indices_(std::move(indices)),
        values_(std::move(values)),
        shape_(std::move(shape)) {}
  int64_t CountElements(IteratorContext*) const override { return shape_.data<int64_t>()[0]; }
  bool HasRandomAccess() const override { return false; }
  absl::Status CheckGlobalShuffle() const override { return DatasetBase::CheckGlobalShuffle(); }

 protected:
  absl::Status GetElement(IteratorContext& ctx, int64_t index, Element* element) const override {
    const int64_t rank = shape_.NumElements(), entries = indices_.dim_size(0);
    const int64_t* const at = indices_.data<int64_t>();
    const auto first_entry = [&](int64_t row) {
      int64_t low = 0, high = entries;
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (at[middle * rank] < row) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    };
    const int64_t begin = first_entry(index), end = first_entry(index + 1);
    ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(ctx.allocator(), DT_INT64, {end - begin, rank - 1}));
    for (int64_t i = begin; i < end; ++i) {
      std::copy(at + i * rank + 1, at + (i + 1) * rank, indices.data<int64_t>() + (i - begin) * (rank - 1));
    }
    ASSIGN_OR_RETURN(Tensor values, values_.Slice(begin, end).DeepCopy(ctx.allocator()));
    *element = {std::move(indices), std::move(values), Tensor::Vector(shape_.flat<int64_t>().subspan(1))};
    return absl::OkStatus();
  }

 private:
  const Tensor indices_, values_, shape_;
};

class SparseTensorSliceKernel : public DatasetKernel {
 protected:
  absl::StatusOr<std::shared_ptr<DatasetBase>> MakeDataset(const NodeInputs& inputs) override {
    Tensor indices = inputs.Get("indices"), values = inputs.Get("values"), shape = inputs.Get("dense_shape");
    if (indices.dims() != 2) {
      return errors::InvalidArgument("Input indices must be a matrix. Got: ", indices.shape().ToString());
    }
    if (values.dims() != 1) {
      return errors::InvalidArgument("Input values must be a vector. Got: ", values.shape().ToString());
    }
    if (shape.dims() != 1) {
      return errors::InvalidArgument("Input shape must be a vector. Got: ", shape.shape().ToString());
    }
    if (values.dim_size(0) != indices.dim_size(0)) {
      return errors::InvalidArgument("Number of values must match first dimension of indices. Got ", values.dim_size(0),
                                     " values, indices shape: ", indices.shape().ToString());
    }
    if (shape.dim_size(0) != indices.dim_size(1)) {
      return errors::InvalidArgument("Number of dimensions must match second dimension of indices. Got ",
                                     shape.dim_size(0), " dimensions, indices shape: ", indices.shape().ToString());
    }
    if (shape.NumElements() < 1) {
      return errors::InvalidArgument("The shape argument requires at least one element.");
    }
    const int64_t rank = shape.NumElements(), rows = shape.data<int64_t>()[0];
    if (rows < 0) return errors::InvalidArgument("The dense shape has a negative size ", rows);
    int64_t previous = 0;
    for (int64_t i = 0; i < indices.dim_size(0); ++i) {
      const int64_t row = indices.data<int64_t>()[i * rank];
      if (row < previous) {
        return errors::Unimplemented(
            "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not "
            "currently supported.");
      }
      if (row >= rows) return errors::InvalidArgument("Index ", row, " is outside of the ", rows, " rows");
      previous = row;
    }
    return std::make_shared<SparseTensorSliceDataset>(std::move(indices), std::move(values), std::move(shape));
  }
};

}  // namespace

absl::Status RegisterTensorSourceKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<RangeKernel>(Kernel("RangeDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TensorKernel>(Kernel("TensorDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<TensorSliceKernel>(Kernel("TensorSliceDataset").Cpu()));
  RETURN_IF_ERROR(kernels.Register<ListKernel>(Kernel("ListDataset").Cpu()));
  return kernels.Register<SparseTensorSliceKernel>(Kernel("SparseTensorSliceDataset").Cpu());
}

}  // namespace weir
