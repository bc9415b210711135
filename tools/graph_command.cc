#include "graph/graph.h"
#include "graph/graph_import.h"
#include "graph/shapes/shape_refiner.h"
#include "graph/text/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tools/commands.h"
#include "tools/proto_file.h"

namespace weir {

absl::Status PrintGraphFile(const OpRegistry& ops, const std::string& file, bool shapes, std::ostream& out) {
  tensorflow::GraphDef def;
  RETURN_IF_ERROR(ReadProtoFile(file, &def));
  Graph graph(&ops);
  ImportOptions options;
  options.allow_internal_ops = true;
  if (absl::Status status = ImportGraphDef(options, std::move(def), &graph); !status.ok()) {
    return Annotate(status, file);
  }
  if (!shapes) {
    out << PrintGraph(graph);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ShapeRefiner inferred, InferShapes(graph, {.strict = false}));
  out << PrintGraph(graph, {.shapes = &inferred});
  return absl::OkStatus();
}

}  // namespace weir
