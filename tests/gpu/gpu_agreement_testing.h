// A fixture that runs ops on the CPU and on the GPU of a session with the same inputs, and compares the results.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/kernel/kernel_registry.h"
#include "core/op/attr_value.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tests/gpu/gpu_session_testing.h"

namespace weir {

class GpuAgreementTest : public GpuSessionTest {
 protected:
  GpuAgreementTest();
  using Arguments = std::vector<std::vector<Tensor>>;

  // Adds `op` on the CPU and on the GPU, with fed inputs.
  void Add(const std::string& op, std::vector<Tensor> inputs, const tensorflow::NodeDef& attrs = {});
  // The same for an op whose arguments are lists.
  void AddLists(const std::string& op, Arguments arguments, const tensorflow::NodeDef& attrs = {});
  // Adds an op that updates variables of these values, its first arguments, and compares their values afterwards. They
  // are resources if its name says so ("Resource…", "…VariableOp"), otherwise references.
  void AddUpdate(const std::string& op, const std::vector<Tensor>& variables, std::vector<Tensor> inputs,
                 const tensorflow::NodeDef& attrs = {});
  // Adds an op that reads one variable, such as ResourceGather.
  void AddRead(const std::string& op, const Tensor& variable, std::vector<Tensor> inputs,
               const tensorflow::NodeDef& attrs = {});
  // Adds several nodes that use each other's results, and compares the outputs that `build` returns.
  using Program = std::function<OutputList(const Scope& scope, const OutputList& inputs)>;
  void AddProgram(const std::string& name, std::vector<Tensor> inputs, const Program& build);
  // A node of a program.
  Operation Node(const Scope& scope, const std::string& op, const std::vector<Input>& inputs,
                 tensorflow::NodeDef attrs = {});
  // Expects the program to fail on the CPU, and on the GPU with the same error.
  void ExpectSameFailure(std::vector<Tensor> inputs, const Program& build);
  // Expects both kernels to reject the inputs with the same message.
  void ExpectSameError(const std::string& op, std::vector<Tensor> inputs, const tensorflow::NodeDef& attrs = {});
  // Runs everything that was added and compares the results.
  void Compare();
  // Fails for each combination of op and types that has a GPU kernel, unless something that was added runs it or it is
  // among KernelsCheckedElsewhere.
  void ExpectThatAllKernelsRan();

  template <typename V>
  static tensorflow::NodeDef Attr(const char* name, const V& value, tensorflow::NodeDef node = {}) {
    SetNodeAttr(name, value, &node);
    return node;
  }
  Tensor Of(DataType type, const TensorShape& shape);

  void AddElementwise();
  void AddFloats(DataType type);
  void AddMoves(DataType type);
  void AddCasts(DataType from);
  void AddBitcastOfRow(DataType type);
  void AddSlices(DataType type);
  void AddInt32();
  void AddIndexed(DataType type);
  void AddReplacements(DataType type);
  void AddSteps(DataType type);
  void AddRandom(DataType type);
  void AddRandomIntegers();
  void AddConvolutions(DataType type);
  void AddPools(DataType type);
  void AddNorms(DataType type);
  void AddDiagonals(DataType type);
  void AddSpaces(DataType type);
  void AddValues(DataType type);
  void AddProducts(DataType type);
  void AddEinsums(DataType type);
  void AddPredictions();
  void AddSparse(DataType type);
  void AddCounts();
  void AddQuantised();
  void AddQuantizeAndDequantize(DataType type);
  void AddImages(DataType type);
  void AddCrops(DataType type);
  void AddVolumes(DataType type);
  Tensor Centred(DataType type, const TensorShape& shape);
  void AddLstms(DataType type);
  void AddGrus();
  void AddLists(DataType type);
  void AddListsOfRows(DataType type);
  void AddListsOfLists();
  void AddArraysOfLists();
  void AddLongLists(DataType type);
  void AddArrays(DataType type);
  void AddStacks(DataType type);
  void AddRnns(DataType type);
  void AddRnnParameters(DataType type);

  KernelRegistry kernels_;

 private:
  void AddOf(const std::string& op, const std::vector<InputList>& inputs, const tensorflow::NodeDef& attrs);
  // A placeholder that is fed.
  Output Fed(Tensor value);
  // Handles of new variables on the scope's device, or references, and what gives them their values.
  std::vector<Output> NewVariables(const Scope& scope, const std::vector<Tensor>& values, bool are_references,
                                   std::vector<Operation>* assigned);

  std::mt19937 random_{17};
  int num_variables_ = 0;
  FeedList feeds_;
  OutputList fetches_;
  std::vector<std::string> names_;
};

// All kernels, on simulated GPUs ("Simulated") or on the machine's ("Cuda"), of which one is enough.
class GpuKernelAgreementTest : public GpuAgreementTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override;
};

}  // namespace weir
