// SPDX-License-Identifier: Apache-2.0
// `berth auth check` against a server that lacks some rights.
#include <set>

#include "integration/run_fixture.hpp"

namespace berth::tests {
namespace {

/// `berth auth check` against the test server, which lacks what a test says.
std::pair<int, std::string> check_rights(std::set<std::string> missing, const std::vector<std::string>& more = {}) {
  ApiServerOptions options;
  options.missing_rights = std::move(missing);
  ApiServer server(options);
  const TemporaryDirectory directory;
  std::vector<std::string> command{variable("BERTH"),
                                   "auth",
                                   "check",
                                   "--plugin-dir",
                                   variable("BERTH_PLUGIN_DIR"),
                                   "--kubeconfig",
                                   directory.write("kubeconfig", server.kubeconfig())};
  command.insert(command.end(), more.begin(), more.end());
  ChildProcess berth(command, directory.path() + "/log");
  const std::optional<int> status = berth.wait(std::chrono::milliseconds(k_patience));
  return {status.value_or(-1), berth.log()};
}

TEST(AuthCheck, SaysThatNothingIsMissing) {
  const auto [status, text] = check_rights({});
  EXPECT_EQ(status, 0) << text;
  EXPECT_NE(text.find("rights that berth needs are granted"), std::string::npos) << text;
}

TEST(AuthCheck, ListsWhatIsMissingAndRolesThatGrantIt) {
  const auto [status, text] = check_rights({"create pods/binding", "update leases", "watch csinodes", "delete pods"});
  EXPECT_EQ(status, 1);
  for (const char* line : {"missing: create pods/binding\n", "missing: delete pods\n",
                           "missing: update leases.coordination.k8s.io kube-scheduler in kube-system\n",
                           "missing: watch csinodes.storage.k8s.io\n", "kind: ClusterRole\n",
                           "- apiGroups: [\"\"]\n  resources: [pods/binding]\n  verbs: [create]\n", "kind: Role\n",
                           "  namespace: kube-system\nrules:\n- apiGroups: [\"coordination.k8s.io\"]\n  resources: "
                           "[leases]\n  resourceNames: [kube-scheduler]\n  verbs: [update]\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_NE(text.find("4 of "), std::string::npos) << text;
}

TEST(AuthCheck, KnowsTheRightThatIsAskedForWithinWritesOfClaims) {
  const auto [status, text] = check_rights({"update resourceclaims/binding"});
  EXPECT_EQ(status, 1);
  EXPECT_NE(text.find("missing: update resourceclaims/binding.resource.k8s.io\n"), std::string::npos) << text;
}

TEST(AuthCheck, AsksOnlyForWhatIsEnabled) {
  const TemporaryDirectory directory;
  const std::string config = directory.write("config.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- plugins:
    multiPoint:
      enabled: [{name: PrioritySort}, {name: DefaultBinder}]
      disabled: [{name: "*"}]
)");
  const auto [status, text] = check_rights({"update leases", "watch csinodes", "delete pods"}, {"--config", config});
  EXPECT_EQ(status, 0) << text;
}

TEST(AuthCheck, KnowsThatAPolicyInAConfigMapHasToBeRead) {
  const TemporaryDirectory directory;
  const std::string config =
      directory.write("config.yaml",
                      "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
                      "algorithmSource: {policy: {configMap: {namespace: elsewhere, name: old}}}\n");
  const auto [status, text] = check_rights({"get configmaps"}, {"--config", config});
  EXPECT_EQ(status, 1) << text;
  EXPECT_NE(text.find("configmap elsewhere/old: couldn't get policy config map: "), std::string::npos) << text;
  EXPECT_NE(text.find("missing: get configmaps old in elsewhere\n"), std::string::npos) << text;
}

TEST(AuthCheck, SaysWhenItCannotAsk) {
  const TemporaryDirectory directory;
  ChildProcess berth({variable("BERTH"), "auth", "check", "--plugin-dir", variable("BERTH_PLUGIN_DIR"), "--kubeconfig",
                      directory.path() + "/none"},
                     directory.path() + "/log");
  EXPECT_EQ(berth.wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_TRUE(berth.log().starts_with("berth: ")) << berth.log();
  EXPECT_NE(berth.log().find("none"), std::string::npos) << berth.log();
}

}  // namespace
}  // namespace berth::tests
