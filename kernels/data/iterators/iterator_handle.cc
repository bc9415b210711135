#include "kernels/data/iterators/iterator_handle.h"

namespace weir {

absl::Status NamedIterator::Init(OpKernelConstruction& ctx) {
  node_ = ctx.name();
  RETURN_IF_ERROR(ctx.GetAttr("shared_name", &shared_name_));
  RETURN_IF_ERROR(ctx.GetAttr("container", &container_));
  RETURN_IF_ERROR(ctx.GetAttr("output_types", &types_));
  RETURN_IF_ERROR(ctx.GetAttr("output_shapes", &shapes_));
  if (types_.size() == shapes_.size()) return absl::OkStatus();
  return errors::InvalidArgument("output_types and output_shapes must be same length:\noutput_types: ", types_.size(),
                                 "\noutput_shapes: ", shapes_.size());
}

NamedIterator::~NamedIterator() {
  MutexLock lock(mu_);
  if (resources_ == nullptr || !shared_name_.empty()) return;
  // Another may have taken its place after a Reset.
  absl::StatusOr<std::shared_ptr<IteratorResource>> there = resources_->Lookup<IteratorResource>(found_.handle);
  if (there.ok() && *there == found_.iterator) resources_->Delete(found_.handle).IgnoreError();
}

absl::StatusOr<NamedIterator::Found> NamedIterator::Find(OpKernelContext& ctx) {
  const std::string name = shared_name_.empty() ? absl::StrCat(ctx.step().session_handle, "/", node_) : shared_name_;
  const auto make = [this, &ctx]() -> absl::StatusOr<std::shared_ptr<IteratorResource>> {
    return std::make_shared<IteratorResource>(ctx.device(), types_, shapes_);
  };
  ASSIGN_OR_RETURN(std::shared_ptr<IteratorResource> iterator,
                   ctx.resources()->LookupOrCreate<IteratorResource>(container_, name, make));
  MutexLock lock(mu_);
  if (iterator != found_.iterator) {
    RETURN_IF_ERROR(iterator->CheckMatches(types_, shapes_));
    resources_ = ctx.resources();
    found_.handle =
        resources_->MakeHandle<IteratorResource>(ctx.device()->name(), container_, name, IteratorResource::kTypeName);
    found_.iterator = std::move(iterator);
  }
  return found_;
}

}  // namespace weir
