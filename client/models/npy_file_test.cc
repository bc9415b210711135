#include "client/models/npy_file.h"

#include "core/files/scratch_directory_testing.h"
#include "core/tensor/numeric_types.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class NpyFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<Tensor> Copied(const Tensor& tensor) {
    RETURN_IF_ERROR(WriteNpyFile(files_.get(), path_, tensor));
    return ReadNpyFile(files_.get(), path_);
  }
  absl::StatusOr<Tensor> Read(const std::string& bytes) {
    EXPECT_THAT(WriteStringToFile(files_.get(), path_, bytes), IsOk());
    return ReadNpyFile(files_.get(), path_);
  }
  // A file of version 1 with this dictionary.
  static std::string File(const std::string& dictionary, const std::string& data) {
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dictionary.size()) + '\0' + dictionary + data;
  }

  const ScratchDirectory directory_;
  const std::string path_ = directory_.Path("x.npy");
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
};

TEST_F(NpyFileTest, ValuesReturn) {
  for (const Tensor& tensor :
       {AsTensor<float>({1, 2, 3, 4, 5, 6}, {2, 3}), AsScalar<double>(1.5), AsTensor<int64_t>({}, {0, 4}),
        AsTensor<bool>({true, false}), AsTensor<tstring>({"a", "", "longer"}, {3, 1}), AsTensor<uint8_t>({255}),
        AsTensor<complex64>({{1, -2}})}) {
    ASSERT_OK_AND_ASSIGN(const Tensor copy, Copied(tensor));
    ExpectTensorEqual(copy, tensor);
  }
  ASSERT_OK_AND_ASSIGN(const Tensor wide, Copied(AsTensor<bfloat16>({bfloat16(1.5f)})));
  ExpectTensorEqual(wide, AsTensor<float>({1.5f}));
}

TEST_F(NpyFileTest, ReadsWhatNumPyWrites) {
  ASSERT_OK_AND_ASSIGN(const Tensor texts, Read(File("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }\n",
                                                     std::string("a\0\0\0b\0\0\0\xe9\0\0\0\0\0\0\0", 16))));
  ExpectTensorEqual(texts, AsTensor<tstring>({"ab", "\xc3\xa9"}));
  ASSERT_OK_AND_ASSIGN(const Tensor scalar, Read(File("{'descr': '<i4', 'fortran_order': False, 'shape': (), }\n",
                                                      std::string("\x05\0\0\0", 4))));
  ExpectTensorEqual(scalar, AsScalar<int32_t>(5));
}

TEST_F(NpyFileTest, BadFilesAreRejected) {
  EXPECT_THAT(Read(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("x.npy")));
  const std::string good = File("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }\n", std::string(4, 'x'));
  EXPECT_THAT(Read(good), IsOk());
  for (size_t length = 6; length < good.size(); ++length) EXPECT_FALSE(Read(good.substr(0, length)).ok()) << length;
  for (const char* dictionary :
       {"{'descr': '>i4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': True, 'shape': (1, 1)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904)}",
        "{'descr': '|S0', 'fortran_order': False, 'shape': (4611686018427387904,)}", "{'shape': (1,)}", "{}"}) {
    EXPECT_FALSE(Read(File(dictionary, std::string(8, 'x'))).ok()) << dictionary;
  }
}

}  // namespace
}  // namespace weir
