// Keeps gRPC initialised.
#pragma once

namespace weir {

// Keeps gRPC initialised until the process exits. Otherwise the last channel or server to be destroyed would shut gRPC
// down and wait up to ten seconds for one of gRPC's polling threads. Every channel and server calls this; repeated
// calls do nothing.
void KeepGrpcInitialized();

}  // namespace weir
