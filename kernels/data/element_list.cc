#include "kernels/data/element_list.h"

#include "core/op/attr_value.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

constexpr char kOp[] = "WeirElementList";

}  // namespace

std::vector<Tensor> ElementListDataset::Encode(std::string* metadata) const {
  tensorflow::NodeDef node;
  node.set_name(type());
  node.set_op(kOp);
  SetNodeAttr("output_types", output_types(), &node);
  SetNodeAttr("output_shapes", output_shapes(), &node);
  *metadata = node.SerializeAsString();
  std::vector<Tensor> tensors;
  for (const Element& element : elements_) tensors.insert(tensors.end(), element.begin(), element.end());
  return tensors;
}

absl::StatusOr<DatasetPtr> ElementListDataset::Decode(absl::string_view metadata, absl::Span<const Tensor> tensors) {
  tensorflow::NodeDef node;
  if (!node.ParseFromArray(metadata.data(), static_cast<int>(metadata.size())) || node.op() != kOp) {
    return errors::InvalidArgument("The variant holds no Dataset that Weir can read");
  }
  DataTypeVector types;
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(GetNodeAttr(node, "output_types", &types));
  RETURN_IF_ERROR(GetNodeAttr(node, "output_shapes", &shapes));
  if (types.empty() || types.size() != shapes.size() || tensors.size() % types.size() != 0) {
    return errors::InvalidArgument("An encoded dataset has ", tensors.size(), " tensors for elements of ", types.size(),
                                   " components and ", shapes.size(), " shapes");
  }
  std::vector<Element> elements;
  for (size_t i = 0; i < tensors.size(); i += types.size()) {
    elements.emplace_back(tensors.begin() + i, tensors.begin() + i + types.size());
    RETURN_IF_ERROR(CheckElement(elements.back(), types));
  }
  return std::make_shared<ElementListDataset>(node.name(), std::move(types), std::move(shapes), std::move(elements));
}

}  // namespace weir
