// The ops of this family through which no gradient flows.
#include "kernels/io/family.h"

namespace weir {

absl::Status RegisterIoNotDifferentiable(OpRegistry& ops) {
  for (const char* op :
       {"FixedLengthRecordReader", "GenerateVocabRemapping", "IdentityReader", "LoadAndRemapMatrix",
        "ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompleted", "ReaderRead", "ReaderReadUpTo", "ReaderReset",
        "ReaderRestoreState", "ReaderSerializeState", "TFRecordReader", "TextLineReader", "WholeFileReader"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
