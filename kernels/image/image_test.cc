#include "kernels/image/codec/png_codec.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class ImagesTest : public OpTest {};

Tensor Text(std::string text) { return AsScalar<tstring>(std::move(text)); }

// Two pixels with alpha, without loss.
const std::string& WebPFile() {
  static const std::string* const file = new std::string(
      "\122\111\106\106\050\000\000\000\127\105\102\120\126\120\070\114\033\000\000\000\057\001\000\000"
      "\020\017\360\340\366\167\350\134\316\134\041\200\000\050\302\151\302\144\124\040\242\377\001\000",
      48);
  return *file;
}
// An animation of canvas 4x2 with two frames, the second at (2, 0).
std::string AnimatedWebP() {
  const auto chunk = [](const std::string& kind, const std::string& data) {
    return kind + std::string(1, static_cast<char>(data.size())) + std::string(3, '\0') + data;
  };
  std::string body = chunk("VP8X", std::string("\x12\0\0\0\3\0\0\1\0\0", 10)) + chunk("ANIM", std::string(6, '\0'));
  for (const char left : {'\0', '\1'}) {
    const std::string place = left + std::string("\0\0\0\0\0\1\0\0\0\0\0\x64\0\0\2", 15);
    body += chunk("ANMF", place + WebPFile().substr(12));
  }
  return chunk("RIFF", "WEBP" + body);
}

TEST_F(ImagesTest, WebPHasFramesWhereverItIsDecoded) {
  const TensorShape shape({1, 1, 2, 4});
  const Tensor pixels = AsTensor<uint8_t>({58, 193, 230, 39, 87, 174, 88, 81}, shape);
  for (const char* op : {"DecodeWebP", "DecodeImage", "DecodePng"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor image, RunOp1(op, {Text(WebPFile())}));
    ExpectTensorEqual(image, pixels);
  }
  ASSERT_OK_AND_ASSIGN(const Tensor frames, RunOp1("DecodeWebP", {Text(AnimatedWebP())}));
  ASSERT_EQ(frames.shape(), TensorShape({2, 2, 4, 4}));
  const uint8_t* const second = frames.data<uint8_t>() + 32;
  EXPECT_EQ(std::vector<int>(second, second + 16),
            (std::vector<int>{58, 193, 230, 39, 87, 174, 88, 81, 58, 193, 230, 39, 87, 174, 88, 81}));
  const Attrs first = Attrs().Set("expand_animations", false);
  ASSERT_OK_AND_ASSIGN(const Tensor still, RunOp1("DecodeImage", {Text(AnimatedWebP())}, first));
  EXPECT_EQ(still.shape(), TensorShape({2, 4, 4}));
  const auto refuse = [&](const std::string& file, int64_t channels, const char* why) {
    EXPECT_THAT(RunOp("DecodeWebP", {Text(file)}, Attrs().Set("channels", channels)),
                StatusIs(kInvalid, HasSubstr(why)));
  };
  refuse(WebPFile(), 3, "Number of channels requested does not match input");
  refuse(WebPFile(), 1, "WebP only supports 3 or 4 channels");
  refuse(WebPFile().substr(0, 20), 0, "Failed to decode WebP header");
  refuse(WebPFile().substr(0, 40), 0, "Failed to decode WebP image");
  refuse(AnimatedWebP().substr(0, 130), 0, "Failed to decode WebP Animation");
  EXPECT_THAT(RunOp("DecodeImage", {Text(WebPFile())}, Attrs().Set("dtype", DT_FLOAT)),
              StatusIs(kInvalid, HasSubstr("WebP only supports uint8")));
}

TEST_F(ImagesTest, PngComesBack) {
  const Tensor image = AsTensor<uint8_t>({1, 2, 3, 40, 50, 60, 255, 0, 7, 9, 9, 9}, {2, 2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor file, RunOp1("EncodePng", {image}));
  ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("DecodePng", {file}));
  ExpectTensorEqual(back, image);
  ASSERT_OK_AND_ASSIGN(Tensor any, RunOp1("DecodeImage", {file}));
  ExpectTensorEqual(any, image);
  ASSERT_OK_AND_ASSIGN(Tensor gray, RunOp1("DecodePng", {file}, Attrs().Set("channels", int64_t{1})));
  EXPECT_EQ(gray.shape(), TensorShape({2, 2, 1}));
  EXPECT_EQ(gray.data<uint8_t>()[3], 9);
}

TEST_F(ImagesTest, PngsWithoutChannelsAreRefusedAsSuch) {
  EXPECT_THAT(RunOp("EncodePng", {Tensor(DT_UINT8, TensorShape({2, 2, 0}))}),
              StatusIs(kInvalid, HasSubstr("image must have 1, 2, 3, or 4 channels, got 0")));
}

TEST_F(ImagesTest, JpegKeepsSizesAndRoughlyColors) {
  const Tensor image(DT_UINT8, TensorShape({16, 24, 3}));
  std::fill_n(static_cast<uint8_t*>(image.raw_data()), image.NumElements(), uint8_t{100});
  ASSERT_OK_AND_ASSIGN(Tensor file, RunOp1("EncodeJpeg", {image}));
  ASSERT_OK_AND_ASSIGN(Tensor shape, RunOp1("ExtractJpegShape", {file}));
  ExpectTensorEqual(shape, Ints({16, 24, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("DecodeJpeg", {file}));
  EXPECT_EQ(back.shape(), image.shape());
  EXPECT_NEAR(back.data<uint8_t>()[0], 100, 2);
  ASSERT_OK_AND_ASSIGN(Tensor part, RunOp1("DecodeAndCropJpeg", {file, Ints({3, 5, 2, 4})}));
  EXPECT_EQ(part.shape(), TensorShape({2, 4, 3}));
}

TEST_F(ImagesTest, PartsAreOfJpegsAlone) {
  ASSERT_OK_AND_ASSIGN(const std::string png, EncodePng("\1\2\3\4\5\6", 1, 2, 3));
  for (const auto& [file, format] : {std::pair(png, "PNG"), {"GIF89a", "GIF"}, {"BM", "BMP"}}) {
    EXPECT_THAT(RunOp("DecodeAndCropJpeg", {Text(file), Ints({0, 0, 1, 1})}),
                StatusIs(kInvalid, HasSubstr(absl::StrCat("can run on JPEG only, but detected ", format))));
  }
}

TEST_F(ImagesTest, JpegsWithoutAWholeRowAreBlackWhereNoneIsAskedFor) {
  Tensor image(DT_UINT8, TensorShape({8, 8, 3}));
  std::fill_n(image.data<uint8_t>(), image.NumElements(), uint8_t{100});
  ASSERT_OK_AND_ASSIGN(Tensor file, RunOp1("EncodeJpeg", {image}));
  const std::string whole(file.scalar<tstring>());
  const Tensor cut = Text(whole.substr(0, whole.size() - 2));
  EXPECT_THAT(RunOp("DecodeJpeg", {cut}, Attrs().Set("acceptable_fraction", 0.5f)), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(Tensor black, RunOp1("DecodeJpeg", {cut}, Attrs().Set("acceptable_fraction", 0.0f)));
  ExpectTensorEqual(black, AsTensor<uint8_t>(std::vector<uint8_t>(8 * 8 * 3), {8, 8, 3}));
}

TEST_F(ImagesTest, BrokenFilesAreRefused) {
  ASSERT_OK_AND_ASSIGN(const std::string png, EncodePng("\1\2\3\4\5\6", 1, 2, 3));
  for (const std::string& file :
       {std::string(), std::string("nothing"), png.substr(0, 40), std::string("\xff\xd8\xff\xe0"),
        std::string("GIF89a\xff\xff\xff\xff\x80"), std::string("BM") + std::string(30, '\x7f')}) {
    for (const char* op : {"DecodePng", "DecodeJpeg", "DecodeGif", "DecodeBmp", "DecodeWebP", "DecodeImage"}) {
      EXPECT_THAT(RunOp(op, {Text(file)}), StatusIs(kInvalid)) << op << " " << file.size();
    }
  }
  // A header that claims more than there may be.
  std::string huge = png;
  huge[16] = huge[20] = '\x7f';
  EXPECT_THAT(RunOp("DecodePng", {Text(huge)}), StatusIs(kInvalid));
}

// Each way to cut a file short, and to change one of its bytes: an image or an error, nothing else.
TEST_F(ImagesTest, DamagedFilesAreAnsweredOneWayOrTheOther) {
  Tensor image(DT_UINT8, TensorShape({9, 7, 3}));
  for (int64_t i = 0; i < image.NumElements(); ++i) image.data<uint8_t>()[i] = static_cast<uint8_t>(i * 37);
  ASSERT_OK_AND_ASSIGN(Tensor png, RunOp1("EncodePng", {image}));
  ASSERT_OK_AND_ASSIGN(Tensor jpeg, RunOp1("EncodeJpeg", {image}));
  ASSERT_OK_AND_ASSIGN(Tensor progressive, RunOp1("EncodeJpeg", {image}, Attrs().Set("progressive", true)));
  std::string bmp("BM\x5e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\3\0\0\0\3\0\0\0\1\0\x18\0\0\0\0\0\x24\0\0\0", 38);
  bmp += std::string(16, '\0') + std::string(36, '\x5a');
  const std::string gif("GIF89a\2\0\1\0\x80\0\0\x0a\x0a\x0a\xc8\xc8\xc8,\0\0\0\0\2\0\1\0\0\2\2\x44\x0a\0;", 35);
  EXPECT_THAT(RunOp("DecodeBmp", {Text(bmp)}), IsOk());
  EXPECT_THAT(RunOp("DecodeGif", {Text(gif)}), IsOk());
  const auto decode = [&](const std::string& file) {
    RunOp("DecodeImage", {Text(file)}).status().IgnoreError();
    RunOp("DecodeJpeg", {Text(file)}, Attrs().Set("try_recover_truncated", true)).status().IgnoreError();
  };
  for (const std::string& file : {std::string(png.scalar<tstring>()), std::string(jpeg.scalar<tstring>()),
                                  std::string(progressive.scalar<tstring>()), bmp, gif, WebPFile()}) {
    EXPECT_THAT(RunOp("DecodeImage", {Text(file)}), IsOk());
    for (size_t i = 0; i < file.size(); ++i) {
      decode(file.substr(0, i));
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ 0xff);
      decode(changed);
    }
  }
}

TEST_F(ImagesTest, LargeJpegFilesGrowAsTheyAreWritten) {
  Tensor noise(DT_UINT8, TensorShape({200, 300, 3}));
  uint32_t seed = 1;
  for (int64_t i = 0; i < noise.NumElements(); ++i)
    noise.data<uint8_t>()[i] = (seed = seed * 1664525 + 1013904223) >> 24;
  ASSERT_OK_AND_ASSIGN(Tensor file, RunOp1("EncodeJpeg", {noise}));
  EXPECT_GT(file.scalar<tstring>().size(), 16384u);
  ASSERT_OK_AND_ASSIGN(Tensor back, RunOp1("DecodeJpeg", {file}));
  EXPECT_EQ(back.shape(), noise.shape());
}

TEST_F(ImagesTest, GifFramesCoverEachOther) {
  // Two frames of 2 x 1; the second leaves the first pixel transparent (index 0).
  const std::string head("GIF89a\2\0\1\0\x80\0\0\x0a\x0a\x0a\xc8\xc8\xc8", 19);
  const std::string control("!\xf9\4\1\0\0\0\0", 8), image(",\0\0\0\0\2\0\1\0\0\2", 11);
  // Codes of three bits: clear, 0, 1, end; clear, 0, 0, end.
  const std::string first("\2\x44\x0a\0", 4), second("\2\x04\x0a\0", 4);
  ASSERT_OK_AND_ASSIGN(Tensor frames,
                       RunOp1("DecodeGif", {Text(head + image + first + control + image + second + ";")}));
  ASSERT_EQ(frames.shape(), TensorShape({2, 1, 2, 3}));
  ExpectTensorEqual(frames, AsTensor<uint8_t>({10, 10, 10, 200, 200, 200, 10, 10, 10, 200, 200, 200}, {2, 1, 2, 3}));
}

TEST_F(ImagesTest, PatchesOfWindows) {
  const Attrs attrs = Attrs()
                          .Set("ksizes", std::vector<int64_t>{1, 2, 2, 1})
                          .Set("strides", std::vector<int64_t>{1, 1, 1, 1})
                          .Set("rates", std::vector<int64_t>{1, 1, 1, 1})
                          .Set("padding", std::string("VALID"));
  ASSERT_OK_AND_ASSIGN(Tensor patches, RunOp1("ExtractImagePatches", {F({1, 2, 3, 4, 5, 6}, {1, 2, 3, 1})}, attrs));
  ExpectTensorEqual(patches, F({1, 2, 4, 5, 2, 3, 5, 6}, {1, 1, 2, 4}));
  // A window that is one too large fits nowhere; beyond that there is no size.
  ASSERT_OK_AND_ASSIGN(patches, RunOp1("ExtractImagePatches", {F({1}, {1, 1, 1, 1})}, attrs));
  EXPECT_EQ(patches.shape(), TensorShape({1, 0, 0, 4}));
  ASSERT_OK_AND_ASSIGN(patches, RunOp1("ExtractImagePatches", {F({1}, {1, 1, 1, 1})},
                                       Attrs()
                                           .Set("ksizes", std::vector<int64_t>{1, 4, 1, 1})
                                           .Set("strides", std::vector<int64_t>{1, 2, 1, 1})
                                           .Set("rates", std::vector<int64_t>{1, 1, 1, 1})
                                           .Set("padding", std::string("VALID"))));
  EXPECT_EQ(patches.shape(), TensorShape({1, 0, 1, 4}));
  EXPECT_THAT(RunOp("ExtractImagePatches", {Tensor(DT_FLOAT, TensorShape({1, 0, 1, 1}))}, attrs),
              StatusIs(kInvalid, HasSubstr("negative")));
}

TEST_F(ImagesTest, BoxesAreChecked) {
  const Tensor image = F({0, 0, 0, 0}, {1, 2, 2, 1});
  ASSERT_OK_AND_ASSIGN(Tensor drawn, RunOp1("DrawBoundingBoxes", {image, F({0, 0, 0, 1}, {1, 1, 4})}));
  ExpectTensorEqual(drawn, F({1, 1, 0, 0}, {1, 2, 2, 1}));
  EXPECT_THAT(RunOp("DrawBoundingBoxes", {image, F({0, 0, 0}, {1, 1, 3})}), StatusIs(kInvalid, HasSubstr("must be 4")));
  EXPECT_THAT(
      RunOp("SampleDistortedBoundingBoxV2", {Ints({5, 5, 3}), F({0, 0, 2, 1}, {1, 1, 4}), AsScalar<float>(0.1f)}),
      StatusIs(kInvalid, HasSubstr("must be in [0.0, 1.0]")));
  ASSERT_OK_AND_ASSIGN(Tensor kept, RunOp1("NonMaxSuppressionWithOverlaps",
                                           {F({1, .9f, 0, .9f, 1, 0, 0, 0, 1}, {3, 3}), AsTensor<float>({1, 3, 2}),
                                            AsScalar<int32_t>(3), AsScalar<float>(0.5f), AsScalar<float>(0)}));
  ExpectTensorEqual(kept, Ints({1, 2}));
  // What is not below the threshold is suppressed, also where nothing is.
  ASSERT_OK_AND_ASSIGN(kept, RunOp1("NonMaxSuppressionWithOverlaps",
                                    {F({1, 0, 0, 1}, {2, 2}), AsTensor<float>({1, 3}), AsScalar<int32_t>(2),
                                     AsScalar<float>(std::numeric_limits<float>::quiet_NaN()), AsScalar<float>(0)}));
  ExpectTensorEqual(kept, Ints({1}));
}

}  // namespace
}  // namespace weir
