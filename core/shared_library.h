// Optional libraries, loaded on first use.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/types/span.h"
#include "core/status.h"

namespace weir {

// A library of C functions. It stays loaded until the process ends, even after this object is destroyed. Thread-safe.
class SharedLibrary {
 public:
  // A function's name, and the pointer to set.
  struct Symbol {
    template <typename Function>
    Symbol(const char* name_in, Function** function) : name(name_in), pointer(function) {}

    const char* name;
    void* pointer;
  };

  // Loads the first of `paths` that the loader finds by its own rules; empty ones are skipped. UNAVAILABLE, with the
  // loader's error for the first, if it finds none. Errors name `what`.
  static absl::StatusOr<SharedLibrary> Open(absl::string_view what, absl::Span<const char* const> paths);

  // Sets all pointers. UNAVAILABLE, naming the first function that is missing: the library is too old.
  absl::Status Find(std::initializer_list<Symbol> symbols) const;

 private:
  SharedLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}

  std::string name_;  // as loaded
  void* handle_;
};

}  // namespace weir
