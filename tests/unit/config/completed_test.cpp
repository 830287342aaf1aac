// SPDX-License-Identifier: Apache-2.0
// Printing a configuration, and the files of conf/ that must say the same as an empty one.
#include "config/completed.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/read/yaml_writer.hpp"
#include "test_plugins.hpp"
#include "text/parse.hpp"

namespace berth::config::test {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream in(std::string(BERTH_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(in.is_open()) << path;
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string completed_text(const Resolved& resolved) {
  EXPECT_EQ(resolved.problems, "");
  return completed_yaml(resolved.raw, resolved.configuration);
}

TEST(CompletedYaml, ReadsBackAsTheSameConfiguration) {
  const std::string texts[] = {
      scheduler_configuration(""),
      scheduler_configuration(R"(
parallelism: 4
percentageOfNodesToScore: 0
leaderElection: {leaderElect: false, leaseDuration: 1m30s, resourceName: "yes"}
clientConnection: {qps: 12.5, kubeconfig: "/a b:c"}
profiles:
- schedulerName: "007"
  plugins:
    score: {enabled: [{name: ImageLocality, weight: 4}], disabled: [{name: TaintToleration}]}
  pluginConfig:
  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 0}}
  - {name: NodeName, args: {odd: [[], {}, [[1]], {"a: b": "on"}, "multi\nline", "", null, true, "1.0", "ä"]}}
- schedulerName: second
  percentageOfNodesToScore: 5
extenders:
- {urlPrefix: "http://x:1/y", filterVerb: f, prioritizeVerb: "on", weight: 3, httpTimeout: 1m0.5s, nodeCacheCapable: true,
   managedResources: [{name: example.com/a, ignoredByScheduler: true}]}
- {urlPrefix: "https://z", bindVerb: b, preemptVerb: p, ignorable: true, enableHTTPS: true,
   tlsConfig: {serverName: s, certFile: c, keyData: a2V5, caData: Y2E=}}
---
apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
plugins:
  directory: /p
  strict: true
  verdictReuse: verify
  files: [{file: a.so, sha256: 0123456789012345678901234567890123456789012345678901234567890123, isolation: process, callTimeout: 250ms}]
explainAfter: 5m30s
legacy: {search: v1.16, seed: -5, queue: v1.16, alwaysCheckAllPredicates: true, maxNodeScore: 10}
)"),
  };
  for (const std::string& text : texts) {
    std::string bare = text;
    // A digest of digits only is a number to YAML; people quote it.
    if (const auto at = bare.find("sha256: "); at != std::string::npos) {
      bare.insert(at + 8 + 64, "\"");
      bare.insert(at + 8, "\"");
    }
    const std::string once = completed_text(resolve_text(bare));
    EXPECT_EQ(completed_text(resolve_text(once)), once);
  }
}

TEST(CompletedYaml, WritesEveryDefault) {
  const std::string text = completed_text(resolve_text(scheduler_configuration("")));
  for (const std::string_view line :
       {"parallelism: 16\n", "percentageOfNodesToScore: 100\n", "  leaseDuration: 15s\n", "  qps: 50\n",
        "          - name: TaintToleration\n            weight: 3\n",
        "      - name: InterPodAffinity\n        args:\n          hardPodAffinityWeight: 1\n",
        "---\napiVersion: config.berth.dev/v1alpha1\n", "  verdictReuse: \"on\"\n", "  files: []\n",
        "explainAfter: 0s\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
}

// The schemas of the test plugins cover one of the args that the file writes out; the others pass as they are.
TEST(BerthYaml, SaysTheSameAsAnEmptyConfiguration) {
  const Resolved written = resolve_text(file_text("conf/berth.yaml"));
  const Resolved empty = resolve_text(scheduler_configuration(""));
  ASSERT_EQ(written.problems, "");
  EXPECT_EQ(written.notes, "");
  const Profile& a = written.configuration.profiles.at(0);
  const Profile& b = empty.configuration.profiles.at(0);
  for (std::size_t point = 0; point < k_point_count; ++point)
    EXPECT_EQ(order(a, static_cast<Point>(point)), order(b, static_cast<Point>(point))) << k_point_names[point];
  for (const std::string_view name : {"InterPodAffinity", "VolumeBinding", "DynamicResources"})
    EXPECT_EQ(a.args_json.at(std::string(name)), b.args_json.at(std::string(name)));
  std::string completed_a = completed_yaml(written.raw, written.configuration);
  std::string completed_b = completed_yaml(empty.raw, empty.configuration);
  completed_a.resize(completed_a.find("    pluginConfig:"));
  completed_b.resize(completed_b.find("    pluginConfig:"));
  EXPECT_EQ(completed_a, completed_b);
}

TEST(DefaultProfile, MergedOverItselfIsItself) {
  const Resolved written = resolve_text(file_text("conf/profiles/default.yaml"));
  EXPECT_EQ(completed_text(written), completed_text(resolve_text(scheduler_configuration(""))));
}

TEST(YamlString, QuotesWhatWouldReadAsSomethingElse) {
  for (const std::string_view text : {"a", "example.com/Rack", "/plugins", "a b", "default-scheduler", "application/x"})
    EXPECT_EQ(yaml_string(text), text);
  for (const std::string_view text :
       {"", "yes", "On", "null", "1", "1e3", "- a", "a: b", "#x", "a #b", "*", "~", "a:", " a", "a "})
    EXPECT_EQ(yaml_string(text).front(), '"') << text;
}

TEST(YamlString, EscapesTheDeleteCharacterWhichJsonAllowsAndYamlDoesNot) {
  EXPECT_EQ(yaml_string("a\x7f"
                        "b"),
            "\"a\\u007fb\"");
}

}  // namespace
}  // namespace berth::config::test
