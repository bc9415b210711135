#include "kernels/data/dataset.h"

#include <algorithm>

#include "core/memory/out_of_memory.h"
#include "core/tensor/variant_registry.h"
#include "kernels/data/captured_function.h"
#include "kernels/data/element_list.h"
#include "kernels/device/variant_nesting.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

constexpr char kVariantTypeName[] = "tensorflow::DatasetVariantWrapper";  // as in DatasetVariant::TypeName

}  // namespace

IteratorRoot::IteratorRoot(Device* device, std::string session_handle)
    : device_(device), session_handle_(std::move(session_handle)), functions_(std::make_unique<FunctionPool>()) {}
IteratorRoot::~IteratorRoot() = default;

absl::Status IteratorContext::CheckCancelled() const {
  if (cancellation->IsCancelled()) return cancellation->status();
  return root->cancellation().status();
}

IteratorContext IteratorContext::Background() const {
  IteratorContext ctx = *this;
  ctx.cancellation = &root->cancellation();
  return ctx;
}

absl::StatusOr<bool> IteratorBase::GetNext(IteratorContext& ctx, Element* element) {
  if (at_end_) return false;
  RETURN_IF_ERROR(ctx.CheckCancelled());
  absl::StatusOr<bool> more = OrOutOfMemory([&] { return Next(ctx, element); });
  if (absl::IsOutOfRange(more.status())) {
    // From a user's function: to readers it would look like the end of the sequence.
    return errors::Internal("Iterator returned `OutOfRange`. This indicates an implementation error as `OutOfRange` ",
                            "errors are not expected to be returned here. Original message: ", more.status().message());
  }
  RETURN_IF_ERROR(more.status());
  at_end_ = !*more;
  return more;
}

absl::Status IteratorBase::Save(IteratorContext& ctx, StateWriter writer) {
  writer.Int("at_end", at_end_ ? 1 : 0);
  return at_end_ ? absl::OkStatus() : SaveState(ctx, writer);
}

absl::Status IteratorBase::Restore(IteratorContext& ctx, const StateReader& reader) {
  RETURN_IF_ERROR(ctx.CheckCancelled());
  ASSIGN_OR_RETURN(at_end_, reader.Int("at_end", 0, 1));
  return at_end_ ? absl::OkStatus() : RestoreState(ctx, reader);
}

DatasetBase::DatasetBase(Spec spec) : spec_(std::move(spec)) {
  for (const DatasetPtr& input : spec_.inputs) depth_ = std::max(depth_, input->depth() + 1);
}
DatasetBase::~DatasetBase() = default;

void DatasetBase::set_origin(DatasetOrigin origin) {
  for (const Tensor& input : origin.inputs) {
    if (input.dtype() == DT_VARIANT) depth_ = std::max(depth_, VariantDepth(input) + 1);
  }
  origin_ = std::move(origin);
}

absl::StatusOr<IteratorPtr> DatasetBase::MakeIterator(IteratorContext& ctx) const {
  IteratorPtr iterator = NewIterator();
  RETURN_IF_ERROR(iterator->Initialize(ctx));
  return iterator;
}

absl::Status DatasetBase::CheckGlobalShuffle() const {
  const std::string op = origin_.node != nullptr ? origin_.node->op() : type() + "Dataset";
  return errors::FailedPrecondition(op, " does not support random access.");
}

absl::Status DatasetBase::CheckInputsGlobalShuffle() const {
  for (const DatasetPtr& input : inputs()) RETURN_IF_ERROR(input->CheckGlobalShuffle());
  return absl::OkStatus();
}

absl::Status DatasetBase::Get(IteratorContext& ctx, int64_t index, Element* element) const {
  if (!HasRandomAccess() && !ctx.global_shuffle) {
    return errors::Unimplemented("Random access is not implemented for dataset ", DebugString());
  }
  RETURN_IF_ERROR(CheckIndex(ctx, index));
  RETURN_IF_ERROR(ctx.CheckCancelled());
  return GetElement(ctx, index, element);
}

absl::Status DatasetBase::CheckIndex(const IteratorContext& ctx, int64_t index) const {
  const int64_t cardinality = Cardinality();
  if (cardinality == kInfiniteCardinality && ctx.global_shuffle && index >= 0) return absl::OkStatus();
  if (cardinality < 0) {
    return errors::FailedPrecondition("Dataset of type ", DebugString(), " has ",
                                      cardinality == kInfiniteCardinality ? "infinite" : "unknown",
                                      " cardinality, which does not support random access.");
  }
  if (index >= 0 && index < cardinality) return absl::OkStatus();
  return errors::OutOfRange("Index out of range [0, ", cardinality, "):", index);
}

absl::Status DatasetBase::GetElement(IteratorContext&, int64_t, Element*) const {
  return errors::Unimplemented("Random access is not implemented for dataset ", DebugString());
}

absl::Status SaveOptional(IteratorContext& ctx, StateWriter writer, absl::string_view name, IteratorBase* iterator) {
  writer.Int(absl::StrCat(name, "_present"), iterator != nullptr ? 1 : 0);
  return iterator == nullptr ? absl::OkStatus() : iterator->Save(ctx, writer.Scope(name));
}

absl::Status RestoreOptional(IteratorContext& ctx, const StateReader& reader, absl::string_view name,
                             const DatasetBase& dataset, IteratorPtr* iterator) {
  iterator->reset();
  ASSIGN_OR_RETURN(const int64_t present, reader.Int(absl::StrCat(name, "_present"), 0, 1));
  if (present == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(*iterator, dataset.MakeIterator(ctx));
  return (*iterator)->Restore(ctx, reader.Scope(name));
}

absl::Status CheckElement(const Element& element, const DataTypeVector& types) {
  if (element.size() != types.size()) {
    return errors::InvalidArgument("An element has ", element.size(), " components where the dataset has ",
                                   types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (element[i].dtype() == types[i]) continue;
    return errors::InvalidArgument("Component ", i, " of an element is ", DataTypeName(element[i].dtype()),
                                   " where the dataset has ", DataTypeName(types[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckTypesMatch(const DataTypeVector& expected, const DataTypeVector& actual) {
  if (expected.size() != actual.size()) {
    return errors::InvalidArgument("Number of components does not match: expected ", expected.size(), " types but got ",
                                   actual.size(), ".");
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == actual[i]) continue;
    return errors::InvalidArgument("Data type mismatch at component ", i, ": expected ", DataTypeName(expected[i]),
                                   " but got ", DataTypeName(actual[i]), ".");
  }
  return absl::OkStatus();
}

absl::Status CheckShapesCompatible(const std::vector<PartialTensorShape>& expected,
                                   const std::vector<PartialTensorShape>& actual) {
  if (expected.size() != actual.size()) {
    return errors::InvalidArgument("Number of components does not match: expected ", expected.size(),
                                   " shapes but got ", actual.size(), ".");
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].IsCompatibleWith(actual[i])) continue;
    return errors::InvalidArgument("Incompatible shapes at component ", i, ": expected ", expected[i].ToString(),
                                   " but got ", actual[i].ToString(), ".");
  }
  return absl::OkStatus();
}

absl::Status DatasetVariant::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  if (const auto* list = dynamic_cast<const ElementListDataset*>(dataset_.get())) {
    *tensors = list->Encode(metadata);
    return absl::OkStatus();
  }
  return errors::Unimplemented("A dataset cannot leave its task: a ", DebugString(),
                               " would have to be sent; make it on the device that uses it");
}

Tensor DatasetTensor(DatasetPtr dataset) {
  return Tensor::Scalar(Variant(std::make_shared<DatasetVariant>(std::move(dataset))));
}

absl::StatusOr<DatasetPtr> DatasetFromTensor(const Tensor& tensor) {
  if (tensor.dtype() != DT_VARIANT || tensor.dims() != 0 || !tensor.IsInitialized()) {
    return errors::InvalidArgument("Dataset tensor must be a scalar of dtype DT_VARIANT.");
  }
  const Variant& variant = tensor.scalar<Variant>();
  if (const auto* dataset = variant.get<DatasetVariant>()) return dataset->dataset();
  const auto* encoded = variant.get<EncodedVariant>();
  if (encoded == nullptr || encoded->TypeName() != kVariantTypeName) {
    return errors::InvalidArgument("Tensor must be a Dataset object.");
  }
  return ElementListDataset::Decode(encoded->metadata(), encoded->tensors());
}

}  // namespace weir
