#include <cmath>

#include "kernels/op_testing.h"
#include "kernels/signal/wav.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class AudioTest : public OpTest {
 protected:
  absl::StatusOr<std::vector<Tensor>> Decode(const std::string& file, const Attrs& attrs = {}) {
    return RunOp("DecodeWav", {AsScalar<tstring>(file)}, attrs);
  }
};

TEST_F(AudioTest, WavFilesComeBack) {
  const Tensor sound = AsTensor<float>({0, 0.5f, -1, 2, 0.25f, -0.25f}, {3, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor file, RunOp1("EncodeWav", {sound, AsScalar<int32_t>(44100)}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> back, Decode(std::string(file.scalar<tstring>())));
  ExpectTensorEqual(back[0], AsTensor<float>({0, 0.5f, -1, 32767 / 32768.0f, 0.25f, -0.25f}, {3, 2}));
  ExpectTensorEqual(back[1], AsScalar<int32_t>(44100));
  // Samples without channels take no memory: there may be any number.
  EXPECT_THAT(Decode(std::string(file.scalar<tstring>()),
                     Attrs().Set("desired_channels", int64_t{0}).Set("desired_samples", int64_t{1} << 62)),
              IsOk());
  EXPECT_THAT(RunOp("EncodeWav", {sound, AsScalar<int32_t>(0)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sample_rate")));
}

TEST_F(AudioTest, WavFilesAreCutAndFilledUp) {
  const std::vector<float> samples = {0.5f, -0.5f};
  const std::string file = EncodeWav(samples.data(), 2, 1, 8000);
  const Attrs attrs = Attrs().Set("desired_channels", int64_t{2}).Set("desired_samples", int64_t{3});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> sound, Decode(file, attrs));
  ExpectTensorEqual(sound[0], AsTensor<float>({0.5f, 0.5f, -0.5f, -0.5f, 0, 0}, {3, 2}));
}

TEST_F(AudioTest, WhatIsNoWavFileIsRefused) {
  const std::vector<float> samples(8, 0.5f);
  const std::string file = EncodeWav(samples.data(), 8, 1, 8000);
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_THAT(Decode(file.substr(0, length)), StatusIs(absl::StatusCode::kInvalidArgument)) << length;
  }
  for (size_t i = 0; i < 44; ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 0x80);
    Decode(changed).status().IgnoreError();
  }
}

// A wave that fits into the window four times.
TEST_F(AudioTest, ASpectrogramFindsAWave) {
  std::vector<float> samples(48);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(std::cos(2 * M_PI * 4 * i / 32.0));
  const Attrs attrs = Attrs().Set("window_size", int64_t{32}).Set("stride", int64_t{16});
  ASSERT_OK_AND_ASSIGN(const Tensor spectrogram,
                       RunOp1("AudioSpectrogram", {AsTensor<float>(samples, {48, 1})}, attrs));
  ASSERT_EQ(spectrogram.shape(), TensorShape({1, 2, 17}));
  for (int64_t i = 0; i < 34; ++i) {
    const int64_t off = std::abs(i % 17 - 4);
    EXPECT_NEAR(spectrogram.data<float>()[i], off == 0 ? 8 : off == 1 ? 4 : 0, 1e-5) << i;
  }
}

TEST_F(AudioTest, MfccOfNothingCostsNothing) {
  const Tensor nothing(DT_FLOAT, TensorShape({0, 0, int64_t{1} << 40}));
  EXPECT_THAT(RunOp("Mfcc", {nothing, AsScalar<int32_t>(16000)}), IsOk());
}

TEST_F(AudioTest, MfccOfASpectrumWithoutAnythingIsThatOfTheFloor) {
  const Tensor silence(DT_FLOAT, TensorShape({1, 1, 257}));
  std::fill_n(const_cast<Tensor&>(silence).data<float>(), 257, 0.0f);
  ASSERT_OK_AND_ASSIGN(const Tensor mfcc, RunOp1("Mfcc", {silence, AsScalar<int32_t>(16000)}));
  ASSERT_EQ(mfcc.shape(), TensorShape({1, 1, 13}));
  EXPECT_NEAR(mfcc.data<float>()[0], std::sqrt(2.0 / 40) * 40 * std::log(1e-12), 1e-3);
  for (int i = 1; i < 13; ++i) EXPECT_NEAR(mfcc.data<float>()[i], 0, 1e-3);
  EXPECT_THAT(RunOp("Mfcc", {silence, AsScalar<int32_t>(0)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("initialization failed")));
}

}  // namespace
}  // namespace weir
