#include "kernels/recurrent/gpu/cudnn_rnn_functions.h"

namespace weir {
namespace {

absl::StatusOr<CudnnRnnFunctions> Load() {
  RETURN_IF_ERROR(LoadCudnn().status());  // and with it its version
  ASSIGN_OR_RETURN(const SharedLibrary library, OpenCudnnLibrary());
  CudnnRnnFunctions f = {};
  RETURN_IF_ERROR(library.Find({{"cudnnCreateRNNDescriptor", &f.CreateRnn},
                                {"cudnnDestroyRNNDescriptor", &f.DestroyRnn},
                                {"cudnnSetRNNDescriptor_v8", &f.SetRnn},
                                {"cudnnCreateRNNDataDescriptor", &f.CreateData},
                                {"cudnnDestroyRNNDataDescriptor", &f.DestroyData},
                                {"cudnnSetRNNDataDescriptor", &f.SetData},
                                {"cudnnCreateTensorDescriptor", &f.CreateTensor},
                                {"cudnnDestroyTensorDescriptor", &f.DestroyTensor},
                                {"cudnnSetTensorNdDescriptor", &f.SetTensor},
                                {"cudnnCreateDropoutDescriptor", &f.CreateDropout},
                                {"cudnnDestroyDropoutDescriptor", &f.DestroyDropout},
                                {"cudnnSetDropoutDescriptor", &f.SetDropout},
                                {"cudnnRestoreDropoutDescriptor", &f.RestoreDropout},
                                {"cudnnDropoutGetStatesSize", &f.DropoutStatesSize},
                                {"cudnnGetRNNWeightSpaceSize", &f.WeightSpaceSize},
                                {"cudnnGetRNNWeightParams", &f.WeightParams},
                                {"cudnnGetRNNTempSpaceSizes", &f.TempSpaceSizes},
                                {"cudnnRNNForward", &f.Forward},
                                {"cudnnRNNBackwardData_v8", &f.BackwardData},
                                {"cudnnRNNBackwardWeights_v8", &f.BackwardWeights}}));
  return f;
}

}  // namespace

absl::StatusOr<const CudnnRnnFunctions*> LoadCudnnRnn() {
  static const auto* const loaded = new absl::StatusOr<CudnnRnnFunctions>(Load());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace weir
