// Loads a SavedModel and times calls of its signature "serving_default" with zeros: call_model DIR [grpc://HOST:PORT]
#include <cstdio>
#include <cstring>

#include "client/models/saved_model_loader.h"
#include "core/clock.h"

using namespace weir;  // NOLINT

// A value that the input accepts: one row of zeros, or of empty strings.
Tensor Zeros(const SignatureTensor& input) {
  TensorShape shape;
  for (const int64_t size : input.shape.dim_sizes()) shape.AddDim(size < 0 ? 1 : size).IgnoreError();
  Tensor tensor(input.dtype, shape);
  if (IsPlainType(input.dtype)) std::memset(tensor.raw_data(), 0, tensor.TotalBytes());
  return tensor;
}

absl::Status Call(const std::string& dir, const std::string& target) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadSavedModel(dir, {.target = target}));
  ASSIGN_OR_RETURN(const std::shared_ptr<const PreparedSignature> signature, model->Signature("serving_default"));
  std::printf("%s\n", signature->info().ToString().c_str());

  std::vector<Tensor> inputs;
  for (const SignatureTensor& input : signature->info().inputs) inputs.push_back(Zeros(input));
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, signature->Run(inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s = %s\n", signature->info().outputs[i].name.c_str(), outputs[i].DebugString().c_str());
  }

  constexpr int kCalls = 1000;
  const absl::Time start = MonotonicNow();
  for (int i = 0; i < kCalls; ++i) RETURN_IF_ERROR(signature->Run(inputs).status());
  std::printf("%.0f calls per second\n", kCalls / absl::ToDoubleSeconds(MonotonicNow() - start));
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s DIR [grpc://HOST:PORT]\n", argv[0]);
    return 2;
  }
  const absl::Status status = Call(argv[1], argc == 3 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
