#include "core/cuda/cupti/cupti_functions.h"

#include "core/shared_library.h"

namespace weir {
namespace {

absl::StatusOr<CuptiFunctions> Load() {
  ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open("CUPTI", {"libcupti.so.13", WEIR_CUPTI_LIBRARY}));
  CuptiFunctions f = {};
  RETURN_IF_ERROR(library.Find({{"cuptiGetResultString", &f.GetResultString},
                                {"cuptiGetTimestamp", &f.GetTimestamp},
                                {"cuptiSetThreadIdType", &f.SetThreadIdType},
                                {"cuptiActivityRegisterCallbacks", &f.RegisterCallbacks},
                                {"cuptiActivityEnable", &f.Enable},
                                {"cuptiActivityDisable", &f.Disable},
                                {"cuptiActivityFlushAll", &f.FlushAll},
                                {"cuptiActivityGetNextRecord", &f.GetNextRecord}}));
  return f;
}

}  // namespace

absl::Status CuptiFunctions::StatusOf(CUptiResult result, absl::string_view what) const {
  if (result == CUPTI_SUCCESS) return absl::OkStatus();
  const char* text = nullptr;
  GetResultString(result, &text);
  return errors::Unavailable("CUPTI: ", what, ": ", text == nullptr ? "unknown" : text, " (", result, ")");
}

absl::StatusOr<const CuptiFunctions*> LoadCupti() {
  static const auto* const loaded = new absl::StatusOr<CuptiFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace weir
