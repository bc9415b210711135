// Ops that move elements.
#include "tests/gpu/gpu_agreement_testing.h"

namespace weir {

void GpuAgreementTest::AddMoves(DataType type) {
  const TensorShape matrix({4, 6}), cube({2, 3, 4});
  Add("Fill", {AsTensor<int32_t>({2, 3}), Of(type, TensorShape())});
  Add("ZerosLike", {Of(type, matrix)});
  Add("OnesLike", {Of(type, matrix)});
  Add("Transpose", {Of(type, cube), AsTensor<int32_t>({2, 0, 1})});
  Add("Transpose", {Of(type, matrix), AsTensor<int64_t>({1, 0})});
  Add("Slice", {Of(type, cube), AsTensor<int32_t>({1, 0, 1}), AsTensor<int32_t>({1, 2, -1})});
  Add("Tile", {Of(type, matrix), AsTensor<int32_t>({2, 3})});
  AddLists("ConcatV2",
           {{Of(type, matrix), Of(type, TensorShape({4, 0})), Of(type, TensorShape({4, 2}))}, {AsScalar<int32_t>(1)}});
  AddLists("Concat", {{AsScalar<int32_t>(0)}, {Of(type, matrix), Of(type, matrix)}});
  Add("GatherV2", {Of(type, cube), AsTensor<int32_t>({2, 0, 2}), AsScalar<int32_t>(1)});
  Add("GatherV2", {Of(type, cube), AsTensor<int64_t>({1, 1}, {1, 2}), AsScalar<int64_t>(0)});
  Add("Gather", {Of(type, matrix), AsTensor<int32_t>({3, 1})});
  Add("Gather", {Of(type, matrix), AsTensor<int64_t>({0, 3, 3})});
  Add("Reshape", {Of(type, matrix), AsTensor<int32_t>({3, -1})});
  Add("ExpandDims", {Of(type, matrix), AsScalar<int32_t>(1)});
  Add("Squeeze", {Of(type, TensorShape({1, 4, 1}))});
  AddCasts(type);
  if (type != DT_BOOL) {
    for (const DataType to : {DT_UINT8, DT_INT16, DT_HALF, DT_UINT32, DT_INT64, DT_COMPLEX128}) {
      const int64_t from_size = DataTypeSize(type), to_size = DataTypeSize(to);
      const TensorShape shape = to_size > from_size ? TensorShape({4, to_size / from_size}) : TensorShape({4});
      Add("Bitcast", {Of(type, shape)}, Attr("type", to));
    }
  }
  if (type != DT_BOOL && type != DT_COMPLEX128) AddBitcastOfRow(type);
  Add("Shape", {Of(type, matrix)});
  Add("Size", {Of(type, matrix)});
  Add("Rank", {Of(type, matrix)});
  AddLists("ShapeN", {{Of(type, matrix), Of(type, cube)}});
  AddSlices(type);
  AddLists("DynamicStitch", {{AsTensor<int32_t>({0, 3, 0}), AsTensor<int32_t>({4}, {1, 1})},
                             {Of(type, TensorShape({3, 2})), Of(type, TensorShape({1, 1, 2}))}});
  AddLists("ParallelDynamicStitch",
           {{AsTensor<int32_t>({1, 0}), AsScalar<int32_t>(2)}, {Of(type, TensorShape({2})), Of(type, TensorShape())}});
  const Tensor pads = AsTensor<int32_t>({1, 2, 0, 0, 0, 1}, {3, 2});
  Add("Pad", {Of(type, cube), pads});
  Add("PadV2", {Of(type, cube), pads, Of(type, TensorShape())});
  const Tensor mirrors = AsTensor<int64_t>({1, 0, 2, 1, 0, 3}, {3, 2});
  Add("MirrorPad", {Of(type, cube), mirrors}, Attr("mode", std::string("REFLECT")));
  Add("MirrorPad", {Of(type, cube), mirrors}, Attr("mode", std::string("SYMMETRIC")));
  Add("BroadcastTo", {Of(type, TensorShape({3, 1})), AsTensor<int32_t>({2, 3, 4})});
  Add("ReverseV2", {Of(type, cube), AsTensor<int32_t>({0, -1})});
  Add("Reverse", {Of(type, cube), AsTensor<bool>({false, true, true})});
  Add("Select", {Of(DT_BOOL, matrix), Of(type, matrix), Of(type, matrix)});
  Add("Select", {Of(DT_BOOL, TensorShape({4})), Of(type, matrix), Of(type, matrix)});
  Add("Select", {AsScalar<bool>(true), Of(type, matrix), Of(type, matrix)});
  Add("SelectV2", {Of(DT_BOOL, TensorShape({4, 1})), Of(type, TensorShape({6})), Of(type, TensorShape())});
  Add("OneHot", {AsTensor<int32_t>({2, -1, 0, 9}, {2, 2}), AsScalar<int32_t>(3), Of(type, TensorShape()),
                 Of(type, TensorShape())});
  Add("OneHot", {AsTensor<int64_t>({2, 1, 0}), AsScalar<int32_t>(4), Of(type, TensorShape()), Of(type, TensorShape())},
      Attr("axis", int64_t{0}));
  Add("GatherNd", {Of(type, cube), AsTensor<int32_t>({1, 2, 0, 0}, {2, 2})});
  Add("GatherNd", {Of(type, cube), AsTensor<int64_t>({1, 2, 3}, {1, 3})});
  Add("GatherV2", {Of(type, cube), AsTensor<int32_t>({3, 0, 2, 1}, {2, 2}), AsScalar<int32_t>(2)},
      Attr("batch_dims", int64_t{1}));
  AddRead("ResourceGatherNd", Of(type, cube), {AsTensor<int32_t>({1, 2, 0, 0}, {2, 2})}, Attr("dtype", type));
  AddRead("ResourceGatherNd", Of(type, cube), {AsTensor<int64_t>({1, 2, 3}, {1, 3})}, Attr("dtype", type));
  AddRead("ResourceGather", Of(type, cube), {AsTensor<int32_t>({1, 0, 1})}, Attr("dtype", type));
  AddRead("ResourceGather", Of(type, cube), {AsTensor<int64_t>({2, 0}, {2, 1})},
          Attr("dtype", type, Attr("batch_dims", int64_t{1})));
}

void GpuAgreementTest::AddCasts(DataType from) {
  for (const DataType to : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_BOOL, DT_INT8, DT_UINT8,
                            DT_INT16, DT_UINT16, DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128}) {
    Add("Cast", {Of(from, TensorShape({4, 6}))}, Attr("DstT", to));
  }
}

// A row that is not aligned for the wider type.
void GpuAgreementTest::AddBitcastOfRow(DataType type) {
  const size_t size = DataTypeSize(type);
  const DataType wider = size == 1 ? DT_INT16 : size == 2 ? DT_INT32 : size == 4 ? DT_INT64 : DT_COMPLEX128;
  const Tensor one = AsTensor<int32_t>({1}), two = AsTensor<int32_t>({2});
  AddProgram("Bitcast of a row", {Of(type, TensorShape({2, 3, 2})), one, two, one},
             [this, wider](const Scope& s, const OutputList& in) {
               const auto attrs = Attr("shrink_axis_mask", int64_t{1});
               const Output row(Node(s, "StridedSlice", {in[0], in[1], in[2], in[3]}, attrs), 0);
               return OutputList{Output(Node(s, "Bitcast", {row}, Attr("type", wider)), 0)};
             });
}

void GpuAgreementTest::AddSlices(DataType type) {
  const TensorShape matrix({4, 6}), cube({2, 3, 4});
  // x[::-1, ..., 1:-1:2], and x[1, newaxis, 0:2].
  const std::vector<Tensor> reversed = {AsTensor<int32_t>({0, 0, 1}), AsTensor<int32_t>({0, 0, -1}),
                                        AsTensor<int32_t>({-1, 1, 2})};
  const auto masks = Attr("begin_mask", int64_t{1}, Attr("end_mask", int64_t{1}, Attr("ellipsis_mask", int64_t{2})));
  const std::vector<Tensor> one = {AsTensor<int64_t>({1, 0, 0}), AsTensor<int64_t>({2, 0, 2}),
                                   AsTensor<int64_t>({1, 1, 1})};
  const auto axes = Attr("shrink_axis_mask", int64_t{1}, Attr("new_axis_mask", int64_t{2}));
  Add("StridedSlice", {Of(type, cube), reversed[0], reversed[1], reversed[2]}, masks);
  Add("StridedSlice", {Of(type, cube), one[0], one[1], one[2]}, axes);
  Add("StridedSlice",
      {Of(type, matrix), AsTensor<int32_t>({3}), AsTensor<int32_t>({1}), AsTensor<int32_t>({1})});  // nothing
  Add("StridedSliceGrad",
      {AsTensor<int32_t>({2, 3, 4}), reversed[0], reversed[1], reversed[2], Of(type, TensorShape({2, 3, 1}))}, masks);
  Add("StridedSliceGrad", {AsTensor<int64_t>({2, 3, 4}), one[0], one[1], one[2], Of(type, TensorShape({1, 2, 4}))},
      axes);
  for (const char* op : {"StridedSliceAssign", "ResourceStridedSliceAssign"}) {
    AddUpdate(op, {Of(type, cube)}, {reversed[0], reversed[1], reversed[2], Of(type, TensorShape({1, 2, 3, 1}))},
              masks);
    AddUpdate(op, {Of(type, cube)}, {one[0], one[1], one[2], Of(type, TensorShape())}, axes);
  }
  for (const int axis : {0, 1, -1}) {
    AddLists("Pack", {{Of(type, matrix), Of(type, matrix), Of(type, matrix)}}, Attr("axis", int64_t{axis}));
  }
  Add("Unpack", {Of(type, cube)}, Attr("num", int64_t{2}));
  Add("Unpack", {Of(type, cube)}, Attr("num", int64_t{3}, Attr("axis", int64_t{1})));
  Add("Split", {AsScalar<int32_t>(0), Of(type, matrix)}, Attr("num_split", int64_t{2}));
  Add("Split", {AsScalar<int32_t>(-1), Of(type, matrix)}, Attr("num_split", int64_t{3}));
  Add("SplitV", {Of(type, matrix), AsTensor<int32_t>({2, -1, 0}), AsScalar<int32_t>(1)}, Attr("num_split", int64_t{3}));
}

}  // namespace weir
