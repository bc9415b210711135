// Libraries that a program can do without: found when it first asks for them.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/types/span.h"
#include "core/status.h"

namespace weir {

// A library of C functions. It stays loaded as long as the process runs, whatever becomes of this. Thread-safe.
class SharedLibrary {
 public:
  // A function's name, and the pointer that is to have it.
  struct Symbol {
    template <typename Function>
    Symbol(const char* name_in, Function** function) : name(name_in), pointer(function) {}

    const char* name;
    void* pointer;
  };

  // The first of `paths` that the loader finds, by its own rules; empty ones are left out. UNAVAILABLE, with what the
  // loader says of the first, where it finds none. Errors name `what`.
  static absl::StatusOr<SharedLibrary> Open(absl::string_view what, absl::Span<const char* const> paths);

  // Sets all pointers. UNAVAILABLE for the first function that the library lacks: it is too old.
  absl::Status Find(std::initializer_list<Symbol> symbols) const;

 private:
  SharedLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}

  std::string name_;  // as it was found
  void* handle_;
};

}  // namespace weir
