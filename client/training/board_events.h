// Parts of events as TensorBoard's plug-ins read them.
#pragma once

#include <map>
#include <string>

#include "core/status.h"

namespace tensorflow {
class GraphDef;
class Summary;
}  // namespace tensorflow

namespace weir {

// Replaces values of TensorFlow 1 (simple_value, histo, image) by the tensors that tf.summary writes, each with the
// metadata of its plug-in. Images with one tag except for their number become one value. Others stay as they are.
void ConvertToTensors(tensorflow::Summary* summary);

// The beginning of a training with these hyper-parameters, and its successful end. One without an end is shown as
// running.
void AddHyperParameters(const std::map<std::string, double>& parameters, tensorflow::Summary* summary);
void AddHyperParametersEnd(tensorflow::Summary* summary);

// Empties constants of more than 1 KiB, which TensorBoard does not show either.
void DropLargeConstants(tensorflow::GraphDef* graph);

}  // namespace weir
