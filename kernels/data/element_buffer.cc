#include "kernels/data/element_buffer.h"

#include <algorithm>
#include <cstring>

#include "core/memory/memory_info.h"
#include "core/tensor/resource_handle.h"

namespace weir {
namespace {

int64_t MemoryLimit() {
  static const int64_t limit = PhysicalMemory() / 2;
  return limit;
}

}  // namespace

int64_t ElementBytes(const Element& element) {
  int64_t bytes = sizeof(Element);
  for (const Tensor& tensor : element) {
    bytes += static_cast<int64_t>(sizeof(Tensor)) + 64 + tensor.TotalBytes();
    if (tensor.dtype() != DT_STRING) continue;
    for (const tstring& value : tensor.flat<tstring>()) bytes += static_cast<int64_t>(value.size());
  }
  return bytes;
}

absl::Status BufferLimit::Add(const Element& element, absl::string_view what) {
  bytes_ += ElementBytes(element);
  if (bytes_ <= MemoryLimit()) return absl::OkStatus();
  return errors::ResourceExhausted("The buffer of ", what, " would hold more than ", MemoryLimit() >> 20,
                                   " MiB, half of this machine's memory");
}

void CopyElements(const Tensor& from, Tensor& to, int64_t offset) {
  const int64_t count = from.NumElements();
  if (count == 0) return;
  switch (from.dtype()) {
    case DT_STRING:
      std::copy_n(from.data<tstring>(), count, to.data<tstring>() + offset);
      break;
    case DT_VARIANT:
      std::copy_n(from.data<Variant>(), count, to.data<Variant>() + offset);
      break;
    case DT_RESOURCE:
      std::copy_n(from.data<ResourceHandle>(), count, to.data<ResourceHandle>() + offset);
      break;
    default: {
      const size_t size = DataTypeSize(from.dtype());
      std::memcpy(static_cast<char*>(to.raw_data()) + offset * size, from.raw_data(), count * size);
    }
  }
}

absl::StatusOr<Element> StackElements(IteratorContext& ctx, const std::vector<Element>& elements) {
  const Element& first = elements[0];
  Element result;
  for (size_t c = 0; c < first.size(); ++c) {
    for (size_t i = 0; i < elements.size(); ++i) {
      if (elements[i].size() != first.size()) {
        return errors::InvalidArgument("Cannot batch elements with ", first.size(), " and with ", elements[i].size(),
                                       " components");
      }
      const Tensor& tensor = elements[i][c];
      if (tensor.dtype() != first[c].dtype()) {
        return errors::InvalidArgument("Cannot batch tensors of different types in component ", c, ": ",
                                       DataTypeName(first[c].dtype()), " and ", DataTypeName(tensor.dtype()));
      }
      if (tensor.shape() == first[c].shape()) continue;
      return errors::InvalidArgument("Cannot batch tensors with different shapes in component ", c,
                                     ". First element had shape ", first[c].shape().ToString(), " and element ", i,
                                     " had shape ", tensor.shape().ToString(), ".");
    }
    TensorShape shape = first[c].shape();
    RETURN_IF_ERROR(shape.InsertDim(0, static_cast<int64_t>(elements.size())));
    ASSIGN_OR_RETURN(Tensor batch, Tensor::Allocate(ctx.allocator(), first[c].dtype(), shape));
    const int64_t row = first[c].NumElements();
    for (size_t i = 0; i < elements.size(); ++i) CopyElements(elements[i][c], batch, static_cast<int64_t>(i) * row);
    result.push_back(std::move(batch));
  }
  return result;
}

void SaveElements(StateWriter writer, absl::string_view name, const std::deque<Element>& elements) {
  writer.Int(absl::StrCat(name, "_count"), static_cast<int64_t>(elements.size()));
  for (size_t i = 0; i < elements.size(); ++i) writer.Tensors(absl::StrCat(name, i), elements[i]);
}

absl::Status RestoreElements(const StateReader& reader, absl::string_view name, const DataTypeVector& types,
                             std::deque<Element>* elements) {
  ASSIGN_OR_RETURN(const int64_t count, reader.Int(absl::StrCat(name, "_count"), 0, reader.size()));
  elements->clear();
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(elements->emplace_back(), reader.Tensors(absl::StrCat(name, i), types));
  }
  return absl::OkStatus();
}

}  // namespace weir
