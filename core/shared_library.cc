#include "core/shared_library.h"

#include <dlfcn.h>

#include <cstring>

namespace weir {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(absl::string_view what, absl::Span<const char* const> paths) {
  std::string reason;
  for (const char* path : paths) {
    if (*path == '\0') continue;
    if (void* const handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
      return SharedLibrary(path, handle);
    }
    if (reason.empty()) reason = ::dlerror();
  }
  return errors::Unavailable(what, " cannot be loaded: ", reason);
}

absl::Status SharedLibrary::Find(std::initializer_list<Symbol> symbols) const {
  for (const Symbol& symbol : symbols) {
    void* const found = ::dlsym(handle_, symbol.name);
    if (found == nullptr) return errors::Unavailable(name_, " has no ", symbol.name, ": it is too old");
    std::memcpy(symbol.pointer, &found, sizeof(found));
  }
  return absl::OkStatus();
}

}  // namespace weir
