// Gradients through conditionals and while loops.
#include "client/cond.h"
#include "client/ops.h"
#include "client/while_loop.h"
#include "core/testing.h"
#include "graph/gradients/gradient_builder.h"
#include "tests/gradients/graph_function.h"
#include "tests/gradients/numeric_gradient.h"

namespace weir {
namespace {

using StepFunction = std::function<OutputList(const Scope& scope, const Output& i, const OutputList& values)>;

// `values` after `times` steps.
OutputList Repeat(const Scope& scope, const Input& times, const OutputList& values, const StepFunction& step) {
  OutputList variables = {scope.Constant(Tensor::Scalar<int32_t>(0))};
  variables.insert(variables.end(), values.begin(), values.end());
  const OutputList last = WhileLoop(
      scope, variables, [&](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], times); },
      [&](const Scope& s, const OutputList& v) {
        OutputList next = step(s, v[0], OutputList(v.begin() + 1, v.end()));
        next.insert(next.begin(), ops::AddV2(s, v[0], 1));
        return next;
      });
  return last.empty() ? OutputList() : OutputList(last.begin() + 1, last.end());
}

class ControlFlowGradientsTest : public ::testing::Test {
 protected:
  // d(ys)/d(xs_), where xs_[k] has shapes[k], or is a scalar. Returns the gradients that there are.
  OutputList Check(const OutputList& ys, std::vector<TensorShape> shapes) {
    EXPECT_THAT(scope_.status(), IsOk());
    if (!scope_.ok()) return {};
    shapes.resize(xs_.size());
    std::vector<Tensor> values;
    for (const TensorShape& shape : shapes) {
      values.push_back(RandomTensor(DT_DOUBLE, shape, -0.9, 0.9, static_cast<int>(values.size()) + 1));
    }
    OutputList gradients = CheckGradients(scope_, xs_, values, ys);
    std::erase_if(gradients, [](const Output& gradient) { return !gradient.valid(); });
    return gradients;
  }

  Output IsEven(const Scope& scope, const Output& i) { return ops::Equal(scope, ops::FloorMod(scope, i, 2), 0); }

  Scope scope_ = Scope::NewRoot();
  OutputList xs_ = {Argument(scope_, 0, DT_DOUBLE), Argument(scope_, 1, DT_DOUBLE), Argument(scope_, 2, DT_DOUBLE)};
};

TEST_F(ControlFlowGradientsTest, OnlyTheBranchTakenCounts) {
  for (const bool taken : {true, false}) {
    const OutputList y = Cond(
        scope_, scope_.Constant(Tensor::Scalar<bool>(taken)),
        [&](const Scope& s) { return OutputList{ops::Mul(s, ops::Sin(s, xs_[0]), xs_[1])}; },
        [&](const Scope& s) { return OutputList{ops::Exp(s, xs_[0])}; });
    Check(y, {TensorShape({3}), TensorShape({3})});
  }
}

TEST_F(ControlFlowGradientsTest, ABranchMayHandAValueThrough) {
  for (const bool taken : {true, false}) {
    const OutputList y = Cond(
        scope_, scope_.Constant(Tensor::Scalar<bool>(taken)), [&](const Scope&) { return OutputList{xs_[0]}; },
        [&](const Scope& s) { return OutputList{ops::Square(s, xs_[0])}; });
    Check({ops::Mul(scope_, y[0], xs_[0])}, {TensorShape({3})});
  }
}

TEST_F(ControlFlowGradientsTest, ConditionalsNest) {
  for (const int which : {0, 1, 2, 3}) {
    const Output outer = scope_.Constant(Tensor::Scalar<bool>(which & 1));
    const Output inner = scope_.Constant(Tensor::Scalar<bool>(which & 2));
    const OutputList y = Cond(
        scope_, outer,
        [&](const Scope& s) {
          const Output u = ops::Sin(s, xs_[0]);
          return Cond(
              s, inner, [&](const Scope& t) { return OutputList{ops::Mul(t, u, xs_[1])}; },
              [&](const Scope& t) { return OutputList{ops::Square(t, u)}; });
        },
        [&](const Scope& s) { return OutputList{ops::Sub(s, xs_[1], xs_[0])}; });
    Check(y, {TensorShape({2}), TensorShape({2})});
  }
}

TEST_F(ControlFlowGradientsTest, ConditionalsHaveSecondGradients) {
  const OutputList y = Cond(
      scope_, scope_.Constant(Tensor::Scalar<bool>(true)),
      [&](const Scope& s) { return OutputList{ops::Sin(s, ops::Mul(s, xs_[0], xs_[0]))}; },
      [&](const Scope& s) { return OutputList{ops::Exp(s, xs_[0])}; });
  Check(Check(y, {TensorShape({3})}), {TensorShape({3})});
}

TEST_F(ControlFlowGradientsTest, ALoopCarriesAValue) {
  const OutputList y = Repeat(scope_, 4, {xs_[0]}, [](const Scope& s, const Output&, const OutputList& v) {
    return OutputList{ops::Mul(s, ops::Sin(s, v[0]), ops::AddV2(s, v[0], 1.5))};
  });
  Check(y, {TensorShape({3})});
}

TEST_F(ControlFlowGradientsTest, ALoopReadsWhatDoesNotChange) {
  const OutputList y = Repeat(scope_, 5, {xs_[0]}, [&](const Scope& s, const Output&, const OutputList& v) {
    return OutputList{ops::Mul(s, v[0], xs_[1])};
  });
  Check(y, {TensorShape({3}), TensorShape({3})});
}

TEST_F(ControlFlowGradientsTest, ALoopBroadcastsWhatDoesNotChange) {
  const OutputList y = Repeat(scope_, 3, {xs_[0]}, [&](const Scope& s, const Output&, const OutputList& v) {
    return OutputList{ops::AddV2(s, ops::Sin(s, v[0]), xs_[1])};
  });
  Check(y, {TensorShape({2, 3}), TensorShape({3})});
}

TEST_F(ControlFlowGradientsTest, ARecurrentCell) {
  const OutputList y = Repeat(scope_, 3, {xs_[0]}, [&](const Scope& s, const Output&, const OutputList& v) {
    return OutputList{ops::Tanh(s, ops::AddV2(s, ops::MatMul(s, v[0], xs_[1]), xs_[2]))};
  });
  Check(y, {TensorShape({2, 3}), TensorShape({3, 3}), TensorShape({3})});
}

TEST_F(ControlFlowGradientsTest, LoopVariablesMix) {
  const OutputList y =
      Repeat(scope_, 3, {xs_[0], xs_[1], xs_[2]}, [](const Scope& s, const Output& i, const OutputList& v) {
        return OutputList{ops::Mul(s, v[0], v[1]), ops::AddV2(s, ops::Sin(s, v[0]), ops::Cast(s, i, DT_DOUBLE)), v[2]};
      });
  Check({y[0], y[2]}, {TensorShape({3}), TensorShape({3}), TensorShape({3})});
}

TEST_F(ControlFlowGradientsTest, ALoopThatNeverRuns) {
  const OutputList y = Repeat(scope_, 0, {xs_[0]}, [&](const Scope& s, const Output&, const OutputList& v) {
    return OutputList{ops::Mul(s, v[0], xs_[1])};
  });
  Check({ops::Square(scope_, y[0])}, {TensorShape({3}), TensorShape({3})});
}

TEST_F(ControlFlowGradientsTest, LoopsNest) {
  const OutputList y = Repeat(scope_, 3, {xs_[0]}, [&](const Scope& s, const Output& i, const OutputList& v) {
    const Output start = ops::Sin(s, v[0]);
    return Repeat(s, i, {start}, [&](const Scope& t, const Output&, const OutputList& u) {
      return OutputList{ops::Mul(t, u[0], ops::AddV2(t, v[0], xs_[1]))};
    });
  });
  Check(y, {TensorShape({2}), TensorShape({2})});
}

TEST_F(ControlFlowGradientsTest, AConditionalInALoop) {
  const OutputList y = Repeat(scope_, 4, {xs_[0]}, [&](const Scope& s, const Output& i, const OutputList& v) {
    return Cond(
        s, IsEven(s, i), [&](const Scope& t) { return OutputList{ops::Mul(t, ops::Sin(t, v[0]), xs_[1])}; },
        [&](const Scope& t) { return OutputList{ops::Exp(t, v[0])}; });
  });
  Check(y, {TensorShape({2}), TensorShape({2})});
}

TEST_F(ControlFlowGradientsTest, ALoopInAConditional) {
  for (const bool taken : {true, false}) {
    const OutputList y = Cond(
        scope_, scope_.Constant(Tensor::Scalar<bool>(taken)),
        [&](const Scope& s) {
          return Repeat(s, 3, {xs_[0]}, [&](const Scope& t, const Output&, const OutputList& v) {
            return OutputList{ops::Mul(t, ops::Sin(t, v[0]), xs_[1])};
          });
        },
        [&](const Scope& s) { return OutputList{ops::Square(s, xs_[0])}; });
    Check(y, {TensorShape({2}), TensorShape({2})});
  }
}

TEST_F(ControlFlowGradientsTest, ALoopGathersRows) {
  const OutputList y = Repeat(scope_, 3, {xs_[1]}, [&](const Scope& s, const Output& i, const OutputList& v) {
    return OutputList{ops::Mul(s, v[0], ops::GatherV2(s, xs_[0], i, 0))};
  });
  Check(y, {TensorShape({4, 2}), TensorShape({2})});
}

TEST_F(ControlFlowGradientsTest, ALoopMayBeDifferentiatedTwice) {
  const OutputList y = Repeat(scope_, 3, {xs_[0]}, [&](const Scope& s, const Output&, const OutputList& v) {
    return OutputList{ops::Mul(s, ops::Sin(s, v[0]), xs_[1])};
  });
  Check(y, {TensorShape({2}), TensorShape({2})});
  Check({ops::Square(scope_, y[0])}, {TensorShape({2}), TensorShape({2})});
}

TEST_F(ControlFlowGradientsTest, LoopsHaveGradientsOfHigherOrder) {
  const OutputList y = Repeat(scope_, 3, {xs_[0]}, [&](const Scope& s, const Output&, const OutputList& v) {
    return OutputList{ops::Mul(s, ops::Sin(s, v[0]), xs_[1])};
  });
  OutputList gradients = y;
  for (int order = 0; order < 3; ++order) gradients = Check(gradients, {TensorShape({2}), TensorShape({2})});
}

TEST_F(ControlFlowGradientsTest, NestedLoopsHaveSecondGradients) {
  const OutputList y = Repeat(scope_, 2, {xs_[0]}, [&](const Scope& s, const Output& i, const OutputList& v) {
    return Repeat(s, ops::AddV2(s, i, 1), {v[0]}, [&](const Scope& t, const Output&, const OutputList& u) {
      return OutputList{ops::Mul(t, ops::Sin(t, u[0]), ops::AddV2(t, v[0], xs_[1]))};
    });
  });
  Check(Check(y, {TensorShape({2}), TensorShape({2})}), {TensorShape({2}), TensorShape({2})});
}

TEST_F(ControlFlowGradientsTest, ConditionalsInLoopsHaveSecondGradients) {
  const OutputList y = Repeat(scope_, 4, {xs_[0]}, [&](const Scope& s, const Output& i, const OutputList& v) {
    return Cond(
        s, IsEven(s, i),
        [&](const Scope& t) {
          const Output sine = ops::Sin(t, v[0]);
          return Cond(
              t, ops::Less(t, i, 2), [&](const Scope& u) { return OutputList{ops::Mul(u, sine, xs_[1])}; },
              [&](const Scope& u) { return OutputList{ops::Square(u, sine)}; });
        },
        [&](const Scope& t) { return OutputList{ops::Exp(t, v[0])}; });
  });
  Check(Check(y, {TensorShape({2}), TensorShape({2})}), {TensorShape({2}), TensorShape({2})});
}

}  // namespace
}  // namespace weir
