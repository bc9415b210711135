// A protobuf message as a value, in headers that must not include protobuf's.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/status.h"

namespace tensorflow {
class ConfigProto;
class NameAttrList;
class RunMetadata;
class RunOptions;
}  // namespace tensorflow

namespace WEIR_API weir {

// Holds a `Message`, default-constructed at first. To use its fields, include the message's header, or set them with
// MergeText. Moving leaves the default value. Thread-safe as an int is. For the messages declared above.
template <typename Message>
class ProtoValue {
 public:
  ProtoValue();
  ProtoValue(const Message& message);  // NOLINT(google-explicit-constructor): a message with another owner
  ProtoValue(const ProtoValue& other);
  ProtoValue(ProtoValue&& other) noexcept;
  ProtoValue& operator=(const ProtoValue& other);
  ProtoValue& operator=(ProtoValue&& other) noexcept;
  ~ProtoValue();

  const Message& operator*() const;
  const Message* operator->() const { return &**this; }
  Message& operator*();
  Message* operator->() { return &**this; }

  // Merges fields in protobuf's text format: "allow_soft_placement: true device_count {key: 'CPU' value: 2}".
  // InvalidArgument, without a change, names the line and column of a mistake.
  absl::Status MergeText(absl::string_view text);
  // The fields in that format, one a line.
  std::string ToText() const;

 private:
  std::unique_ptr<Message> message_;  // null: default
};

// A function of a graph's library, with its attributes.
using NameAttrList = ProtoValue<tensorflow::NameAttrList>;

// As WEIR_API, which Clang does not take here.
extern template class __attribute__((visibility("default"))) ProtoValue<tensorflow::ConfigProto>;
extern template class __attribute__((visibility("default"))) ProtoValue<tensorflow::NameAttrList>;
extern template class __attribute__((visibility("default"))) ProtoValue<tensorflow::RunMetadata>;
extern template class __attribute__((visibility("default"))) ProtoValue<tensorflow::RunOptions>;

}  // namespace weir
