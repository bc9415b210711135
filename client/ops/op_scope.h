// The first argument of op wrappers and layers.
#pragma once

#include "client/ops/source_line.h"
#include "client/scope.h"
#include "core/api.h"

namespace WEIR_API weir {

// A scope and the line of the program that passes it. A Scope converts to it at the call, so errors about an op can
// name the line that built it. Only for parameters: it refers to the scope.
//
// A function that builds several ops takes an OpScope and works with Located(): its ops then have its caller's line.
class OpScope {
 public:
  OpScope(const Scope& scope,  // NOLINT(google-explicit-constructor): arguments read as scopes
          const SourceLine& at = SourceLine::Here())
      : scope_(scope), at_(at) {}

  const Scope& scope() const { return scope_; }
  const SourceLine& line() const { return at_; }
  // The scope, all of whose ops have this line.
  Scope Located() const { return scope_.WithLine(at_); }

 private:
  const Scope& scope_;
  const SourceLine at_;
};

}  // namespace weir
