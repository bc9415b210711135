#include "tests/layers/keras_values.h"

#include <algorithm>
#include <cmath>

#include "core/checkpoint/bundle_reader.h"
#include "core/files/file_system.h"
#include "core/testing.h"

namespace weir {
namespace {

std::unique_ptr<BundleReader> Open(const std::string& file) {
  static FileSystem* const files = NewPosixFileSystem().release();
  return BundleReader::Open(files, JoinPath(KerasDirectory(), file)).value();
}

}  // namespace

std::string& KerasDirectory() {
  static auto* const directory = new std::string;
  return *directory;
}

Tensor KerasValue(const std::string& file, const std::string& name) {
  const absl::StatusOr<Tensor> value = Open(file)->Read(name);
  EXPECT_THAT(value, IsOk()) << name;
  return value.ok() ? *value : Tensor();
}

std::vector<std::string> KerasNames(const std::string& file) {
  std::vector<std::string> names;
  for (const BundleReader::Info& info : Open(file)->List()) names.push_back(info.name);
  return names;
}

void ExpectClose(const Tensor& actual, const Tensor& expected, const std::string& what, double tolerance) {
  ASSERT_EQ(actual.dtype(), DT_FLOAT) << what;
  ASSERT_EQ(expected.dtype(), DT_FLOAT) << what;
  ASSERT_EQ(actual.shape().ToString(), expected.shape().ToString()) << what;
  for (int64_t i = 0; i < actual.NumElements(); ++i) {
    const double a = actual.flat<float>()[i], e = expected.flat<float>()[i];
    ASSERT_NEAR(a, e, tolerance * std::max(1.0, std::abs(e))) << what << " at " << i;
  }
}

}  // namespace weir
