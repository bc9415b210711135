// Reductions, biases, softmax, losses and predictions, of real numbers.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {

void GpuAgreementTest::AddFloats(DataType type) {
  const TensorShape matrix({4, 6}), cube({2, 3, 4});
  for (const bool keep : {false, true}) {
    for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"}) {
      const auto attrs = Attr("keep_dims", keep);
      Add(op, {Of(type, cube), AsTensor<int32_t>({1})}, attrs);
      Add(op, {Of(type, cube), AsTensor<int32_t>({0, -1})}, attrs);
      Add(op, {Of(type, cube), AsTensor<int64_t>({0, 1, 2})}, attrs);
      Add(op, {Of(type, cube), Tensor(DT_INT32, TensorShape({0}))}, attrs);
    }
  }
  Add("Sum", {Of(type, TensorShape({0, 3})), AsTensor<int32_t>({0})});
  AddProducts(type);
  AddQuantizeAndDequantize(type);
  Add("L2Loss", {Of(type, cube)});
  Add("L2Loss", {Of(type, TensorShape({0}))});
  Add("BiasAdd", {Of(type, matrix), Of(type, TensorShape({6}))});
  Add("BiasAdd", {Of(type, cube), Of(type, TensorShape({3}))}, Attr("data_format", std::string("NCHW")));
  Add("BiasAddV1", {Of(type, matrix), Of(type, TensorShape({6}))});
  Add("BiasAddGrad", {Of(type, matrix)});
  Add("BiasAddGrad", {Of(type, cube)}, Attr("data_format", std::string("NCHW")));
  Add("Softmax", {Of(type, matrix)});
  Add("LogSoftmax", {Of(type, cube)});
  Add("SoftmaxCrossEntropyWithLogits", {Of(type, matrix), Of(type, matrix)});
  Add("SparseSoftmaxCrossEntropyWithLogits", {Of(type, matrix), AsTensor<int32_t>({5, 0, 2, 3})});
  Add("SparseSoftmaxCrossEntropyWithLogits", {Of(type, matrix), AsTensor<int64_t>({5, 0, 2, 3})});
  AddLists("AddN", {{Of(type, matrix), Of(type, matrix), Of(type, matrix)}});
}

void GpuAgreementTest::AddPredictions() {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE}) {
    const TensorShape shape({3, 4});
    Add("Betainc", {Of(type, shape), Of(type, shape), type == DT_FLOAT ? AsScalar<float>(.3f) : AsScalar<double>(.3)});
  }
  const auto boundaries = Attr("boundaries", std::vector<float>{-2, 0.5, 1, 4});
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64}) {
    Add("Bucketize", {Of(type, TensorShape({3, 7}))}, boundaries);
  }
  Add("Bucketize", {AsTensor<float>({NAN, 1, 4})}, boundaries);
  const Tensor predictions = AsTensor<float>({1, 2, 3, 2, 4, 4, NAN, 1, 2, 5, 6, 7}, {4, 3});
  Add("InTopK", {predictions, AsTensor<int32_t>({1, 0, 2, 5})}, Attr("k", int64_t{2}));
  Add("InTopK", {predictions, AsTensor<int64_t>({1, 0, 2, 5})}, Attr("k", int64_t{1}));
  Add("InTopKV2", {predictions, AsTensor<int64_t>({1, 1, 1, -1}), AsScalar<int64_t>(1)});
  Add("InTopKV2", {Of(DT_FLOAT, TensorShape({0, 3})), Tensor(DT_INT32, TensorShape({0})), AsScalar<int32_t>(1)});
}

}  // namespace weir
