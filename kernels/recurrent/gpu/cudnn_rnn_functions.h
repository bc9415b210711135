// cuDNN's functions for recurrent networks, which its graph API does not cover.
#pragma once

#include <cudnn_adv.h>

#include "kernels/device/cudnn/cudnn_functions.h"

namespace weir {

struct CudnnRnnFunctions {
  decltype(&::cudnnCreateRNNDescriptor) CreateRnn;
  decltype(&::cudnnDestroyRNNDescriptor) DestroyRnn;
  decltype(&::cudnnSetRNNDescriptor_v8) SetRnn;
  decltype(&::cudnnCreateRNNDataDescriptor) CreateData;
  decltype(&::cudnnDestroyRNNDataDescriptor) DestroyData;
  decltype(&::cudnnSetRNNDataDescriptor) SetData;
  decltype(&::cudnnCreateTensorDescriptor) CreateTensor;
  decltype(&::cudnnDestroyTensorDescriptor) DestroyTensor;
  decltype(&::cudnnSetTensorNdDescriptor) SetTensor;
  decltype(&::cudnnCreateDropoutDescriptor) CreateDropout;
  decltype(&::cudnnDestroyDropoutDescriptor) DestroyDropout;
  decltype(&::cudnnSetDropoutDescriptor) SetDropout;
  decltype(&::cudnnRestoreDropoutDescriptor) RestoreDropout;
  decltype(&::cudnnDropoutGetStatesSize) DropoutStatesSize;
  decltype(&::cudnnGetRNNWeightSpaceSize) WeightSpaceSize;
  decltype(&::cudnnGetRNNWeightParams) WeightParams;
  decltype(&::cudnnGetRNNTempSpaceSizes) TempSpaceSizes;
  decltype(&::cudnnRNNForward) Forward;
  decltype(&::cudnnRNNBackwardData_v8) BackwardData;
  decltype(&::cudnnRNNBackwardWeights_v8) BackwardWeights;
};

// Of the library that LoadCudnn loads; the same errors.
absl::StatusOr<const CudnnRnnFunctions*> LoadCudnnRnn();

}  // namespace weir
