// Input pipelines over files that are written here too. A step takes one batch.
#include <cstdint>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "bench/graphs/graph_writer.h"
#include "bench/graphs/graphs.h"
#include "client/data/dataset.h"
#include "client/ops.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"
#include "tensorflow/core/example/example.pb.h"

namespace weir::bench {
namespace {

constexpr int kFiles = 4;
constexpr int kCores = 2;  // parallel calls, the same on both sides
constexpr int64_t kImagePixels = 28 * 28;

// Reproducible on every machine.
class Numbers {
 public:
  uint32_t Next() { return (state_ = state_ * 1664525U + 1013904223U) >> 8; }

 private:
  uint32_t state_ = 1;
};

void AppendRecord(const std::string& record, std::string* file) {
  std::string length;
  coding::PutFixed32(&length, static_cast<uint32_t>(record.size()));
  coding::PutFixed32(&length, 0);  // the upper half
  *file += length;
  coding::PutFixed32(file, crc32c::Mask(crc32c::Value(length)));
  *file += record;
  coding::PutFixed32(file, crc32c::Mask(crc32c::Value(record)));
}

absl::Status WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return file.flush() ? absl::OkStatus() : errors::Internal("Cannot write ", path);
}

std::string RandomBytes(int64_t count, Numbers* numbers) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(numbers->Next()));
  return bytes;
}

std::string ImageExample(Numbers* numbers) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["image"].mutable_bytes_list()->add_value(RandomBytes(kImagePixels, numbers));
  features["label"].mutable_int64_list()->add_value(numbers->Next() % 10);
  return example.SerializeAsString();
}

std::string CsvLine(Numbers* numbers) {
  std::string line;
  for (int column = 0; column < 10; ++column) absl::StrAppend(&line, numbers->Next() % 100000 / 1000.0, ",");
  return absl::StrCat(line, numbers->Next() % 10, "\n");
}

// FOLDER/input/records-0 …, images-0 …, table-0.csv …
absl::Status WriteFiles(const std::string& folder) {
  Numbers numbers;
  for (int i = 0; i < kFiles; ++i) {
    std::string records, images, table;
    for (int n = 0; n < 20000; ++n) AppendRecord(RandomBytes(100, &numbers), &records);
    for (int n = 0; n < 2000; ++n) AppendRecord(ImageExample(&numbers), &images);
    for (int n = 0; n < 10000; ++n) table += CsvLine(&numbers);
    RETURN_IF_ERROR(WriteFile(absl::StrCat(folder, "/input/records-", i), records));
    RETURN_IF_ERROR(WriteFile(absl::StrCat(folder, "/input/images-", i), images));
    RETURN_IF_ERROR(WriteFile(absl::StrCat(folder, "/input/table-", i, ".csv"), table));
  }
  return absl::OkStatus();
}

Output FileNames(const Scope& scope, const std::string& folder, const std::string& name, const std::string& suffix) {
  std::vector<tstring> names;
  for (int i = 0; i < kFiles; ++i) names.emplace_back(absl::StrCat(folder, "/input/", name, "-", i, suffix));
  return scope.Constant(Tensor::Vector<tstring>(names));
}

Dataset Records(const Scope& scope, const std::string& folder) {
  return Dataset::TfRecord(scope, FileNames(scope, folder, "records", "")).Repeat().Batch(512).Prefetch(2);
}

OutputList ParseImage(const Scope& scope, const OutputList& record) {
  const OutputList values =
      ops::ParseSingleExample(scope, record[0], {Tensor::Scalar<tstring>(""), Tensor::Scalar<int64_t>(0)}, 0, {},
                              {"image", "label"}, {}, {TensorShape(), TensorShape()})
          .dense_values;
  const Output pixels = ops::Cast(scope, ops::DecodeRaw(scope, values[0], DT_UINT8), DT_FLOAT);
  const Output image = ops::Reshape(scope, ops::Mul(scope, pixels, 1 / 255.0), Tensor::Vector<int32_t>({28, 28, 1}));
  return {image, values[1]};
}

Dataset Images(const Scope& scope, const std::string& folder) {
  return Dataset::FromTensorSlices(scope, {FileNames(scope, folder, "images", "")})
      .Interleave([](const Scope& s, const OutputList& file) { return Dataset::TfRecord(s, file[0]); },
                  {.cycle_length = kFiles, .block_length = 16})
      .Shuffle(1000, {.seed = 1, .seed2 = 1})
      .Repeat()
      .ParallelMap(ParseImage, {.num_parallel_calls = kCores})
      .Batch(128)
      .Prefetch(2);
}

Dataset Table(const Scope& scope, const std::string& folder) {
  std::vector<Tensor> columns(10, Tensor::Scalar<float>(0));
  columns.push_back(Tensor::Scalar<int32_t>(0));
  return Dataset::Csv(scope, FileNames(scope, folder, "table", ".csv"), columns)
      .Shuffle(1000, {.seed = 1, .seed2 = 1})
      .Repeat()
      .Batch(256)
      .Prefetch(2);
}

absl::Status WritePipeline(const std::string& path, const Scope& scope, const Dataset& dataset) {
  const DataIterator iterator = dataset.MakeIterator();
  OutputList batch = iterator.GetNext(scope);
  const Operation done = ops::NoOp(scope.WithControlDependencies(batch).WithName("done"));
  RETURN_IF_ERROR(scope.status());
  StepSpec spec;
  spec.init = {iterator.initializer().name()};
  spec.targets = {done.name()};
  spec.optimize = false;
  return WriteGraph(path, scope.ToGraphDef(), spec);
}

}  // namespace

absl::Status WriteInputGraphs(const std::string& folder) {
  RETURN_IF_ERROR(WriteFiles(folder));
  struct Pipeline {
    const char* name;
    Dataset (*make)(const Scope& scope, const std::string& folder);
  };
  for (const auto& [name, make] :
       {Pipeline{"input_records", Records}, Pipeline{"input_images", Images}, Pipeline{"input_csv", Table}}) {
    const Scope scope = Scope::NewRoot();
    RETURN_IF_ERROR(WritePipeline(absl::StrCat(folder, "/", name), scope, make(scope, folder)));
  }
  return absl::OkStatus();
}

}  // namespace weir::bench
