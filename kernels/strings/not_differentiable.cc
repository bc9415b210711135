// The ops of this family through which no gradient flows.
#include "kernels/strings/family.h"

namespace weir {

absl::Status RegisterStringsNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"AsString", "DecodeBase64", "EncodeBase64", "Fingerprint", "ReduceJoin", "RegexReplace",
                         "StringJoin", "StringNGrams", "StringSplit", "StringToHashBucket", "StringToHashBucketFast",
                         "StringToHashBucketStrong", "StringToNumber", "UnicodeDecode", "UnicodeDecodeWithOffsets"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
