#include "client/elastic/connection_refusal.h"

#include "core/testing.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/transport/grpc_server.h"

namespace weir {
namespace {

TEST(ConnectionRefusalTest, APortWhereNobodyListensRefuses) {
  ASSERT_OK_AND_ASSIGN(const auto port, ReservedPort::Create());
  EXPECT_TRUE(RefusesConnections(port->address(), absl::Seconds(30)));
}

TEST(ConnectionRefusalTest, AServerDoesNot) {
  ASSERT_OK_AND_ASSIGN(const auto server, GrpcServer::Start({}));
  EXPECT_FALSE(RefusesConnections(server->address(), absl::Seconds(30)));
  EXPECT_FALSE(RefusesConnections("no address", absl::Seconds(30)));
}

}  // namespace
}  // namespace weir
