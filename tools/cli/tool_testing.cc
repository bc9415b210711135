#include "tools/cli/tool_testing.h"

#include <sstream>

namespace weir {

TestTool::TestTool()
    : line_("tool", "Do what tests need", "1.2.3",
            {.description = "The first paragraph.\n\n.The second one's dots and \\backslashes stay.",
             .examples = {{"tool serve --level debug", "Serve and say much"}},
             .exit_codes = {{"0", "Success."}}}) {
  CLI::App* const serve = line_.Add(line_.root(), "serve", "Serve",
                                    {.examples = {{"tool serve", ""}}, .sections = {{"FILES", "/etc/tool"}}});
  AddChoice(*serve, "--level", level, {"debug", "info"}, "What [it] says: it's \"all\" or less")
      ->capture_default_str()
      ->group("Output");
  serve->add_option("-d,--directory", directory, "Where to serve")->type_name("DIR");
  serve->add_option("--number", number, "How often")->type_name("N");
  serve->add_flag("--loud", loud, "Say it loud")->group("Output");
  line_.Runs(serve, [this] {
    ran = "serve";
    return 0;
  });
  CLI::App* const list = line_.Add(line_.root(), "list", "List names", {});
  list->add_option("FILE", file, "The file")->required()->type_name("FILE");
  list->add_option("NAME", names, "The names");
  line_.Runs(list, [this] {
    ran = "list";
    return 7;
  });
  CLI::App* const box = line_.Add(line_.root(), "box", "Handle a box", {});
  for (const char* name : {"open", "close"}) {
    CLI::App* const command = line_.Add(*box, name, std::string("Do it: ") + name, {});
    line_.Runs(command, [this, name] {
      ran = name;
      return 0;
    });
  }
  line_.Runs(line_.AddHidden(line_.root(), "secret", "Not shown"), [] { return 0; });
}

TestTool::Result TestTool::Run(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tool");
  std::ostringstream out, err;
  Result result;
  result.code = line_.Run(static_cast<int>(arguments.size()), arguments.data(), out, err);
  result.out = out.str();
  result.err = err.str();
  return result;
}

}  // namespace weir
