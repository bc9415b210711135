// Tests that sessions on GPUs fuse batch normalisation with the ops that follow it, and their gradients likewise.
#include "client/gradients.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/rewritten_session_testing.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

class BatchNormSessionTest : public RewrittenSessionTest {
 protected:
  // Of an image that is fed: what comes out, and its gradients at the image and at scale and offset.
  OutputList Build(const Scope& scope, bool has_side) {
    image_ = ops::Placeholder(scope, DT_FLOAT);
    const Output x = ops::EnsureShape(scope, image_, TensorShape({2, 4, 4, 3}));
    const Output scale = ops::Const(scope, Scrambled({3}, 2), DT_FLOAT);
    const Output offset = ops::Const(scope, Scrambled({3}, 3), DT_FLOAT);
    const Tensor none(DT_FLOAT, TensorShape({0}));
    Output y = ops::FusedBatchNormV3(scope, x, scale, offset, none, none, {.epsilon = 0.01f}).y;
    if (has_side) y = ops::AddV2(scope, y, ops::Const(scope, Scrambled({2, 4, 4, 3}, 4), DT_FLOAT));
    const Output out = ops::Relu(scope, y);
    const Output loss = ops::Mul(scope, out, ops::Const(scope, Scrambled({2, 4, 4, 3}, 5), DT_FLOAT));
    OutputList fetches = {out};
    for (const Gradient& gradient : Gradients(scope, {loss}, {image_, scale, offset})) {
      fetches.push_back(gradient.values);
    }
    return fetches;
  }
  std::vector<Tensor> RunTraced(const OutputList& fetches, std::string* graphs) {
    return RewrittenSessionTest::RunTraced({{image_, Scrambled({2, 4, 4, 3}, 1)}}, fetches, {}, graphs);
  }
  Output image_;
};

TEST_F(BatchNormSessionTest, OneNodeGivesWhatItsPartsGive) {
  for (const bool has_side : {false, true}) {
    scope_ = Scope::NewRoot();
    session_.reset();
    options_.config->clear_graph_options();
    const OutputList fetches = Build(Gpu(), has_side);
    ASSERT_EQ(fetches.size(), 4);
    std::string graphs, parts;
    const std::vector<Tensor> fused = RunTraced(fetches, &graphs);
    EXPECT_THAT(graphs, HasSubstr("_FusedBatchNormEx"));
    if (!has_side) {
      EXPECT_THAT(graphs, HasSubstr("_FusedBatchNormGradEx"));
    }
    session_.reset();
    options_.config->mutable_graph_options()->mutable_rewrite_options()->set_remapping(tensorflow::RewriterConfig::OFF);
    const std::vector<Tensor> apart = RunTraced(fetches, &parts);
    EXPECT_THAT(parts, Not(HasSubstr("_FusedBatchNorm")));
    for (size_t i = 0; i < fused.size(); ++i) ExpectTensorNear(fused[i], apart[i], 1e-5, 1e-5, absl::StrCat(i));
  }
}

}  // namespace
}  // namespace weir
