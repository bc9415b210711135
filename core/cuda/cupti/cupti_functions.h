// CUPTI's functions, resolved on first use: no program needs libcupti to start.
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

  // UNAVAILABLE for any failure: another tracer may be active, or the machine may forbid tracing.
  absl::Status StatusOf(CUptiResult result, absl::string_view what) const;
};

// Loads libcupti.so of the toolkit's major version from the loader's path, or else the one found at build time. It
// stays loaded. UNAVAILABLE, with the loader's reason, if there is none.
absl::StatusOr<const CuptiFunctions*> LoadCupti();

}  // namespace weir
