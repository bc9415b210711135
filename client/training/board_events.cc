#include "client/training/board_events.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorboard/hparams.pb.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace weir {
namespace {

using Value = tensorflow::Summary::Value;

constexpr size_t kMostConstantBytes = 1024;

void SetPlugin(const std::string& plugin, tensorflow::DataClass data_class, Value* value) {
  value->mutable_metadata()->mutable_plugin_data()->set_plugin_name(plugin);
  value->mutable_metadata()->set_data_class(data_class);
}

void ConvertScalar(Value* value) {
  const float number = value->simple_value();
  SetPlugin("scalars", tensorflow::DATA_CLASS_SCALAR, value);
  value->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  value->mutable_tensor()->mutable_tensor_shape();
  value->mutable_tensor()->add_float_val(number);
}

// [buckets, 3]: left and right edge, and count. The outermost edges are those of the values.
void ConvertHistogram(Value* value) {
  const tensorflow::HistogramProto histogram = value->histo();
  SetPlugin("histograms", tensorflow::DATA_CLASS_TENSOR, value);
  tensorflow::TensorProto* const tensor = value->mutable_tensor();
  tensor->set_dtype(tensorflow::DT_DOUBLE);
  int64_t buckets = 0;
  double left = histogram.min();
  for (int i = 0; i < std::min(histogram.bucket_size(), histogram.bucket_limit_size()); ++i) {
    const double limit = histogram.bucket_limit(i);
    if (histogram.bucket(i) <= 0) {
      left = std::max(left, limit);
      continue;
    }
    const double right = std::min(limit, histogram.max());
    tensor->add_double_val(std::min(left, right));
    tensor->add_double_val(right);
    tensor->add_double_val(histogram.bucket(i));
    left = right;
    ++buckets;
  }
  tensor->mutable_tensor_shape()->add_dim()->set_size(buckets);
  tensor->mutable_tensor_shape()->add_dim()->set_size(3);
}

// Strings: width, height, and the encoded images.
void ConvertImage(Value* value, std::string tag) {
  const tensorflow::Summary::Image image = value->image();
  value->set_tag(std::move(tag));
  SetPlugin("images", tensorflow::DATA_CLASS_BLOB_SEQUENCE, value);
  tensorflow::TensorProto* const tensor = value->mutable_tensor();
  tensor->set_dtype(tensorflow::DT_STRING);
  tensor->add_string_val(absl::StrCat(image.width()));
  tensor->add_string_val(absl::StrCat(image.height()));
  tensor->add_string_val(image.encoded_image_string());
}

// "base" of "base/image/2" and "base/image".
std::string ImageTag(absl::string_view tag) {
  const size_t slash = tag.rfind('/');
  int64_t number = 0;
  if (slash != absl::string_view::npos && absl::SimpleAtoi(tag.substr(slash + 1), &number)) tag = tag.substr(0, slash);
  return std::string(tag.substr(0, tag.size() - (tag.size() > 6 && tag.substr(tag.size() - 6) == "/image" ? 6 : 0)));
}

double Now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

void AddPluginData(const std::string& tag, const tensorboard::hparams::HParamsPluginData& data,
                   tensorflow::Summary* summary) {
  Value* const value = summary->add_value();
  value->set_tag(tag);
  SetPlugin("hparams", tensorflow::DATA_CLASS_TENSOR, value);
  *value->mutable_metadata()->mutable_plugin_data()->mutable_content() = data.SerializeAsString();
  // Only the metadata counts, but a value needs a tensor.
  value->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  value->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(0);
}

}  // namespace

void ConvertToTensors(tensorflow::Summary* summary) {
  tensorflow::Summary converted;
  std::map<std::string, Value*> images;
  for (Value& value : *summary->mutable_value()) {
    if (value.has_simple_value()) ConvertScalar(&value);
    if (value.has_histo()) ConvertHistogram(&value);
    if (value.has_image()) {
      const std::string tag = ImageTag(value.tag());
      const std::string bytes = value.image().encoded_image_string();
      if (images.contains(tag)) {
        images[tag]->mutable_tensor()->add_string_val(bytes);
        continue;
      }
      ConvertImage(&value, tag);
      *converted.add_value() = std::move(value);
      images[tag] = converted.mutable_value(converted.value_size() - 1);
      continue;
    }
    *converted.add_value() = std::move(value);
  }
  for (const auto& [tag, value] : images) {
    value->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(value->tensor().string_val_size());
  }
  summary->Swap(&converted);
}

void AddHyperParameters(const std::map<std::string, double>& parameters, tensorflow::Summary* summary) {
  tensorboard::hparams::HParamsPluginData data;
  tensorboard::hparams::SessionStartInfo* const start = data.mutable_session_start_info();
  for (const auto& [name, number] : parameters) (*start->mutable_hparams())[name].set_number_value(number);
  start->set_start_time_secs(Now());
  AddPluginData("_hparams_/session_start_info", data, summary);
}

void AddHyperParametersEnd(tensorflow::Summary* summary) {
  tensorboard::hparams::HParamsPluginData data;
  data.mutable_session_end_info()->set_status(tensorboard::hparams::STATUS_SUCCESS);
  data.mutable_session_end_info()->set_end_time_secs(Now());
  AddPluginData("_hparams_/session_end_info", data, summary);
}

void DropLargeConstants(tensorflow::GraphDef* graph) {
  for (tensorflow::NodeDef& node : *graph->mutable_node()) {
    for (auto& [name, attr] : *node.mutable_attr()) {
      if (!attr.has_tensor() || attr.tensor().ByteSizeLong() <= kMostConstantBytes) continue;
      tensorflow::TensorProto empty;
      empty.set_dtype(attr.tensor().dtype());
      *empty.mutable_tensor_shape() = attr.tensor().tensor_shape();
      *attr.mutable_tensor() = std::move(empty);
    }
  }
}

}  // namespace weir
