// The ops through which nothing flows: comparisons, shapes, integers, random numbers, changes of state. An op that is
// neither here nor has a gradient makes an error of a gradient that comes to it, as in TensorFlow.
#include "graph/gradients/families.h"
#include "graph/gradients/gradient_registry.h"

namespace weir {

absl::Status RegisterNotDifferentiable(GradientRegistry& registry) {
  // clang-format off
  for (const char* op : {
      "Abort", "AccumulatorTakeGradient", "AddManySparseToTensorsMap", "AddSparseToTensorsMap", "All",
      "AllCandidateSampler", "Any", "ApproximateEqual", "ArgMax", "ArgMin", "AsString", "Assert", "Assign",
      "AssignAdd", "AssignSub", "AudioSummary", "AudioSummaryV2", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
      "BroadcastArgs", "BroadcastGradientArgs", "Bucketize", "CTCBeamSearchDecoder", "CTCGreedyDecoder", "Ceil",
      "ComputeAccidentalHits", "ConcatOffset", "Const", "CountUpTo", "DataFormatDimMap", "DataFormatVecPermute",
      "DecodeBase64", "DecodeImage", "DecodePaddedRaw", "DecodePng", "DecodeRaw", "DecodeWebP", "DeleteSessionTensor",
      "DenseToDenseSetOperation", "DenseToSparseSetOperation", "DeserializeManySparse", "DrawBoundingBoxes",
      "EditDistance",
      "EmbeddingTableExport", "EmbeddingTableGather", "EmbeddingTableSend", "Empty", "EncodeBase64", "Equal", "ExtractGlimpse", "ExtractJpegShape",
      "FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVarsGradient",
      "FakeQuantWithMinMaxVarsPerChannelGradient", "Fingerprint", "FixedLengthRecordReader",
      "FixedUnigramCandidateSampler", "Floor", "FloorDiv", "GenerateVocabRemapping", "GetSessionHandle",
      "GetSessionHandleV2", "GetSessionTensor", "Greater", "GreaterEqual", "HSVToRGB", "HashTable", "HashTableV2",
      "HistogramFixedWidth", "HistogramSummary", "IdentityReader", "ImageSummary", "InTopK", "InTopKV2",
      "InitializeTable", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2", "InitializeTableV2",
      "Invert", "InvertPermutation", "IsFinite", "IsInf", "IsNan", "IsVariableInitialized", "IteratorGetNext",
      "IteratorGetNextSync", "LearnedUnigramCandidateSampler", "LeftShift", "Less", "LessEqual", "LinSpace",
      "LoadAndRemapMatrix", "LogUniformCandidateSampler", "LogicalAnd", "LogicalNot", "LogicalOr",
      "LookupTableExport", "LookupTableExportV2", "LookupTableFind", "LookupTableFindV2", "LookupTableInsert",
      "LookupTableInsertV2", "LookupTableSize", "LookupTableSizeV2", "LowerBound", "MergeSummary",
      "MultiDeviceIteratorGetNextFromShard", "Multinomial", "MutableDenseHashTableV2", "MutableHashTable",
      "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableHashTableV2", "NoOp",
      "NonDeterministicInts", "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionWithOverlaps", "NotEqual",
      "OneHot", "OnesLike", "OrderedMapPeek", "OrderedMapUnstage", "OrderedMapUnstageNoKey",
      "ParameterizedTruncatedNormal", "ParseTensor", "Placeholder", "PlaceholderV2", "PopulationCount", "PyFunc",
      "PyFuncStateless", "QueueClose", "QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "QueueEnqueue",
      "QueueEnqueueMany", "QueueSize", "RaggedRange", "RandomIndexShuffle", "RandomShuffle", "RandomStandardNormal",
      "RandomUniform", "RandomUniformInt", "Range", "Rank", "ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompleted",
      "ReaderRead", "ReaderReadUpTo", "ReaderReset", "ReaderRestoreState", "ReaderSerializeState", "ReduceDataset",
      "ReduceJoin", "RegexReplace", "RightShift", "Rint", "Round", "SampleDistortedBoundingBox",
      "SampleDistortedBoundingBoxV2", "ScalarSummary", "ScatterAdd", "ScatterDiv", "ScatterMul", "ScatterNdAdd",
      "ScatterNdSub", "ScatterNdUpdate", "ScatterSub", "SerializeTensor", "SetSize", "Shape", "ShapeN", "Size",
      "SparseAccumulatorTakeGradient", "SparseAddGrad", "SparseConcat", "SparseCross", "SparseCrossHashed",
      "SparseToSparseSetOperation", "Stack", "StackClose", "StackPop", "StackPush", "StatefulStandardNormal",
      "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform", "StatefulUniformFullInt",
      "StatefulUniformInt", "StatelessMultinomial", "StatelessRandomBinomial", "StatelessRandomNormal",
      "StatelessRandomNormalV2", "StatelessRandomPoisson", "StatelessRandomUniform", "StatelessRandomUniformFullInt",
      "StatelessRandomUniformFullIntV2", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2",
      "StatelessRandomUniformV2", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2", "StopGradient",
      "StringJoin", "StringNGrams", "StringSplit", "StringToHashBucket", "StringToHashBucketFast",
      "StringToHashBucketStrong", "StringToNumber", "TFRecordReader", "TakeManySparseFromTensorsMap",
      "TemporaryVariable", "TensorSummary", "TensorSummaryV2", "TextLineReader",
      "ThreadUnsafeUnigramCandidateSampler", "Timestamp", "ToBool", "TruncateDiv", "TruncatedNormal", "UnicodeDecode",
      "UnicodeDecodeWithOffsets", "UniformCandidateSampler", "UnravelIndex", "UpperBound", "VarHandleOp",
      "VarIsInitializedOp", "Variable", "VariableShape", "VariableV2", "Where", "WholeFileReader", "ZerosLike"}) {
    // clang-format on
    RETURN_IF_ERROR(registry.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
