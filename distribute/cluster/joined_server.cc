#include "distribute/cluster/joined_server.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/files/file_system.h"
#include "distribute/cluster/environment.h"

namespace weir {

absl::StatusOr<std::unique_ptr<JoinedServer>> JoinedServer::Start(const Options& options) {
  const std::string path = absl::StrCat(options.directory, "/", options.name), ready_file = path + ".ready";
  std::vector<std::string> arguments = {options.program, "server",       "--job",        options.job,
                                        "--join",        options.target, "--ready-file", ready_file};
  arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
  std::unique_ptr<JoinedServer> server(
      new JoinedServer({.name = absl::StrCat("The server '", options.name, "', which joins job '", options.job, "',"),
                        .arguments = std::move(arguments),
                        .environment = EnvironmentWith("TF_CONFIG", std::nullopt),
                        .ready_file = ready_file,
                        .log_file = path + ".log"}));
  RETURN_IF_ERROR(server->process_.Launch());
  RETURN_IF_ERROR(server->process_.AwaitReady(options.start_timeout));
  ASSIGN_OR_RETURN(const std::string address, ReadFileToString(NewPosixFileSystem().get(), ready_file));
  server->address_ = std::string(absl::StripAsciiWhitespace(address));
  return server;
}

}  // namespace weir
