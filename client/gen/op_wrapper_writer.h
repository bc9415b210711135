// Generates an op's C++ wrapper from its definition.
#pragma once

#include <string>
#include <vector>

#include "client/gen/op_descriptions.h"

namespace tensorflow {
class OpDef;
}

namespace weir {

// Whether `op` gets a wrapper; internal ops ('_…') do not.
bool HasWrapper(const tensorflow::OpDef& op);
// Declarations: the struct of optional attributes, the struct of outputs if there are several, and the function with
// its description, if it has one.
std::string WrapperDeclaration(const tensorflow::OpDef& op, const OpDescriptions& descriptions);
std::string WrapperDefinition(const tensorflow::OpDef& op);
// Complete files.
std::string WrapperHeader(const std::vector<const tensorflow::OpDef*>& ops, const OpDescriptions& descriptions);
std::string WrapperSource(const std::vector<const tensorflow::OpDef*>& ops);

}  // namespace weir
