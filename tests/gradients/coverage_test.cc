// No op is forgotten: each is differentiable and checked, or known to have no gradient, or named here with the reason.
#include <set>

#include "graph/gradients/gradient_context.h"
#include "kernels/library.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tests/gradients/family_cases.h"

namespace weir {
namespace {

bool StartsWithAny(absl::string_view name, std::initializer_list<absl::string_view> prefixes) {
  for (absl::string_view prefix : prefixes) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

// Ops without a gradient: TensorFlow has none either, or one that raises an error.
const std::set<std::string>& WithoutGradient() {
  static const auto* ops = new std::set<std::string>{
      // Gradients of gradients.
      "LRNGrad", "SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad",
      "BatchNormWithGlobalNormalizationGrad", "CholeskyGrad", "MaxPoolGradWithArgmax", "MaxPoolGradGradWithArgmax",
      "MaxPoolGradGradV2", "Conv3DBackpropInput", "Conv3DBackpropFilter", "QuantizeAndDequantizeV4Grad",
      "LSTMBlockCellGrad", "GRUBlockCellGrad", "ScaleAndTranslateGrad", "FractionalMaxPoolGrad",
      "FractionalAvgPoolGrad", "UnbatchGrad", "BlockLSTMGrad", "BlockLSTMGradV2", "Dilation2DBackpropInput",
      "Dilation2DBackpropFilter", "ResizeBicubicGrad", "ResizeNearestNeighborGrad", "SparseSegmentSumGradV2",
      "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2", "SparseSliceGrad", "SparseFillEmptyRowsGrad",
      "RaggedFillEmptyRowsGrad", "RaggedTensorToVariantGradient", "CropAndResizeGradBoxes", "CropAndResizeGradImage",
      "IgammaGradA", "RandomGammaGrad",
      // Names of TensorFlow 1, sounds, clusters, parts.
      "BatchCholesky", "BatchCholeskyGrad", "BatchMatrixBandPart", "BatchMatrixDeterminant", "BatchMatrixDiag",
      "BatchMatrixDiagPart", "BatchMatrixInverse", "BatchMatrixSetDiag", "BatchMatrixSolve", "BatchMatrixSolveLs",
      "BatchMatrixTriangularSolve", "BatchSelfAdjointEig", "BatchSelfAdjointEigV2", "BatchSvd", "AudioSpectrogram",
      "DecodeWav", "Mfcc", "NearestNeighbors", "KmeansPlusPlusInitialization", "CSRSparseMatrixComponents",
      // Images.
      "ResizeArea", "AdjustContrastv2", "AdjustHue", "AdjustSaturation", "FusedPadConv2D", "FusedResizeAndPadConv2D",
      "DrawBoundingBoxesV2", "ExtractGlimpseV2", "CombinedNonMaxSuppression", "NonMaxSuppressionV5",
      "StatelessSampleDistortedBoundingBox",
      // Linear algebra and Fourier transforms.
      "Lu", "MatrixLogarithm", "SelfAdjointEig", "BatchFFT", "BatchFFT2D", "BatchFFT3D", "BatchIFFT", "BatchIFFT2D",
      "BatchIFFT3D",
      // Arrays, arithmetic, random numbers.
      "Bitcast", "InplaceAdd", "InplaceSub", "InplaceUpdate", "ListDiff", "Mod", "TruncateMod", "ParallelConcat",
      "StridedSliceAssign", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "RandomPoisson",
      "RandomPoissonV2", "SobolSample", "StatelessShuffle", "StatefulRandomBinomial", "Bincount", "DenseBincount",
      "SparseBincount", "RaggedBincount", "TensorMapStackKeys", "DenseCountSparseOutput", "SparseCountSparseOutput",
      "RaggedCountSparseOutput",
      // Sparse tensors.
      "SparseReshape", "SparseSplit", "SparseDenseCwiseAdd", "SparseReduceMax", "SparseReduceMaxSparse",
      "SparseReduceSumSparse", "RaggedCross", "SparseSparseMaximum", "SparseSparseMinimum", "SerializeSparse",
      "SerializeManySparse", "DeserializeSparse",
      // Cells, quantised numbers.
      "LSTMBlockCell", "GRUBlockCell", "CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3",
      "CudnnRNNParamsSize", "CudnnRNNParamsToCanonical", "CudnnRNNParamsToCanonicalV2", "CudnnRNNCanonicalToParams",
      "CudnnRNNCanonicalToParamsV2", "Conv", "Requantize", "RequantizationRange", "QuantizeDownAndShrinkRange",
      "QuantizedMatMul", "QuantizedConv2D", "QuantizedRelu", "QuantizedRelu6", "QuantizedMaxPool", "QuantizedAvgPool",
      "QuantizedAdd", "QuantizedMul", "QuantizedInstanceNorm", "QuantizedResizeBilinear", "QuantizedReshape",
      "QuantizedBiasAdd", "QuantizedConcat", "QuantizeV2", "Dequantize", "UniformQuantize", "UniformDequantize",
      "UniformRequantize", "UniformQuantizedAdd", "UniformQuantizedClipByValue", "UniformQuantizedDot",
      "UniformQuantizedDotHybrid", "UniformQuantizedConvolution", "UniformQuantizedConvolutionHybrid",
      "StochasticCastToInt",
      // Examples and elements of datasets.
      "DecodeCSV", "ParseExample", "ParseExampleV2", "ParseSequenceExample", "ParseSequenceExampleV2",
      "ParseSingleExample", "ParseSingleSequenceExample", "DatasetToSingleElement", "GetElementAtIndex",
      // Debugging, batching.
      "Copy", "CopyHost", "DebugIdentity", "DebugIdentityV3", "DebugNumericSummary", "DebugNumericSummaryV2",
      "UncompressElement", "DecodeProtoV2", "SleepIdentityOp", "Batch", "Unbatch", "BatchFunction", "MapDefun",
      "PreventGradient",  // its purpose is this error
      "EagerPyFunc",      // its gradient is one of Python's
      "For"};
  return *ops;
}

// Changes of state return what was changed, and control flow is differentiated by structure.
bool IsStateOrControlFlow(const std::string& op) {
  return StartsWithAny(
             op, {"_", "Assign", "Apply", "SparseApply", "Resource", "Scatter", "Destroy", "Stack", "TensorArrayPack",
                  "TensorArrayUnpack", "Ref", "Queue", "Barrier", "Stage", "Map", "Collective", "Save", "Restore"}) ||
         std::set<std::string>{"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}.count(op) > 0;
}

bool MayCarryGradient(const tensorflow::OpDef& op) {
  for (const auto& output : op.output_arg()) {
    if (!output.type_attr().empty() || !output.type_list_attr().empty()) return op.input_arg_size() > 0;
    const DataType type = static_cast<DataType>(output.type());
    if (IsFloating(type) || IsComplex(type)) return op.input_arg_size() > 0;
  }
  return false;
}

TEST(GradientCoverage, EveryOpIsAccountedFor) {
  OpRegistry ops;
  ASSERT_THAT(RegisterAllOps(ops), IsOk());
  std::set<std::string> checked = {
      // Tests of kernels/state/gradients_test.cc.
      "ReadVariableOp", "ResourceGather", "ResourceGatherNd",
      // Of kernels/data/iterators.
      "OptionalFromValue", "OptionalGetValue",
      // Of kernels/containers, ragged and sparse/csr.
      "RaggedTensorToVariant", "RaggedTensorFromVariant", "TensorListConcat", "TensorListConcatV2",
      "TensorListFromTensor", "TensorListGather", "TensorListGetItem", "TensorListPopBack", "TensorListPushBack",
      "TensorListResize", "TensorListScatter", "TensorListScatterIntoExistingList", "TensorListScatterV2",
      "TensorListSetItem", "TensorListSplit", "TensorListStack", "TensorMapErase", "TensorMapInsert", "TensorMapLookup",
      "CSRSparseMatrixToDense", "CSRSparseMatrixToSparseTensor", "CompositeTensorVariantFromComponents",
      "CompositeTensorVariantToComponents", "DenseToCSRSparseMatrix", "SparseMatrixMatMul", "SparseMatrixSparseMatMul",
      "SparseMatrixTranspose", "SparseTensorToCSRSparseMatrix",
      // In call_gradients_test.cc.
      "Case", "If", "PartitionedCall", "RemoteCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf",
      "StatelessWhile", "SymbolicGradient", "While",
      // Of kernels/random.
      "RandomGamma", "StatelessParameterizedTruncatedNormal", "StatelessRandomGammaV2", "StatelessRandomGammaV3",
      // Of kernels/linalg, of matrices that have what they give.
      "Cholesky", "MatrixSquareRoot",
      // Of kernels/pooling: the maxima's own, and by the second order of FusedBatchNorm.
      "MaxPoolGrad", "MaxPoolGradV2", "MaxPoolGradGrad", "MaxPool3DGrad", "MaxPool3DGradGrad", "FusedBatchNormGrad",
      "FusedBatchNormGradV2", "FusedBatchNormGradV3",
      // Straight-through, which no difference quotient shows; the differential tests compare them with TensorFlow's.
      "QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4",
      "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel",
      // Their input, passed on: one prints, the others want a reference.
      "Print", "RefIdentity", "DebugGradientRefIdentity"};
  for (const char* op : {"Concat", "Gather", "Read", "Scatter", "Split", "Write"}) {
    // Of kernels/containers; the first version differs in its reference to a handle.
    for (const char* version : {"", "V2", "V3"}) checked.insert(absl::StrCat("TensorArray", op, version));
  }
  for (const OpCase& op_case : AllGradientCases()) checked.insert(op_case.op);
  for (const OpRegistration* registration : ops.All()) {
    const std::string& op = registration->op_def->name();
    if (!MayCarryGradient(*registration->op_def) || WithoutGradient().count(op) > 0) continue;
    if (registration->gradient != nullptr) {
      EXPECT_TRUE(checked.count(op) > 0) << op << " has a gradient that no table checks";
    } else if (registration->differentiable) {
      EXPECT_TRUE(IsStateOrControlFlow(op)) << op << " has neither a gradient nor a note that it has none";
    }
  }
}

}  // namespace
}  // namespace weir
