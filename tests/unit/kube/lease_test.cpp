// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/lease/lease.hpp"

#include <gtest/gtest.h>

namespace berth::tests {
namespace {

using namespace cluster::kube;

Lease read(const std::string& json) {
  Result<Lease> lease = read_lease(json);
  EXPECT_TRUE(lease.ok()) << (lease.ok() ? "" : lease.error().message);
  return lease.ok() ? *lease : Lease();
}
Lease with_spec(const std::string& spec) {
  return read(R"({"metadata":{"resourceVersion":"7"},"spec":{)" + spec + "}}");
}

TEST(LeaseText, IsReadAsWritten) {
  const Lease lease = with_spec(
      R"("holderIdentity":"a_1","leaseDurationSeconds":15,"acquireTime":"t1","renewTime":"t2","leaseTransitions":3)");
  EXPECT_EQ(lease.record, (LeaseRecord{"a_1", 15, "t1", "t2", 3}));
  EXPECT_EQ(lease.version, "7");
  EXPECT_EQ(read(lease_json("ns", "name", lease.metadata_json, lease.record)).record, lease.record);
}

TEST(LeaseText, WithoutASpecIsFree) {
  for (const char* text : {R"({"metadata":{"resourceVersion":"7"}})", R"({"spec":null})", R"({"spec":[]})", "{}", "[]",
                           "7", R"({"spec":{"holderIdentity":null}})", R"({"spec":{"holderIdentity":{"a":1}}})"}) {
    const Lease lease = read(text);
    EXPECT_EQ(lease.record.holder, "") << text;
    EXPECT_EQ(lease.duration_ns(), 0) << text;
    EXPECT_EQ(lease.transitions_of_next(), 1) << text;
  }
  EXPECT_FALSE(read_lease("{").ok());
}

TEST(LeaseText, DurationsBeyondTheApiDoNotOverflow) {
  EXPECT_EQ(with_spec(R"("leaseDurationSeconds":2147483647)").duration_ns(), 2'147'483'647'000'000'000);
  EXPECT_EQ(with_spec(R"("leaseDurationSeconds":9223372036854775807)").duration_ns(), 2'147'483'647'000'000'000);
  EXPECT_EQ(with_spec(R"("leaseDurationSeconds":1e300)").duration_ns(), 0);
  EXPECT_EQ(with_spec(R"("leaseDurationSeconds":-9223372036854775808)").duration_ns(), 0);
}

TEST(LeaseText, TransitionsStayWhatTheApiTakes) {
  EXPECT_EQ(with_spec(R"("leaseTransitions":2147483647)").transitions_of_next(), 2'147'483'647);
  EXPECT_EQ(with_spec(R"("leaseTransitions":9223372036854775807)").transitions_of_next(), 2'147'483'647);
  EXPECT_EQ(with_spec(R"("leaseTransitions":-5)").transitions_of_next(), 1);
}

}  // namespace
}  // namespace berth::tests
