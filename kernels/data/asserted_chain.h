// AssertNextDataset and AssertPrevDataset: elements of the input, if the transformations behind or before are those
// that a program expects. Tests of graph rewrites are written with them.
#pragma once

#include "kernels/data/dataset.h"

namespace weir {

// InvalidArgument, in TensorFlow's words, unless every AssertNextDataset that `root` draws from finds the
// transformations behind it that it names, the nearest first. For the maker of an iterator that nothing else draws
// from. What functions make of elements is not looked at.
absl::Status CheckAssertedNext(const DatasetBase& root);

}  // namespace weir
