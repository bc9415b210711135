// File systems of web servers and object stores, with settings of their own. NewHttpFileSystem() and NewS3FileSystem()
// of core/files/file_system.h take theirs from the environment.
#pragma once

#include <memory>
#include <string>

#include "core/files/file_system.h"
#include "core/files/remote/s3_settings.h"
#include "core/files/remote/web_client.h"

namespace weir {

struct S3FileOptions {
  // Settings are asked for on first use, and again when the credentials have expired.
  std::function<absl::StatusOr<S3Settings>()> settings;
  WebOptions web;
  // An object is uploaded in parts of this size (the later ones of a large object in larger ones), or at once if it has
  // fewer bytes. S3 accepts no less than 5 MiB.
  uint64_t part_bytes = 16 << 20;
  // Objects up to this size are copied by one request. S3 accepts no more than 5 GiB.
  uint64_t max_copy_bytes = uint64_t{1} << 30;
};

std::unique_ptr<FileSystem> NewHttpFileSystem(WebOptions options);
std::unique_ptr<FileSystem> NewS3FileSystem(S3FileOptions options);

// The authorities that CURL_CA_BUNDLE or SSL_CERT_FILE names; empty for the system's.
std::string CaFile();

}  // namespace weir
