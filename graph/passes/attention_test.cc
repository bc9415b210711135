// Each test passes in a graph as text and checks the text of the result.
#include "gmock/gmock.h"
#include "graph/graph_testing.h"
#include "graph/passes/pass_manager.h"
#include "graph/text/graph_text.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Apply(const std::string& text, const std::string& device = "", const PassContext& context = {}) {
  Graph graph(&TestOps());
  ImportOptions options;
  options.allow_internal_ops = true;
  absl::Status status = ParseGraph(text, options, &graph);
  EXPECT_TRUE(status.ok()) << status;
  if (!device.empty()) {
    for (Node* node : graph.nodes()) node->set_assigned_device("/job:a/replica:0/task:0/device:" + device);
  }
  int changes = 0;
  status = MakeAttentionPass()->Run(context, &graph, &changes);
  return status.ok() ? PrintGraph(graph) : std::string(status.message());
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

constexpr char kInputs[] =
    "%q:f32 = Placeholder()\n%k:f32 = Placeholder()\n%v:f32 = Placeholder()\n%mask:f32 = Placeholder()\n%go = NoOp()\n"
    "%half:f32 = Const() {value=tensor{dtype: DT_FLOAT tensor_shape { } float_val: 0.5}}\n"
    "%vector:f32 = Const() {value=tensor{dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 0.5}}\n"
    "%zero:f32 = Const() {value=tensor{dtype: DT_FLOAT tensor_shape { } float_val: 0}}\n";
const std::string kAttention = std::string(kInputs) +
                               "%product:f32 = BatchMatMulV2(%q, %k) {adj_y=true}\n"
                               "%scaled:f32 = Mul(%product, %half)\n"
                               "%masked:f32 = AddV2(%scaled, %mask)\n"
                               "%weights:f32 = Softmax(%masked, ^%go)\n"
                               "%out:f32 = BatchMatMulV2(%weights, %v)\n%y:f32 = Neg(%out)\n%after = NoOp(^%out)\n";

TEST(Attention, BecomesOneNode) {
  const std::string out = Apply(kAttention);
  EXPECT_THAT(out, AllOf(HasSubstr("%out:f32 = _FusedAttention(%q, %k, %v, %mask, ^%go) {"), HasSubstr("scale=0.5"),
                         HasSubstr("%y:f32 = Neg(%out)"), HasSubstr("%after = NoOp(^%out)")));
  EXPECT_THAT(out, AllOf(Not(HasSubstr("BatchMatMulV2")), Not(HasSubstr("Softmax")), Not(HasSubstr("AddV2")),
                         Not(HasSubstr("transpose_k=false"))));
}

TEST(Attention, ScaleAndMaskMayBeMissingOrStandInOtherPlaces) {
  EXPECT_THAT(Apply(Replaced(kAttention, "AddV2(%scaled, %mask)", "AddV2(%mask, %scaled)")),
              AllOf(HasSubstr("_FusedAttention(%q, %k, %v, %mask, ^%go)"), HasSubstr("scale=0.5")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "Mul(%half, %product)")), HasSubstr("scale=0.5"));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product", "RealDiv(%product")), HasSubstr("scale=2"));
  EXPECT_THAT(Apply(Replaced(kAttention, "AddV2(%scaled,", "AddV2(%product,")),
              Not(HasSubstr("_FusedAttention")));  // no reader of `scaled`; product has two readers
  EXPECT_THAT(Apply(Replaced(kAttention, "Softmax(%masked", "Softmax(%scaled")), Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(std::string(kInputs) + "%product:f32 = BatchMatMulV2(%q, %k)\n%weights:f32 = Softmax(%product)\n"
                                           "%out:f32 = BatchMatMulV2(%weights, %v)\n"),
              AllOf(HasSubstr("%out:f32 = _FusedAttention(%q, %k, %v) {"), HasSubstr("transpose_k=false")));
}

TEST(Attention, WhatIsReadElsewhereStays) {
  for (const char* name : {"product", "scaled", "masked", "weights"}) {
    EXPECT_THAT(Apply(absl::StrCat(kAttention, "%also:f32 = Neg(%", name, ")\n")), Not(HasSubstr("_FusedAttention")));
    EXPECT_THAT(Apply(absl::StrCat(kAttention, "%also = NoOp(^%", name, ")\n")), Not(HasSubstr("_FusedAttention")));
    PassContext fetched, fed;
    fetched.fetches = {name};
    fed.feeds = {absl::StrCat(name, ":0")};
    EXPECT_THAT(Apply(kAttention, "", fetched), Not(HasSubstr("_FusedAttention")));
    EXPECT_THAT(Apply(kAttention, "", fed), Not(HasSubstr("_FusedAttention")));
  }
  PassContext fed;
  fed.feeds = {"half"};
  EXPECT_THAT(Apply(kAttention, "", fed), Not(HasSubstr("_FusedAttention")));
}

TEST(Attention, WhatIsSomethingElseStays) {
  EXPECT_THAT(Apply(Replaced(kAttention, "{adj_y=true}", "{adj_x=true}")), Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "(%weights, %v)", "(%weights, %v) {adj_y=true}")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "(%weights, %v)", "(%v, %weights)")), Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "Mul(%product, %mask)")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "Mul(%product, %vector)")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "RealDiv(%half, %product)")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply(Replaced(kAttention, "Mul(%product, %half)", "RealDiv(%product, %zero)")),
              Not(HasSubstr("_FusedAttention")));
  EXPECT_THAT(Apply("%q:f64 = Placeholder()\n%s:f64 = BatchMatMulV2(%q, %q)\n%w:f64 = Softmax(%s)\n"
                    "%out:f64 = BatchMatMulV2(%w, %q)\n"),
              Not(HasSubstr("_FusedAttention")));
}

TEST(Attention, OnDevicesThatHaveTheKernel) {
  EXPECT_THAT(Apply(kAttention, "GPU:0"), HasSubstr("_FusedAttention"));
  EXPECT_THAT(Apply(kAttention, "CPU:0"), HasSubstr("_FusedAttention"));
  EXPECT_THAT(Apply(kAttention, "TPU:0"), Not(HasSubstr("_FusedAttention")));
}

TEST(Attention, OneMayFollowAnother) {
  // The first attention's output is also a product of queries and keys: one of the two is fused.
  const std::string shared = std::string(kInputs) +
                             "%a:f32 = BatchMatMulV2(%q, %k)\n%b:f32 = Softmax(%a)\n%c:f32 = BatchMatMulV2(%b, %v)\n"
                             "%d:f32 = Softmax(%c)\n%e:f32 = BatchMatMulV2(%d, %v)\n";
  EXPECT_THAT(Apply(shared), AllOf(HasSubstr("%c:f32 = _FusedAttention(%q, %k, %v)"), HasSubstr("Softmax(%c)")));
  const std::string masks = kAttention +
                            "%p2:f32 = BatchMatMulV2(%q, %k)\n%m2:f32 = AddV2(%p2, %out)\n%w2:f32 = Softmax(%m2)\n"
                            "%out2:f32 = BatchMatMulV2(%w2, %out)\n";
  EXPECT_THAT(Apply(masks), AllOf(HasSubstr("%out:f32 = _FusedAttention(%q, %k, %v, %mask, ^%go)"),
                                  HasSubstr("%out2:f32 = _FusedAttention(%q, %k, %out, %out)")));
}

// As TensorFlow and Weir compute gradients of unknown shapes.
const std::string kShapes =
    "%begin:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0}}\n"
    "%end:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: -2}}\n"
    "%one:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1}}\n"
    "%last:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: -1}}\n"
    "%sw:i32 = Shape(%weights)\n%bw:i32 = StridedSlice(%sw, %begin, %end, %one) {begin_mask=1}\n"
    "%sv:i32 = Shape(%v)\n%bv:i32 = StridedSlice(%sv, %begin, %end, %one) {begin_mask=1}\n"
    "%aw:(i32, i32) = BroadcastGradientArgs(%bw, %bv)\n"
    "%ss:i32 = Shape(%scaled)\n%sm:i32 = Shape(%mask)\n%as:(i32, i32) = BroadcastGradientArgs(%ss, %sm)\n";
const std::string kSoftmaxGradient =
    "%inner:f32 = Mul(%dweights, %weights)\n%total:f32 = Sum(%inner, %last) {keep_dims=true}\n"
    "%centred:f32 = Sub(%dweights, %total)\n%dmasked:f32 = Mul(%centred, %weights)\n";
const std::string kGradient = kAttention + kShapes +
                              "%dy:f32 = Neg(%y)\n%dfull:f32 = BatchMatMulV2(%dy, %v) {adj_y=true}\n"
                              "%dsum:f32 = Sum(%dfull, %aw)\n%dweights:f32 = Reshape(%dsum, %sw)\n" +
                              kSoftmaxGradient +
                              "%dmsum:f32 = Sum(%dmasked, %as)\n%dscaled:f32 = Reshape(%dmsum, %ss)\n"
                              "%dproduct:f32 = Mul(%dscaled, %half)\n"
                              "%dq:f32 = BatchMatMulV2(%dproduct, %k)\n"
                              "%dk:f32 = BatchMatMulV2(%dproduct, %q) {adj_x=true}\n"
                              "%dv:f32 = BatchMatMulV2(%weights, %dy) {adj_x=true}\n"
                              "%dvsum:f32 = Sum(%dv, %aw:1)\n%dvalues:f32 = Reshape(%dvsum, %sv)\n"
                              "%u1:f32 = Neg(%dq)\n%u2:f32 = Neg(%dk)\n";
std::string Training(std::string text) {
  return Replaced(std::move(text), "Softmax(%masked, ^%go)", "Softmax(%masked)");
}

TEST(AttentionGradient, BecomesOneNode) {
  const std::string out = Apply(Training(kGradient));
  EXPECT_THAT(out, AllOf(HasSubstr("%out:(f32, f32, f32) = _FusedAttention(%q, %k, %v, %mask) {"),
                         HasSubstr("_FusedAttentionGrad(%q, %k, %v, %mask, %out, %out:1, %out:2, %dy) {"),
                         HasSubstr("scale=0.5"), HasSubstr("sums_weights=true"), HasSubstr("sums_scores=true")))
      << out;
  EXPECT_THAT(out, AllOf(Not(HasSubstr("BatchMatMulV2")), Not(HasSubstr("Softmax")), Not(HasSubstr("%ss")),
                         Not(HasSubstr("%inner"))));
  // The sum behind the values' gradient needs the weights' shape.
  EXPECT_THAT(out, AllOf(HasSubstr("%sw:i32 = _AttentionScoresShape(%q, %k, %mask)"), HasSubstr("%dvsum:f32 = Sum(")));
}

TEST(AttentionGradient, SumsScaleAndMaskMayBeMissing) {
  std::string text =
      Replaced(Training(kGradient), "%dsum:f32 = Sum(%dfull, %aw)\n%dweights:f32 = Reshape(%dsum, %sw)\n", "");
  text = Replaced(text, "%dfull:f32", "%dweights:f32");
  text = Replaced(text, "%dmsum:f32 = Sum(%dmasked, %as)\n%dscaled:f32 = Reshape(%dmsum, %ss)\n", "");
  text = Replaced(text, "Mul(%dscaled, %half)", "Mul(%half, %dmasked)");
  EXPECT_THAT(Apply(text), AllOf(HasSubstr("_FusedAttentionGrad("), Not(HasSubstr("sums_weights=true")),
                                 Not(HasSubstr("sums_scores=true"))));
  text = Replaced(text, "%scaled:f32 = Mul(%product, %half)", "%scaled:f32 = RealDiv(%product, %half)");
  EXPECT_THAT(Apply(text), Not(HasSubstr("_FusedAttention")));
  text = Replaced(text, "Mul(%half, %dmasked)", "RealDiv(%dmasked, %half)");
  EXPECT_THAT(Apply(text), AllOf(HasSubstr("_FusedAttentionGrad("), HasSubstr("scale=2")));

  const std::string plain = std::string(kInputs) +
                            "%product:f32 = BatchMatMulV2(%q, %k)\n%weights:f32 = "
                            "Softmax(%product)\n%out:f32 = BatchMatMulV2(%weights, %v)\n"
                            "%last:i32 = Const() {value=tensor{dtype: DT_INT32 tensor_shape { dim { size: 1 } } "
                            "int_val: -1}}\n%dweights:f32 = BatchMatMulV2(%out, %v) {adj_y=true}\n" +
                            kSoftmaxGradient +
                            "%dq:f32 = BatchMatMulV2(%dmasked, %k) {adj_y=true}\n"
                            "%dk:f32 = BatchMatMulV2(%q, %dmasked) {adj_x=true}\n%u:f32 = Neg(%dq)\n";
  EXPECT_THAT(Apply(plain), AllOf(HasSubstr("_FusedAttentionGrad(%q, %k, %v, %out,"), HasSubstr("transpose_k=false")));
  // Not all gradients are used.
  EXPECT_THAT(Apply(Replaced(plain, "%dk:f32 = BatchMatMulV2(%q, %dmasked) {adj_x=true}\n", "")),
              HasSubstr("_FusedAttentionGrad("));
}

TEST(AttentionGradient, WhatIsReadElsewhereStays) {
  const std::string text = Training(kGradient);
  for (const char* name : {"product", "scaled", "masked", "weights", "dfull", "dsum", "dweights", "inner", "total",
                           "centred", "dmasked", "dmsum", "dscaled", "dproduct"}) {
    EXPECT_THAT(Apply(absl::StrCat(text, "%also:f32 = Square(%", name, ")\n")), Not(HasSubstr("_Fused"))) << name;
    EXPECT_THAT(Apply(absl::StrCat(text, "%also = NoOp(^%", name, ")\n")),
                AllOf(HasSubstr("_FusedAttentionGrad"), HasSubstr("%also = NoOp(^%dfull/fused)")))
        << name;
    PassContext fetched, fed;
    fetched.fetches = {name};
    fed.feeds = {absl::StrCat(name, ":0")};
    EXPECT_THAT(Apply(text, "", fetched), Not(HasSubstr("_Fused"))) << name;
    EXPECT_THAT(Apply(text, "", fed), Not(HasSubstr("_Fused"))) << name;
  }
  // The gradient of the mask.
  EXPECT_THAT(Apply(text + "%dmask:f32 = Sum(%dmasked, %as:1)\n%um:f32 = Square(%dmask)\n"), Not(HasSubstr("_Fused")));
}

TEST(AttentionGradient, WhatIsSomethingElseStays) {
  const std::string text = Training(kGradient);
  const std::pair<const char*, const char*> changes[] = {
      {"BatchMatMulV2(%dy, %v)", "BatchMatMulV2(%dy, %k)"},
      {"{keep_dims=true}", "{keep_dims=false}"},
      {"Sum(%inner, %last)", "Sum(%inner, %one)"},
      {"Sub(%dweights, %total)", "Sub(%total, %dweights)"},
      {"Mul(%dscaled, %half)", "Mul(%dscaled, %zero)"},
      {"Mul(%dscaled, %half)", "RealDiv(%dscaled, %half)"},
      {"BatchMatMulV2(%dproduct, %k)", "BatchMatMulV2(%dproduct, %v)"},
      {"BatchMatMulV2(%weights, %dy) {adj_x=true}", "BatchMatMulV2(%weights, %y) {adj_x=true}"},
      {"Sum(%dfull, %aw)", "Sum(%dfull, %as)"},
      {"Reshape(%dsum, %sw)", "Reshape(%dsum, %sv)"},
      {"BroadcastGradientArgs(%ss, %sm)", "BroadcastGradientArgs(%ss, %sv)"},
      {"StridedSlice(%sw, %begin, %end, %one)", "StridedSlice(%sw, %begin, %begin, %one)"},
  };
  for (const auto& [from, to] : changes) EXPECT_THAT(Apply(Replaced(text, from, to)), Not(HasSubstr("_Fused"))) << to;
}

TEST(AttentionGradient, OptimizersHoldGradientsBack) {
  // As in TensorFlow: the gradients of one op, including that of the constant scale, wait for each other.
  std::string text = Replaced(
      Training(kGradient), "%dweights:f32 = Reshape(%dsum, %sw)\n",
      "%dwfree:f32 = Reshape(%dsum, %sw)\n%gate1 = NoOp(^%dwfree, ^%dvalues)\n"
      "%dweights:f32 = Identity(%dwfree, ^%gate1)\n%heldv:f32 = Identity(%dvalues, ^%gate1)\n%uv:f32 = Neg(%heldv)\n");
  text = Replaced(text, "%dproduct:f32 = Mul(%dscaled, %half)\n",
                  "%dpfree:f32 = Mul(%dscaled, %half)\n%lost:f32 = Mul(%product, %dscaled)\n"
                  "%lostsum:f32 = Sum(%lost, %last)\n%gate2 = NoOp(^%dpfree, ^%lostsum)\n"
                  "%dproduct:f32 = Identity(%dpfree, ^%gate2)\n");
  text += "%gate3 = NoOp(^%dq, ^%dk)\n%heldq:f32 = Identity(%dq, ^%gate3)\n%uq:f32 = Neg(%heldq)\n";
  const std::string out = Apply(text);
  EXPECT_THAT(out, AllOf(HasSubstr("_FusedAttentionGrad(%q, %k, %v, %mask,"), Not(HasSubstr("%lost")),
                         Not(HasSubstr("%gate2")), Not(HasSubstr("BatchMatMulV2"))))
      << out;
  EXPECT_THAT(out,
              AllOf(HasSubstr("%heldv:f32 = Identity(%dvalues, ^%gate1)"), HasSubstr("%gate3 = NoOp(^%dfull/fused)")));
  // The fused gradient would have to wait for the gate's other inputs.
  EXPECT_THAT(Apply(Replaced(text, "NoOp(^%dpfree, ^%lostsum)", "NoOp(^%dpfree, ^%lostsum, ^%go)")),
              Not(HasSubstr("_Fused")));
}

TEST(AttentionGradient, NeverMakesACycle) {
  // The values depend on their own gradient.
  std::string text = Training(kGradient);
  text = Replaced(text, "%dy:f32 = Neg(%y)", "%dy:f32 = Neg(%q)");
  EXPECT_THAT(Apply(text), HasSubstr("_FusedAttentionGrad"));
  std::string moved = Replaced(text, "%v:f32 = Placeholder()\n", "");
  const size_t at = moved.find("%out:f32");
  const std::string head = moved.substr(0, at), tail = moved.substr(at);
  EXPECT_THAT(Apply(head +
                    "%dy:f32 = Neg(%q)\n%dv:f32 = BatchMatMulV2(%weights, %dy) {adj_x=true}\n"
                    "%v:f32 = Placeholder(^%dv)\n" +
                    Replaced(Replaced(tail, "%dy:f32 = Neg(%q)\n", ""),
                             "%dv:f32 = BatchMatMulV2(%weights, %dy) {adj_x=true}\n", "")),
              Not(HasSubstr("_Fused")));
}

}  // namespace
}  // namespace weir
