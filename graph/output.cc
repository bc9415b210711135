#include "graph/output.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/graph.h"

namespace weir {

std::string Operation::name() const { return valid() ? node_->name() : ""; }

DataType Output::type() const { return valid() ? RemoveRef(node()->output_type(index_)) : DT_INVALID; }
std::string Output::name() const { return absl::StrCat(op_.name(), ":", index_); }

Input::Input(Output output) : output_(output) {}
Input::Input(Tensor tensor) : tensor_(std::move(tensor)), is_constant_(true) {}
Input::Input(const char* value) : tensor_(Tensor::Scalar<tstring>(value)), is_constant_(true), is_literal_(true) {}
Input::Input(Literal, Tensor tensor) : tensor_(std::move(tensor)), is_constant_(true), is_literal_(true) {}
Input::Input(const Input&) = default;
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(const Input&) = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

}  // namespace weir
