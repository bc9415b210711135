// CUPTI's functions, found when the process first asks for them: no program needs libcupti to start.
#pragma once

#include <cupti.h>

#include "core/status.h"

namespace weir {

struct CuptiFunctions {
  decltype(&::cuptiGetResultString) GetResultString;
  decltype(&::cuptiGetTimestamp) GetTimestamp;
  decltype(&::cuptiSetThreadIdType) SetThreadIdType;
  decltype(&::cuptiActivityRegisterCallbacks) RegisterCallbacks;
  decltype(&::cuptiActivityEnable) Enable;
  decltype(&::cuptiActivityDisable) Disable;
  decltype(&::cuptiActivityFlushAll) FlushAll;
  decltype(&::cuptiActivityGetNextRecord) GetNextRecord;

  // UNAVAILABLE for whatever is no success: somebody else may trace, or the machine's rules may forbid it.
  absl::Status StatusOf(CUptiResult result, absl::string_view what) const;
};

// Of libcupti.so of the toolkit's major version on the loader's path, or else of the one that the build found. It stays
// loaded. UNAVAILABLE, with the loader's reason, where there is none.
absl::StatusOr<const CuptiFunctions*> LoadCupti();

}  // namespace weir
