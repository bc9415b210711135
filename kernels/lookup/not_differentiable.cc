// The ops of this family through which no gradient flows.
#include "kernels/lookup/family.h"

namespace weir {

absl::Status RegisterLookupNotDifferentiable(OpRegistry& ops) {
  for (const char* op :
       {"HashTable", "HashTableV2", "InitializeTable", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2",
        "InitializeTableV2", "LookupTableExport", "LookupTableExportV2", "LookupTableFind", "LookupTableFindV2",
        "LookupTableInsert", "LookupTableInsertV2", "LookupTableSize", "LookupTableSizeV2", "MutableDenseHashTableV2",
        "MutableHashTable", "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableHashTableV2"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
