#include "bench/step_spec.h"

#include <fstream>
#include <sstream>

namespace weir::bench {
namespace {

class Random {
 public:
  uint32_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33);
  }

 private:
  uint64_t state_ = 42;
};

std::vector<int64_t> ParseDims(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream in(text);
  for (std::string dim; std::getline(in, dim, 'x');) dims.push_back(std::stoll(dim));
  return dims;
}

}  // namespace

int64_t StepSpec::Feed::NumElements() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

std::vector<float> StepSpec::Feed::Floats() const {
  Random random;
  std::vector<float> values(NumElements());
  for (float& value : values) value = static_cast<float>(random.Next() >> 7) * 0x1p-24f;
  return values;
}

std::vector<int32_t> StepSpec::Feed::Ints() const {
  Random random;
  std::vector<int32_t> values(NumElements());
  for (int32_t& value : values) value = static_cast<int32_t>(random.Next() % 10);
  return values;
}

std::string StepSpec::ToText() const {
  std::ostringstream out;
  for (const Feed& feed : feeds) {
    out << "feed " << feed.node << ' ' << feed.type << ' ';
    for (size_t i = 0; i < feed.dims.size(); ++i) out << (i == 0 ? "" : "x") << feed.dims[i];
    out << '\n';
  }
  for (const std::string& node : fetches) out << "fetch " << node << '\n';
  for (const std::string& node : targets) out << "target " << node << '\n';
  for (const std::string& node : init) out << "init " << node << '\n';
  if (!optimize) out << "optimize off\n";
  if (!commit) out << "commit off\n";
  if (cpu_devices != 1) out << "cpu_devices " << cpu_devices << '\n';
  if (saved_model) out << "saved_model yes\n";
  return out.str();
}

bool StepSpec::FromText(const std::string& text, StepSpec* spec, std::string* error) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind, node, type, dims;
    words >> kind >> node >> type >> dims;
    if (kind == "feed" && (type == "float" || type == "int32")) {
      spec->feeds.push_back({node, type, ParseDims(dims)});
    } else if (kind == "fetch") {
      spec->fetches.push_back(node);
    } else if (kind == "target") {
      spec->targets.push_back(node);
    } else if (kind == "init") {
      spec->init.push_back(node);
    } else if (kind == "optimize" && node == "off") {
      spec->optimize = false;
    } else if (kind == "commit" && node == "off") {
      spec->commit = false;
    } else if (kind == "cpu_devices") {
      spec->cpu_devices = std::stoi(node);
    } else if (kind == "saved_model") {
      spec->saved_model = true;
    } else {
      *error = "not a line of a step specification: " + line;
      return false;
    }
  }
  return true;
}

bool ReadFile(const std::string& path, std::string* content) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  std::ostringstream out;
  out << in.rdbuf();
  *content = out.str();
  return true;
}

}  // namespace weir::bench
