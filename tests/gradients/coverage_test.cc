// No op is forgotten: each is differentiable and checked, or known to have no gradient, or named here with the reason.
#include <set>

#include "graph/gradients/gradient_registry.h"
#include "kernels/register_all.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tests/gradients/op_case.h"

namespace weir {
namespace {

bool StartsWithAny(absl::string_view name, std::initializer_list<absl::string_view> prefixes) {
  for (absl::string_view prefix : prefixes) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

// Ops whose gradient is not built; TensorFlow has none for most of them either.
const std::set<std::string>& WithoutGradient() {
  static const auto* ops = new std::set<std::string>{
      // Gradients of gradients that training does not ask for.
      "FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", "LRNGrad", "SparseSegmentSumGrad",
      "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad", "BatchNormWithGlobalNormalizationGrad", "CholeskyGrad",
      "MaxPoolGradWithArgmax", "MaxPoolGradGradWithArgmax", "MaxPoolGradGradV2", "Conv3DBackpropInput",
      "Conv3DBackpropFilter", "QuantizeAndDequantizeV4Grad",
      // Without one in TensorFlow.
      "BandedTriangularSolve", "Conv", "FusedPadConv2D", "FusedResizeAndPadConv2D", "ResizeArea", "AdjustContrastv2",
      "AdjustHue", "AdjustSaturation", "HSVToRGB", "LSTMBlockCell", "LSTMBlockCellGrad", "GRUBlockCell",
      "ScaleAndTranslateGrad", "FractionalMaxPoolGrad", "FractionalAvgPoolGrad", "Lu", "MatrixLogarithm",
      "SleepIdentityOp", "Copy", "CopyHost", "DebugIdentity", "DebugIdentityV3", "DebugGradientRefIdentity", "MapDefun",
      "BatchFunction", "UnbatchGrad", "Requantize", "RequantizationRange", "QuantizeDownAndShrinkRange",
      "QuantizedMatMul", "QuantizedConv2D", "QuantizedRelu", "QuantizedRelu6", "QuantizedMaxPool", "QuantizedAvgPool",
      "QuantizedReshape", "QuantizedBiasAdd", "QuantizedConcat",
      // Not built.
      "Batch", "Unbatch", "ApproxTopK", "Eig", "ExtractImagePatches", "ExtractVolumePatches",
      "ImageProjectiveTransformV2", "ImageProjectiveTransformV3", "MatrixSquareRoot", "TridiagonalMatMul",
      "TridiagonalSolve", "EagerPyFunc", "RGBToHSV", "BatchFFT", "BatchFFT2D", "BatchFFT3D", "BatchIFFT", "BatchIFFT2D",
      "BatchIFFT3D", "BlockLSTMGrad", "BlockLSTMGradV2", "Dilation2DBackpropInput", "Dilation2DBackpropFilter",
      "ResizeBicubicGrad", "ResizeNearestNeighborGrad", "FakeQuantWithMinMaxArgsGradient",
      "FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient", "SparseSegmentSumGradV2",
      "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2", "SparseSliceGrad", "SparseFillEmptyRowsGrad",
      "RaggedFillEmptyRowsGrad", "RaggedTensorToVariantGradient",
      // TensorFlow has none.
      "SparseReshape", "SparseSplit", "SparseDenseCwiseAdd", "SparseReduceMax", "SparseReduceMaxSparse",
      "SparseReduceSumSparse", "SparseSparseMaximum", "SparseSparseMinimum",
      "PreventGradient",  // its purpose is this error
      // Calls of functions.
      "PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient", "RemoteCall", "If", "StatelessIf", "Case",
      "StatelessCase", "While", "StatelessWhile", "For"};
  return *ops;
}

// Changes of state return what was changed, containers of tensors have no gradients yet, and control flow is
// differentiated by structure.
bool IsStateOrControlFlow(const std::string& op) {
  return StartsWithAny(op,
                       {"_", "Assign", "Apply", "SparseApply", "Resource", "Scatter", "Destroy", "Stack", "TensorList",
                        "TensorArray", "Ref", "Queue", "Barrier", "Stage", "Map", "Collective", "Save", "Restore"}) ||
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
  GradientRegistry gradients;
  ASSERT_THAT(RegisterAllOps(ops), IsOk());
  ASSERT_THAT(RegisterAllGradients(gradients), IsOk());
  std::set<std::string> checked = {
      "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "Print",
      "RefIdentity",  // the first three in variable_gradients_test.cc
      // Of variants.
      "RaggedTensorToVariant", "RaggedTensorFromVariant",
      // In optional_gradients_test.cc.
      "OptionalFromValue", "OptionalGetValue",
      // Straight-through, which no difference quotient shows.
      "QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4",
      "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel",
      // Of their outputs only two carry gradients.
      "BlockLSTM", "BlockLSTMV2",
      // In their names.
      "CheckNumericsV2", "DebugGradientIdentity", "DebugIdentityV2",
      // Alike but for the place of the blank.
      "CTCLossV2",
      // How a sample moves is not how one sampler moves.
      "RandomGamma", "StatelessRandomGammaV2", "StatelessRandomGammaV3",
      // Symmetric matrices alone have a factor.
      "Cholesky",
      // Of MaxPool's second and third order.
      "MaxPoolGrad", "MaxPoolGradV2", "MaxPoolGradGrad", "MaxPool3DGrad", "MaxPool3DGradGrad"};
  for (const auto& cases :
       {MathCases(), ArrayCases(), NnCases(), SpecialCases(), LinearCases(), VolumeCases(), RecordCases()}) {
    for (const OpCase& op_case : cases) checked.insert(op_case.op);
  }
  for (const OpRegistration* registration : ops.All()) {
    const std::string& op = registration->op_def->name();
    if (!MayCarryGradient(*registration->op_def) || WithoutGradient().count(op) > 0) continue;
    GradientFn fn = nullptr;
    switch (gradients.Lookup(op, &fn)) {
      case GradientRegistry::Kind::kNotDifferentiable:
        break;
      case GradientRegistry::Kind::kDifferentiable:
        EXPECT_TRUE(checked.count(op) > 0) << op << " has a gradient that no table checks";
        break;
      case GradientRegistry::Kind::kUnknown:
        EXPECT_TRUE(IsStateOrControlFlow(op)) << op << " has neither a gradient nor a note that it has none";
        break;
    }
  }
}

}  // namespace
}  // namespace weir
