// Errors of object stores, in words.
#pragma once

#include <string>

#include "core/files/remote/s3_settings.h"
#include "core/files/remote/web_client.h"
#include "core/files/remote/xml_reader.h"

namespace weir {

struct S3Subject {
  std::string path;    // "s3://bucket/key"
  std::string method;  // of the request
  std::string url;
  std::string bucket;
  std::string result;  // the document that a success returns; empty: none
};

// Whether a later try may succeed: the store is busy or has failed.
bool IsPassingS3Code(const std::string& code);
// "NoSuchBucket" and the like; empty for a reply without such a document. A reply of status 200 may have one too.
std::string S3ErrorCode(const WebReply& reply);
// - NotFound: no such object; FailedPrecondition: no such bucket or upload, another region;
// - Unauthenticated: no credentials, or wrong or expired ones, or a wrong clock; PermissionDenied;
// - Unavailable: the store is busy or has failed; ResourceExhausted: its limits.
absl::Status S3ErrorInWords(const S3Subject& subject, const S3Settings& settings, const WebReply& reply);
// The same of an element of a document, for one of several objects.
absl::Status S3ErrorInWords(const S3Subject& subject, const S3Settings& settings, const WebReply& reply,
                            const XmlElement& error);

}  // namespace weir
