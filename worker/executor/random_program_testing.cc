#include "worker/executor/random_program_testing.h"

#include <algorithm>

namespace weir {
namespace {

using Statement = RandomBlock::Statement;

int64_t Wrapped(uint64_t value) { return static_cast<int64_t>(value); }

Out Typed(TestGraph& g, const std::string& op, Out x, const std::vector<Node*>& controls = {}) {
  return g.Add(op, {x}, {TestGraph::A("T", x.node->output_type(x.index))}, controls);
}

Out Enter(TestGraph& g, Out x, const std::string& frame, bool is_constant) {
  return g.Add("Enter", {x},
               {TestGraph::A("T", DT_INT64), TestGraph::A("frame_name", frame),
                TestGraph::A("is_constant", is_constant), TestGraph::A("parallel_iterations", int64_t{3})});
}

Out Merge(TestGraph& g, Out a, Out b) {
  return g.Add("Merge", {a, b}, {TestGraph::A("T", DT_INT64), TestGraph::A("N", int64_t{2})});
}

Out BuildIf(const Statement& s, const std::vector<Out>& values, TestGraph& g) {
  Out predicate = g.I64("Less", {values[s.a], values[s.b]});
  std::vector<Out> branches[2];
  for (Out value : values) {
    Node* node = g.Add("Switch", {value, predicate}, {TestGraph::A("T", DT_INT64)}).node;
    for (int i : {0, 1}) branches[i].push_back({node, i});
  }
  Node* if_false = Typed(g, "Identity", branches[0][0]).node;
  Node* if_true = Typed(g, "Identity", branches[1][0]).node;
  return Merge(g, BuildGraph(*s.second, branches[0], if_false, g), BuildGraph(*s.first, branches[1], if_true, g));
}

Out BuildWhile(const Statement& s, const std::vector<Out>& values, Node* pivot, TestGraph& g) {
  const auto outside = [pivot] { return pivot == nullptr ? std::vector<Node*>() : std::vector<Node*>{pivot}; }();
  const std::string frame = g.graph().UniqueName("frame");
  // The loop's name is taken by a node, so that the next loop gets another.
  Node* named = g.Add("NoOp", {}, {}, {}, frame).node;
  (void)named;
  std::vector<Out> inside;
  for (Out value : values) inside.push_back(Enter(g, value, frame, true));
  Out limit = Enter(g, g.Int(s.number, outside), frame, true);
  Out counter = Merge(g, Enter(g, g.Int(0, outside), frame, false), {nullptr});
  Out carried = Merge(g, Enter(g, values[s.a], frame, false), {nullptr});
  Out condition = g.Add("LoopCond", {g.I64("Less", {counter, limit})});
  Node* counter_switch = g.Add("Switch", {counter, condition}, {TestGraph::A("T", DT_INT64)}).node;
  Node* carried_switch = g.Add("Switch", {carried, condition}, {TestGraph::A("T", DT_INT64)}).node;
  Out i = Typed(g, "Identity", {counter_switch, 1});
  inside.push_back(i);
  inside.push_back(Typed(g, "Identity", {carried_switch, 1}));
  Out result = g.I64("AddV2", {BuildGraph(*s.first, inside, i.node, g), i});
  g.Connect(Typed(g, "NextIteration", g.I64("AddV2", {i, g.Int(1, {i.node})})), counter.node, 1);
  g.Connect(Typed(g, "NextIteration", result), carried.node, 1);
  return Typed(g, "Exit", {carried_switch, 0});
}

}  // namespace

RandomBlock MakeRandomBlock(int num_values, int depth, std::mt19937& random) {
  RandomBlock block;
  const int count = 1 + random() % 6;
  for (int i = 0; i < count; ++i) {
    Statement s;
    const int kinds = depth > 0 ? 11 : Statement::kConst + 1;
    s.kind = static_cast<Statement::Kind>(std::min<int>(random() % kinds, Statement::kWhile));
    if (s.kind == Statement::kBurn && random() % 4 != 0) s.kind = Statement::kAdd;
    s.a = random() % num_values;
    s.b = random() % num_values;
    s.number = random() % 5;
    if (s.kind == Statement::kIf) {
      s.first = std::make_unique<RandomBlock>(MakeRandomBlock(num_values, depth - 1, random));
      s.second = std::make_unique<RandomBlock>(MakeRandomBlock(num_values, depth - 1, random));
    } else if (s.kind == Statement::kWhile) {
      s.first = std::make_unique<RandomBlock>(MakeRandomBlock(num_values + 2, depth - 1, random));
    }
    block.statements.push_back(std::move(s));
    ++num_values;
  }
  return block;
}

int64_t Interpret(const RandomBlock& block, std::vector<int64_t> values) {
  for (const Statement& s : block.statements) {
    const uint64_t a = values[s.a], b = values[s.b];
    int64_t value = 0;
    switch (s.kind) {
      case Statement::kAdd:
        value = Wrapped(a + b);
        break;
      case Statement::kSub:
        value = Wrapped(a - b);
        break;
      case Statement::kMul:
        value = Wrapped(a * b);
        break;
      case Statement::kMax:
        value = std::max(values[s.a], values[s.b]);
        break;
      case Statement::kWait:
        value = values[s.a];
        break;
      case Statement::kBurn:
        value = Wrapped(a + 1);
        break;
      case Statement::kConst:
        value = s.number;
        break;
      case Statement::kIf:
        value = Interpret(values[s.a] < values[s.b] ? *s.first : *s.second, values);
        break;
      case Statement::kWhile:
        value = values[s.a];
        for (int64_t i = 0; i < s.number; ++i) {
          std::vector<int64_t> inside = values;
          inside.push_back(i);
          inside.push_back(value);
          value = Wrapped(static_cast<uint64_t>(Interpret(*s.first, inside)) + i);
        }
        break;
    }
    values.push_back(value);
  }
  return values.back();
}

Out BuildGraph(const RandomBlock& block, std::vector<Out> values, Node* pivot, TestGraph& g) {
  for (const Statement& s : block.statements) {
    const Out a = values[s.a], b = values[s.b];
    Out value{nullptr};
    switch (s.kind) {
      case Statement::kAdd:
        value = g.I64("AddV2", {a, b});
        break;
      case Statement::kSub:
        value = g.I64("Sub", {a, b});
        break;
      case Statement::kMul:
        value = g.I64("Mul", {a, b});
        break;
      case Statement::kMax:
        value = g.I64("Maximum", {a, b});
        break;
      case Statement::kWait:
        value = g.Add("TestWait", {a});
        break;
      case Statement::kBurn:
        value = g.Add("TestBurn", {a}, {TestGraph::A("micros", int64_t{100})});
        break;
      case Statement::kConst:
        value = g.Int(s.number, pivot == nullptr ? std::vector<Node*>() : std::vector<Node*>{pivot});
        break;
      case Statement::kIf:
        value = BuildIf(s, values, g);
        break;
      case Statement::kWhile:
        value = BuildWhile(s, values, pivot, g);
        break;
    }
    values.push_back(value);
  }
  return values.back();
}

}  // namespace weir
