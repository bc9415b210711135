// Loads the plug-in beside this program, and prints the batches of a file's columns: read here, or by the cluster whose
// server ("grpc://host:port", the last argument) has loaded it too.
//   parquet_main PLUGIN FILE COLUMN:TYPE[,…] BATCH_SIZE [grpc://HOST:PORT]
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "weir/custom_op.h"
#include "weir/data/dataset.h"
#include "weir/kernels/plugin.h"
#include "weir/session.h"

using namespace weir;  // NOLINT

absl::Status Run(int argc, char** argv) {
  if (argc < 5) return errors::InvalidArgument("usage: parquet_main PLUGIN FILE COLUMN:TYPE,... BATCH [TARGET]");
  const std::string plugin = argv[1], file = argv[2];
  RETURN_IF_ERROR(LoadPlugin(plugin, {.folders = {std::filesystem::absolute(plugin).parent_path()}}));
  std::vector<std::string> columns;
  TensorSpecs element;
  for (const absl::string_view text : absl::StrSplit(argv[3], ',')) {
    const std::pair<std::string, std::string> column = absl::StrSplit(text, ':');
    columns.push_back(column.first);
    const std::optional<DataType> type = ParseDataType(column.second);
    if (!type.has_value()) return errors::InvalidArgument("\"", column.second, "\" is no type");
    element.types.push_back(*type);
  }
  element.shapes.resize(columns.size());  // of any rank
  const char* const op = absl::EndsWith(file, ".parquet") ? "ParquetDataset" : "ArrowIpcDataset";

  const Scope scope = Scope::NewRoot();
  const Output rows(CustomOp(scope, op, {{scope.Constant(Tensor::Scalar<tstring>(file))}},
                             {{"columns", columns},
                              {"output_types", element.types},
                              {"output_shapes", element.shapes},
                              {"batch_size", int64_t{std::atoi(argv[4])}}}),
                    0);
  const DataIterator iterator = Dataset::FromVariant(scope, rows, element).MakeOneShotIterator();
  const OutputList batch = iterator.GetNext(scope);
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                   argc > 5 ? Session::Connect(argv[5], scope) : Session::Local(scope));
  for (;;) {
    const auto values = session->Run(batch);
    if (absl::IsOutOfRange(values.status())) return absl::OkStatus();
    RETURN_IF_ERROR(values.status());
    for (size_t i = 0; i < columns.size(); ++i) {
      std::printf("%s%s %s", i == 0 ? "" : ", ", columns[i].c_str(), (*values)[i].DebugString().c_str());
    }
    std::printf("\n");
  }
}

int main(int argc, char** argv) {
  const absl::Status status = Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
