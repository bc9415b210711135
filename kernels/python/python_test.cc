#include "core/kernel/function_runtime.h"
#include "core/kernel/python_functions.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// Records calls and returns `results`.
class FakeFunctions : public PythonFunctions {
 public:
  void CallAsync(PythonFunctionCall call, CancellationManager*, DoneCallback done) override {
    calls.push_back(std::move(call));
    done(results);
  }

  std::vector<PythonFunctionCall> calls;
  absl::StatusOr<std::vector<Tensor>> results;
};

// A graph's function runtime, of a session with Python functions.
class FakeRuntime : public FunctionRuntime {
 public:
  explicit FakeRuntime(std::shared_ptr<PythonFunctions> python) : python_(std::move(python)) {}
  absl::StatusOr<Handle> Instantiate(const tensorflow::NameAttrList&) override { return errors::NotFound("none"); }
  void RunAsync(Handle, const RunOptions&, std::vector<Tensor>, DoneCallback done) override {
    done(errors::NotFound("none"));
  }
  const tensorflow::FunctionDef* Find(absl::string_view) const override { return nullptr; }
  absl::StatusOr<std::shared_ptr<FunctionRuntime>> Clone(const tensorflow::FunctionDefLibrary*) const override {
    return errors::NotFound("none");
  }
  std::shared_ptr<PythonFunctions> python() const override { return python_; }

 private:
  const std::shared_ptr<PythonFunctions> python_;
};

class PythonTest : public OpTest {
 protected:
  // Runs the op in a session with `functions_`.
  absl::StatusOr<std::vector<Tensor>> Call(const std::string& op, std::vector<TestInput> inputs, DataTypeVector types) {
    DataTypeVector input_types;
    for (const TestInput& input : inputs) input_types.push_back(input.tensor.dtype());
    FakeRuntime runtime(functions_);
    step().functions = &runtime;
    return RunOp(op, std::move(inputs),
                 Attrs().Set("token", std::string("pyfunc_7")).Set("Tin", input_types).Set("Tout", types));
  }

  std::shared_ptr<FakeFunctions> functions_ = std::make_shared<FakeFunctions>();
};

TEST_F(PythonTest, PassesInputsAndResults) {
  functions_->results = std::vector<Tensor>{AsTensor<float>({1, 2}), AsScalar<tstring>("s")};
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results,
                       Call("PyFunc", {AsScalar<int32_t>(3), AsScalar<tstring>("x")}, {DT_FLOAT, DT_STRING}));
  ExpectTensorEqual(results[0], AsTensor<float>({1, 2}));
  ExpectTensorEqual(results[1], AsScalar<tstring>("s"));
  ASSERT_EQ(functions_->calls.size(), 1);
  EXPECT_EQ(functions_->calls[0].token, "pyfunc_7");
  EXPECT_FALSE(functions_->calls[0].eager);
  ExpectTensorEqual(functions_->calls[0].inputs[0], AsScalar<int32_t>(3));
  ExpectTensorEqual(functions_->calls[0].inputs[1], AsScalar<tstring>("x"));
}

TEST_F(PythonTest, EagerFunctionsAreMarked) {
  functions_->results = std::vector<Tensor>{};
  ASSERT_THAT(Call("EagerPyFunc", {}, {}), IsOk());
  EXPECT_TRUE(functions_->calls.at(0).eager);
}

TEST_F(PythonTest, ResultsAreChecked) {
  functions_->results = std::vector<Tensor>{AsScalar<double>(1)};
  EXPECT_THAT(Call("PyFunc", {}, {DT_FLOAT}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("0-th value returned by pyfunc_7 is double, but expects float")));
  EXPECT_THAT(Call("PyFuncStateless", {}, {DT_DOUBLE, DT_DOUBLE}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("pyfunc_7 returns 1 values, but expects to see 2 values.")));
}

TEST_F(PythonTest, ErrorsAreTheFunctions) {
  functions_->results = errors::OutOfRange("StopIteration");
  EXPECT_THAT(Call("PyFunc", {}, {}), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("StopIteration")));
}

TEST_F(PythonTest, ASessionWithoutFunctionsSaysWhatToDo) {
  functions_ = nullptr;
  EXPECT_THAT(Call("PyFunc", {}, {}), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("weir.enable_py_func")));
}

}  // namespace
}  // namespace weir
