// Gradients through tensor arrays. The gradients of an array's elements are elements of another array, which
// TensorArrayGrad finds by the array's handle and the run of gradients: what reads an element adds to that array, what
// writes one reads there. The flow's gradient, a number of no meaning, orders the steps.
#include "absl/strings/strip.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/containers/family.h"

namespace weir {
namespace {

using G = GradientContext;

// The array of gradients of the op's array, and ops on it, of the op's version.
class GradientArray {
 public:
  // `flow`: after which the array has all its elements.
  GradientArray(G& g, const Output& flow) : g_(g), flow_(flow) {
    const std::string& op = g.op().op();
    for (const char* version : {"V2", "V3"}) {
      if (absl::EndsWith(op, version)) version_ = version;
    }
    handle_ = g.Call(absl::StrCat("TensorArrayGrad", version_), {g.input(0), flow}, {G::Set("source", g.run())});
  }

  Output Call(const char* op, std::vector<Input> inputs, const std::vector<G::AttrSetter>& attrs = {}) {
    inputs.insert(inputs.begin(), handle_);
    inputs.push_back(flow_);
    return g_.Call(absl::StrCat(op, version_), inputs, attrs);
  }

 private:
  G& g_;
  const Output flow_;
  std::string version_;
  Output handle_;
};

// For ops that read: `update` puts dy where the op took its elements, whose places are input 1.
template <const char* kUpdate>
absl::Status Take(G& g) {
  GradientArray array(g, g.input(2));
  g.set_grad(2, array.Call(kUpdate, {g.input(1), g.dy()}));
  return absl::OkStatus();
}
absl::Status ArrayConcat(G& g) {
  GradientArray array(g, g.input(1));
  g.set_grad(1, array.Call("TensorArraySplit", {g.dy(0), g.output(1)}));
  return absl::OkStatus();
}

// For ops that write: the flow's gradient comes after all that read, and waits for the op itself as well.
Output AfterWriting(G& g) { return g.CallWithLists("IdentityN", {{g.dy(), g.output(0)}}); }

template <const char* kRead>
absl::Status Put(G& g) {
  GradientArray array(g, AfterWriting(g));
  g.set_grad(2, array.Call(kRead, {g.input(1)}, {G::Set("dtype", g.Attr<DataType>("T"))}));
  g.set_grad(3, g.dy());
  return absl::OkStatus();
}
absl::Status ArraySplit(G& g) {
  GradientArray array(g, AfterWriting(g));
  g.set_grad(1, array.Call("TensorArrayConcat", {}, {G::Set("dtype", g.Attr<DataType>("T"))}));
  g.set_grad(3, g.dy());
  return absl::OkStatus();
}
constexpr char kWrite[] = "TensorArrayWrite", kScatter[] = "TensorArrayScatter", kRead[] = "TensorArrayRead",
               kGather[] = "TensorArrayGather";

}  // namespace

absl::Status RegisterTensorArrayGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"TensorArrayRead", Take<kWrite>}, {"TensorArrayGather", Take<kScatter>}, {"TensorArrayConcat", ArrayConcat},
      {"TensorArrayWrite", Put<kRead>},  {"TensorArrayScatter", Put<kGather>},  {"TensorArraySplit", ArraySplit},
  };
  for (const char* version : {"", "V2", "V3"}) {
    for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(absl::StrCat(op, version), fn));
    for (const char* op : {"TensorArray", "TensorArrayGrad", "TensorArraySize", "TensorArrayClose"}) {
      RETURN_IF_ERROR(ops.RegisterNotDifferentiable(absl::StrCat(op, version)));
    }
  }
  return ops.RegisterNotDifferentiable("TensorArrayGradWithShape");
}

}  // namespace weir
