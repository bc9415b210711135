#include <optional>

#include "distribute/cluster/cluster_resolver.h"
#include "tools/commands.h"

namespace weir {

absl::Status PrintResolvedCluster(const std::string& from, std::ostream& out) {
  std::optional<ClusterSource> source;
  if (from != "auto") {
    ASSIGN_OR_RETURN(source, ParseClusterSource(from));
  }
  ASSIGN_OR_RETURN(const ResolvedCluster resolved, ResolveCluster(Environment::OfThisProcess(), source));
  out << TfConfigJson(resolved.task) << "\n";
  return absl::OkStatus();
}

}  // namespace weir
