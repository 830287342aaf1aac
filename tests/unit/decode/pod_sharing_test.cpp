// SPDX-License-Identifier: Apache-2.0
// What pods have in common is remembered in few bytes, whatever they bring.
#include "decoding.hpp"

namespace berth::decode {
namespace {

std::string labels(int count, const std::string& values, int size = 0) {
  std::string out = "labels: {";
  for (int i = 0; i < count; ++i)
    out += (i == 0 ? "" : ", ") + std::string("l") + std::to_string(i) + ": '" + values + std::to_string(i) +
           std::string(static_cast<std::size_t>(size), 'x') + "'";
  return out + "}";
}

struct Shared {
  model::Pod pod(const std::string& metadata, const std::string& spec = "") {
    model::Pod made = *in.pod("{metadata: {name: p, uid: u, " + metadata +
                              "}, spec: {containers: [{name: c, image: i}]" + spec + "}}");
    sharing.share(made);
    return made;
  }
  Decoding in;
  PodSharing sharing;
};

TEST(PodSharing, GivesReplicasOneSpecWhoseClaimsAreTheirOwn) {
  Decoding in;
  PodSharing sharing;
  const auto replica = [&](const std::string& name) {
    model::Pod pod = *in.pod("{metadata: {name: " + name + ", uid: u-" + name +
                             "}, spec: {containers: [{name: c, image: i}], resourceClaims: [{name: gpu, "
                             "resourceClaimTemplateName: gpu}]}, status: {resourceClaimStatuses: [{name: gpu, "
                             "resourceClaimName: " +
                             name + "-gpu-x7k2p}]}}");
    sharing.share(pod);
    return pod;
  };
  const model::Pod a = replica("a"), b = replica("b");
  EXPECT_EQ(&a.spec.get(), &b.spec.get());
  EXPECT_NE(a.claim_statuses, b.claim_statuses);
}

TEST(PodSharing, SharesWhatIsSmallAndLeavesWhatIsLargeToItsPod) {
  Shared s;
  const model::Pod small = s.pod(labels(20, "v")), same = s.pod(labels(20, "v"));
  EXPECT_EQ(&small.labels.get(), &same.labels.get());
  EXPECT_EQ(small.symbols.list().data(), same.symbols.list().data());
  const std::size_t before = s.sharing.bytes();
  const model::Pod large = s.pod(labels(5000, "w"));
  EXPECT_EQ(large.labels.owners(), 1U);
  EXPECT_LT(s.sharing.bytes(), before + PodSharing::k_value_bytes_max);
}

TEST(PodSharing, HoldsNoTextThatIsLargerThanAValueMayBe) {
  Shared s;
  const std::size_t before = s.in.symbols.size().bytes;
  for (int round = 0; round < 100; ++round) s.pod(labels(1, "v" + std::to_string(round) + "-", 100'000));
  // Texts that are held by nothing wait in case they come back, in SymbolLimits::unused_bytes.
  EXPECT_LT(s.in.symbols.size().bytes, before + SymbolLimits{}.unused_bytes + 200'000);
}

TEST(PodSharing, KeepsItsBytesWhateverComesAndGoes) {
  Shared s;
  std::size_t most = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string own = std::to_string(round);
    s.pod(labels(40, own + "-", 100), ", nodeSelector: {k" + own + ": '" + std::string(3000, 'y') +
                                          "'}, schedulingGates: [{name: 'g" + own + std::string(2000, 'z') + "'}]");
    most = std::max(most, s.sharing.bytes());
  }
  EXPECT_LT(most, 18 * PodSharing::k_table_bytes_max + 400'000) << "with the slots themselves";
  EXPECT_GT(most, PodSharing::k_table_bytes_max) << "more than one table has come to its limit";
}

}  // namespace
}  // namespace berth::decode
