#include "core/proto_value.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "core/proto_text.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

template <typename Message>
ProtoValue<Message>::ProtoValue() = default;

template <typename Message>
ProtoValue<Message>::ProtoValue(const Message& message) : message_(std::make_unique<Message>(message)) {}

template <typename Message>
ProtoValue<Message>::ProtoValue(const ProtoValue& other)
    : message_(other.message_ != nullptr ? std::make_unique<Message>(*other.message_) : nullptr) {}

template <typename Message>
ProtoValue<Message>::ProtoValue(ProtoValue&& other) noexcept = default;

template <typename Message>
ProtoValue<Message>& ProtoValue<Message>::operator=(const ProtoValue& other) {
  return *this = ProtoValue(other);
}

template <typename Message>
ProtoValue<Message>& ProtoValue<Message>::operator=(ProtoValue&& other) noexcept = default;

template <typename Message>
ProtoValue<Message>::~ProtoValue() = default;

template <typename Message>
const Message& ProtoValue<Message>::operator*() const {
  return message_ != nullptr ? *message_ : Message::default_instance();
}

template <typename Message>
Message& ProtoValue<Message>::operator*() {
  if (message_ == nullptr) message_ = std::make_unique<Message>();
  return *message_;
}

template <typename Message>
absl::Status ProtoValue<Message>::MergeText(absl::string_view text) {
  Message parsed;
  RETURN_IF_ERROR(ParseProtoText(text, &parsed));
  (**this).MergeFrom(parsed);
  return absl::OkStatus();
}

template <typename Message>
std::string ProtoValue<Message>::ToText() const {
  std::string text;
  google::protobuf::TextFormat::PrintToString(**this, &text);
  return text;
}

template class ProtoValue<tensorflow::ConfigProto>;
template class ProtoValue<tensorflow::NameAttrList>;
template class ProtoValue<tensorflow::RunMetadata>;
template class ProtoValue<tensorflow::RunOptions>;

}  // namespace weir
