#include "kernels/signal/wav.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

constexpr float kOne = 32768;  // what 1.0 becomes
constexpr uint32_t kBytes = 2;

// Reads numbers of the file from its front.
class Reader {
 public:
  explicit Reader(absl::string_view rest) : rest_(rest) {}

  absl::StatusOr<absl::string_view> Text(uint64_t length) {
    if (length > rest_.size()) return errors::InvalidArgument("Data too short when trying to read string");
    const absl::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return text;
  }
  absl::StatusOr<uint32_t> Number(int bytes) {
    ASSIGN_OR_RETURN(const absl::string_view text, Text(bytes));
    uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= uint32_t{static_cast<unsigned char>(text[i])} << (8 * i);
    return value;
  }
  absl::Status Expect(absl::string_view expected) {
    ASSIGN_OR_RETURN(const absl::string_view found, Text(expected.size()));
    if (found == expected) return absl::OkStatus();
    return errors::InvalidArgument("Header mismatch: Expected ", expected, " but found ", found);
  }
  // At most to the end.
  void Skip(uint64_t length) { rest_.remove_prefix(std::min<uint64_t>(length, rest_.size())); }
  bool AtEnd() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
};

// What may stand before the format; it is passed over.
absl::Status FindFormat(Reader& reader) {
  for (;;) {
    ASSIGN_OR_RETURN(const absl::string_view id, reader.Text(4));
    if (id == "fmt ") return absl::OkStatus();
    constexpr absl::string_view kKnown[] = {"JUNK", "bext", "iXML", "qlty", "mext", "levl", "link", "axml"};
    if (std::find(std::begin(kKnown), std::end(kKnown), id) == std::end(kKnown)) {
      return errors::InvalidArgument("Unexpected field ", id);
    }
    ASSIGN_OR_RETURN(const uint32_t size, reader.Number(4));
    RETURN_IF_ERROR(reader.Text(size).status());
  }
}

absl::Status ReadFormat(Reader& reader, Sound* sound) {
  ASSIGN_OR_RETURN(const uint32_t size, reader.Number(4));
  if (size != 16 && size != 18) {
    return errors::InvalidArgument("Bad format chunk size for WAV: Expected 16 or 18, but got", size);
  }
  ASSIGN_OR_RETURN(const uint32_t format, reader.Number(2));
  if (format != 1) return errors::InvalidArgument("Bad audio format for WAV: Expected 1 (PCM), but got", format);
  ASSIGN_OR_RETURN(sound->channels, reader.Number(2));
  if (sound->channels < 1) {
    return errors::InvalidArgument("Bad number of channels for WAV: Expected at least 1, but got ", sound->channels);
  }
  ASSIGN_OR_RETURN(sound->rate, reader.Number(4));
  ASSIGN_OR_RETURN(const uint32_t per_second, reader.Number(4));
  ASSIGN_OR_RETURN(const uint32_t per_frame, reader.Number(2));
  ASSIGN_OR_RETURN(const uint32_t bits, reader.Number(2));
  if (bits != 8 * kBytes) return errors::InvalidArgument("Can only read 16-bit WAV files, but received ", bits);
  const uint32_t frame = static_cast<uint32_t>(sound->channels) * kBytes;
  if (per_frame != frame) {
    return errors::InvalidArgument("Bad bytes per sample in WAV header: Expected ", frame, " but got ", per_frame);
  }
  if (per_second != frame * sound->rate) {  // modulo 2^32
    return errors::InvalidArgument("Bad bytes per second in WAV header: Expected ", frame * sound->rate, " but got ",
                                   per_second, " (sample_rate=", sound->rate, ", bytes_per_sample=", per_frame, ")");
  }
  reader.Skip(size - 16);
  return absl::OkStatus();
}

absl::Status ReadSamples(Reader& reader, uint32_t size, Sound* sound) {
  sound->frames = size / (sound->channels * kBytes);
  const int64_t count = sound->frames * sound->channels;
  ASSIGN_OR_RETURN(const absl::string_view bytes, reader.Text(count * kBytes));
  Reader samples(bytes);
  sound->samples.resize(count);
  for (float& sample : sound->samples) {
    ASSIGN_OR_RETURN(const uint32_t value, samples.Number(kBytes));
    sample = static_cast<float>(static_cast<int16_t>(value)) / kOne;
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeWav(const float* samples, int64_t frames, int64_t channels, uint32_t sample_rate) {
  constexpr uint32_t kFormatSize = 16;
  const uint32_t data_size = static_cast<uint32_t>(frames * channels * kBytes);
  std::string wav;
  wav.reserve(44 + data_size);
  const auto put = [&wav](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) wav.push_back(static_cast<char>(value >> (8 * i)));
  };
  wav += "RIFF";
  put(4 + 8 + kFormatSize + 8 + data_size, 4);
  wav += "WAVEfmt ";
  put(kFormatSize, 4);
  put(1, 2);  // PCM
  put(static_cast<uint32_t>(channels), 2);
  put(sample_rate, 4);
  put(sample_rate * static_cast<uint32_t>(channels) * kBytes, 4);
  put(static_cast<uint32_t>(channels) * kBytes, 2);
  put(8 * kBytes, 2);
  wav += "data";
  put(data_size, 4);
  for (int64_t i = 0; i < frames * channels; ++i) {
    const float sample = std::isnan(samples[i]) ? 0.0f : std::round(samples[i] * kOne);
    put(static_cast<uint16_t>(static_cast<int16_t>(std::clamp(sample, -kOne, kOne - 1))), 2);
  }
  return wav;
}

absl::StatusOr<Sound> DecodeWav(absl::string_view file) {
  Reader reader(file);
  Sound sound;
  RETURN_IF_ERROR(reader.Expect("RIFF"));
  RETURN_IF_ERROR(reader.Number(4).status());  // the file's size, which writers of streams do not know
  RETURN_IF_ERROR(reader.Expect("WAVE"));
  RETURN_IF_ERROR(FindFormat(reader));
  RETURN_IF_ERROR(ReadFormat(reader, &sound));
  bool found = false;
  while (!reader.AtEnd()) {
    ASSIGN_OR_RETURN(const absl::string_view id, reader.Text(4));
    ASSIGN_OR_RETURN(const uint32_t size, reader.Number(4));
    if (size > INT32_MAX) {
      return errors::InvalidArgument("WAV data chunk '", id, "' is too large: ", size, " bytes, but the limit is ",
                                     INT32_MAX);
    }
    if (id != "data") {
      reader.Skip(size);
      continue;
    }
    if (found) return errors::InvalidArgument("More than one data chunk found in WAV");
    found = true;
    RETURN_IF_ERROR(ReadSamples(reader, size, &sound));
  }
  if (!found) return errors::InvalidArgument("No data chunk found in WAV");
  return sound;
}

}  // namespace weir
