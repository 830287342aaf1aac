// SPDX-License-Identifier: Apache-2.0
// Policies and providers on the command line of `berth run`. The configuration that they come to is written and
// compared.
#include "integration/run_fixture.hpp"

namespace berth::tests {
namespace {

constexpr const char* k_ports = R"({"kind":"Policy","apiVersion":"v1","predicates":[{"name":"PodFitsHostPorts"}],)"
                                R"("priorities":[{"name":"NodeAffinityPriority","weight":7}]})";
constexpr const char* k_name = R"({"kind":"Policy","apiVersion":"v1","predicates":[{"name":"HostName"}],)"
                               R"("priorities":[{"name":"TaintTolerationPriority","weight":3}]})";

class PolicyFlags : public RunTest {
 protected:
  void put_config_map(const std::string& ns, const std::string& name, const std::string& key, const char* policy) {
    server.create(json::serialize(json::value{{"apiVersion", "v1"},
                                              {"kind", "ConfigMap"},
                                              {"metadata", {{"name", name}, {"namespace", ns}}},
                                              {"data", {{key, policy}}}}));
  }
  /// What berth came to, or its log when it ended with something else than 0.
  std::string written(std::vector<std::string> flags) {
    const std::string out = directory.path() + "/written.yaml";
    flags.push_back("--write-config-to=" + out);
    auto berth = start(std::move(flags));
    const int status = berth->wait(std::chrono::milliseconds(k_patience)).value_or(-1);
    if (status != 0) return "ended with " + std::to_string(status) + ": " + berth->log();
    std::ifstream file(out);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static bool is_of_ports(const std::string& text) {
    return text.find("- name: NodePorts\n") != std::string::npos &&
           text.find("- name: NodeAffinity\n            weight: 7\n") != std::string::npos;
  }
  static bool is_of_name(const std::string& text) {
    return text.find("- name: NodeName\n") != std::string::npos &&
           text.find("- name: TaintToleration\n            weight: 3\n") != std::string::npos;
  }
};

TEST_F(PolicyFlags, ReadAFile) {
  const std::string file = directory.write("policy.cfg", k_name);
  const std::string text = written({"--policy-config-file=" + file});
  EXPECT_TRUE(is_of_name(text)) << text;
  EXPECT_FALSE(is_of_ports(text)) << text;
}

TEST_F(PolicyFlags, ReadAConfigMapOfTheCluster) {
  put_config_map("kube-system", "p", "policy.cfg", k_ports);
  put_config_map("elsewhere", "p", "policy.cfg", k_name);
  const std::string text = written({"--policy-configmap=p"});
  EXPECT_TRUE(is_of_ports(text)) << text;
  const std::string other = written({"--policy-configmap=p", "--policy-configmap-namespace=elsewhere"});
  EXPECT_TRUE(is_of_name(other)) << other;
}

TEST_F(PolicyFlags, PreferTheConfigMapUnlessTheFileIsToWin) {
  put_config_map("kube-system", "p", "policy.cfg", k_ports);
  const std::string file = directory.write("policy.cfg", k_name);
  const std::string map = written({"--policy-configmap=p", "--policy-config-file=" + file});
  EXPECT_TRUE(is_of_ports(map)) << map;
  const std::string won =
      written({"--policy-configmap=p", "--policy-config-file=" + file, "--use-legacy-policy-config=true"});
  EXPECT_TRUE(is_of_name(won)) << won;
}

TEST_F(PolicyFlags, SayWhatIsWrongWithAConfigMap) {
  put_config_map("kube-system", "p", "policy.json", k_ports);
  const std::string key = written({"--policy-configmap=p"});
  EXPECT_NE(key.find("configmap kube-system/p policy.cfg: missing policy config map value at key \"policy.cfg\""),
            std::string::npos)
      << key;
  const std::string gone = written({"--policy-configmap=q"});
  EXPECT_NE(gone.find("configmap kube-system/q policy.cfg: couldn't get policy config map: "), std::string::npos)
      << gone;
  put_config_map("kube-system", "r", "policy.cfg", k_ports);
  const std::string odd = written({"--policy-configmap=r?x"});
  EXPECT_NE(odd.find("couldn't get policy config map: "), std::string::npos)
      << "a name is one segment of a path: " << odd;
}

TEST_F(PolicyFlags, SayWhichFlagIsMissing) {
  const std::string text = written({"--use-legacy-policy-config"});
  EXPECT_NE(text.find("--policy-config-file: required when --use-legacy-policy-config is true"), std::string::npos)
      << text;
}

TEST_F(PolicyFlags, HaveNoEffectWhenTheConfigurationNamesAPolicy) {
  put_config_map("kube-system", "p", "policy.cfg", k_ports);
  const std::string config =
      directory.write("config.yaml",
                      "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
                      "clientConnection: {kubeconfig: " +
                          kubeconfig + "}\nalgorithmSource: {policy: {configMap: {name: p}}}\n");
  const std::string file = directory.write("policy.cfg", k_name);
  const std::string text = written({"--config=" + config, "--policy-config-file=" + file});
  EXPECT_TRUE(is_of_ports(text)) << text;
}

}  // namespace
}  // namespace berth::tests
