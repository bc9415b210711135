// Tests that GPU kernels reject the inputs that CPU kernels reject, with the same message.
#include <limits>

#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {
namespace {

TEST_P(GpuKernelAgreementTest, KernelsRefuseInTheCpusWords) {
  const Tensor row = AsTensor<float>({1, 2, 3}), column = AsTensor<float>({1, 2, 3}, {3, 1});
  for (const char* op :
       {"ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad"}) {
    ExpectSameError(op, {row, column});
  }
  ExpectSameError("ApproximateEqual", {row, column});
  ExpectSameError("Transpose", {row, AsTensor<int32_t>({0, 0})});
  ExpectSameError("Transpose", {column, AsTensor<int32_t>({0, 0})});
  ExpectSameError("Transpose", {column, AsTensor<int32_t>({0, 2})});
  ExpectSameError("Tile", {row, AsTensor<int32_t>({2, 2})});
  ExpectSameError("Tile", {row, AsTensor<int32_t>({-1})});
  ExpectSameError("ClipByValue", {row, column, AsScalar<float>(1)});
  ExpectSameError("Cross", {row, column});
  ExpectSameError("Betainc", {row, column, row});
  ExpectSameError("Roll", {row, AsScalar<int32_t>(1), AsScalar<int32_t>(1)});
  ExpectSameError("MatrixBandPart", {row, AsScalar<int64_t>(0), AsScalar<int64_t>(0)});
  ExpectSameError("MatrixBandPart", {column, AsScalar<int64_t>(4), AsScalar<int64_t>(0)});
  ExpectSameError("MatrixSetDiag", {column, row});
  ExpectSameError("DiagPart", {column});
  ExpectSameError("MatrixDiagPartV3", {column, AsScalar<int32_t>(3), AsScalar<float>(0)});
  ExpectSameError("SpaceToBatchND", {column, AsTensor<int32_t>({2}), AsTensor<int32_t>({0, 0}, {1, 2})});
  ExpectSameError("BatchToSpaceND", {column, AsTensor<int32_t>({2}), AsTensor<int32_t>({0, 0}, {1, 2})});
  ExpectSameError("SpaceToDepth", {column}, Attr("block_size", int64_t{2}));
  ExpectSameError("MirrorPadGrad", {row, AsTensor<int32_t>({1, 1}, {1, 2})}, Attr("mode", std::string("REFLECT")));
  ExpectSameError("ReverseSequence", {column, AsTensor<int32_t>({1})}, Attr("seq_dim", int64_t{1}));
  const auto message = Attr("message", std::string("bad"));
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    ExpectSameError(op, {AsTensor<float>({1, NAN})}, message);
    ExpectSameError(op, {AsTensor<float>({1, INFINITY})}, message);
    ExpectSameError(op, {AsTensor<double>({NAN, -INFINITY})}, message);
    ExpectSameError(op, {AsTensor<half>({half(INFINITY), half(-INFINITY), half(NAN)})}, message);
  }
  const Tensor image = AsTensor<float>({1, 2, 3}, {1, 1, 1, 3});
  ExpectSameError("ResizeBilinear", {column, AsTensor<int32_t>({2, 2})});
  ExpectSameError("ResizeNearestNeighbor", {image, AsTensor<int32_t>({0, 2})});
  ExpectSameError("ResizeBilinearGrad", {image, column});
  ExpectSameError("FakeQuantWithMinMaxArgsGradient", {row, column});
  ExpectSameError("FakeQuantWithMinMaxVars", {row, row, row});
  ExpectSameError("FakeQuantWithMinMaxVarsPerChannel", {row, AsTensor<float>({1}), row});
  ExpectSameError("LRN", {column});
  const auto window = Attr("strides", std::vector<int64_t>{1, 1, 1, 1, 1}, Attr("padding", std::string("VALID")));
  ExpectSameError("Conv3D", {image, column}, window);
  ExpectSameError("Conv3D", {Of(DT_FLOAT, TensorShape({1, 2, 2, 2, 3})), Of(DT_FLOAT, TensorShape({1, 1, 1, 2, 4}))},
                  window);
  ExpectSameError("MaxPool3D", {image}, Attr("ksize", std::vector<int64_t>{1, 2, 2, 2, 1}, window));
  ExpectSameError("Where", {AsScalar<float>(1)});
  ExpectSameError("DynamicPartition", {column, AsTensor<int32_t>({0, 3, 1})}, Attr("num_partitions", int64_t{3}));
  ExpectSameError("DynamicPartition", {column, AsTensor<int32_t>({0})}, Attr("num_partitions", int64_t{3}));
  ExpectSameError("SparseSegmentSum", {column, AsTensor<int32_t>({3}), AsTensor<int32_t>({0})});
  const Tensor largest = AsTensor<int64_t>({std::numeric_limits<int64_t>::max()});
  ExpectSameError("SegmentSum", {AsTensor<float>({1}), largest});
  ExpectSameError("SparseSegmentSumWithNumSegments", {column, AsTensor<int32_t>({0}), largest, AsScalar<int32_t>(2)});
  ExpectSameError("SparseSegmentMean", {column, AsTensor<int32_t>({2, 1}), AsTensor<int32_t>({1, 0})});
  ExpectSameError("SparseSegmentMeanGrad",
                  {column, AsTensor<int32_t>({2}), AsTensor<int32_t>({0}), AsScalar<int32_t>(2)});
  ExpectSameError("Bincount", {AsTensor<int32_t>({1}), AsScalar<int32_t>(-1), row});
  ExpectSameError("DenseBincount", {AsTensor<int32_t>({1}), AsScalar<int32_t>(2), row});
  ExpectSameError("SparseTensorDenseMatMul",
                  {AsTensor<int64_t>({0, 0}, {1, 2}), AsTensor<float>({1}), AsTensor<int64_t>({1, 2}), column});
  const Tensor cell = Of(DT_FLOAT, TensorShape({2, 3})), gates = Of(DT_FLOAT, TensorShape({12}));
  const Tensor weights = Of(DT_FLOAT, TensorShape({5, 12})), peephole = Of(DT_FLOAT, TensorShape({3}));
  const Tensor x = Of(DT_FLOAT, TensorShape({2, 2})), xs = Of(DT_FLOAT, TensorShape({4, 2, 2}));
  ExpectSameError("LSTMBlockCell", {x, cell, x, weights, peephole, peephole, peephole, gates});
  ExpectSameError("LSTMBlockCell", {x, cell, cell, weights, peephole, gates, peephole, gates});
  const Tensor no_state = Of(DT_FLOAT, TensorShape({0, 3})), no_x = Of(DT_FLOAT, TensorShape({0, 2}));
  ExpectSameError("LSTMBlockCell", {no_x, no_state, no_state, weights, peephole, peephole, peephole, gates});
  ExpectSameError("BlockLSTM", {AsScalar<int64_t>(5), xs, cell, cell, weights, peephole, peephole, peephole, gates});
  ExpectSameError("GRUBlockCell", {x, cell, weights, weights, gates, peephole});
  const auto refuses = [this](const char* equation, std::vector<Tensor> inputs) {
    ExpectSameFailure(inputs, [&](const Scope& s, const OutputList& in) {
      tensorflow::NodeDef def = Attr("equation", std::string(equation));
      def.set_op("Einsum");
      return OutputList{Output(s.AddOp(def, {InputList(in.begin(), in.end())}), 0)};
    });
  };
  const Tensor one = AsScalar<float>(1), two = AsScalar<float>(2);
  ExpectSameError("QuantizeAndDequantizeV2", {row, two, one}, Attr("range_given", true));
  ExpectSameError("QuantizeAndDequantizeV2", {row, row, one}, Attr("range_given", true));
  ExpectSameError("QuantizeAndDequantizeV3", {row, one, two, AsScalar<int32_t>(70)});
  ExpectSameError("QuantizeAndDequantizeV4", {row, one, two}, Attr("axis", int64_t{1}));
  ExpectSameError("QuantizeAndDequantizeV4Grad", {row, column, one, two});
  refuses("ij,jk->ik", {column, column});
  refuses("ij->i", {row});
  refuses("ii->i", {column});
  ExpectSameError("Multinomial", {row, AsScalar<int32_t>(1)});
  ExpectSameError("Multinomial", {column, AsScalar<int32_t>(-1)});
  ExpectSameError("StatelessMultinomial",
                  {Tensor(DT_FLOAT, TensorShape({2, 0})), AsScalar<int32_t>(1), AsTensor<int64_t>({1, 2})});
  ExpectSameError("Bitcast", {column}, Attr("type", DT_DOUBLE));
  const Tensor box = AsTensor<float>({0, 0, 1, 1}, {1, 4}), two_by_two = AsTensor<int32_t>({2, 2});
  const Tensor size = AsTensor<int32_t>({1, 1, 1, 3}), crop(DT_FLOAT, TensorShape({1, 2, 2, 3}));
  for (const int32_t index : {-1, 1}) {
    const Tensor outside = AsTensor<int32_t>({index});
    ExpectSameError("CropAndResize", {image, box, outside, two_by_two});
    ExpectSameError("CropAndResizeGradImage", {crop, box, outside, size}, Attr("T", DT_FLOAT));
    ExpectSameError("CropAndResizeGradBoxes", {crop, image, box, outside});
  }
  ExpectSameError("CropAndResize", {image, box, AsTensor<int32_t>({0, 0}), two_by_two});
  ExpectSameError("CropAndResize", {image, box, AsTensor<int32_t>({0}), AsTensor<int32_t>({2, 0})});
  ExpectSameError("CropAndResizeGradImage", {crop, box, AsTensor<int32_t>({0}), AsTensor<int32_t>({1, 1, 1, 4})},
                  Attr("T", DT_FLOAT));
  ExpectSameError("InTopK", {column, AsTensor<int32_t>({0})}, Attr("k", int64_t{1}));
  const auto cube = [this](int64_t steps, int64_t rows, int64_t width) {
    return Of(DT_FLOAT, TensorShape({steps, rows, width}));
  };
  const Tensor params = Of(DT_FLOAT, TensorShape({96}));  // of 2 units of an lstm, for 2 inputs
  ExpectSameError("CudnnRNN", {cube(3, 2, 2), cube(1, 3, 2), cube(1, 2, 2), params});
  ExpectSameError("CudnnRNN", {cube(3, 2, 2), cube(1, 2, 2), cube(1, 2, 2), row});
  ExpectSameError("CudnnRNNV3", {cube(3, 2, 2), cube(2, 2, 2), cube(2, 2, 2), params, AsTensor<int32_t>({4, 1})});
  ExpectSameError("CudnnRNNBackprop", {cube(3, 2, 2), cube(2, 2, 2), cube(2, 2, 2), params, cube(3, 2, 2),
                                       cube(2, 2, 2), cube(2, 2, 2), cube(3, 2, 2), cube(2, 2, 2), cube(2, 2, 2), row});
  const Tensor one_layer = AsScalar<int32_t>(1), units = AsScalar<int32_t>(2);
  ExpectSameError("CudnnRNNParamsToCanonical", {one_layer, units, units, row}, Attr("num_params", int64_t{8}));
  ExpectSameError("CudnnRNNParamsToCanonical", {one_layer, units, units, Of(DT_FLOAT, TensorShape({48}))},
                  Attr("num_params", int64_t{7}));
}

}  // namespace
}  // namespace weir
