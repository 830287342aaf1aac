// SPDX-License-Identifier: Apache-2.0
#include "confine/allowed_calls.hpp"

#include <gtest/gtest.h>
#include <seccomp.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "text/parse.hpp"

namespace berth::confine {
namespace {

std::set<std::string> names_of_profile() {
  const std::string path = BERTH_SOURCE_DIR "/conf/deploy/seccomp.json";
  std::ifstream file(path);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  text::Diagnostics problems;
  const auto documents = text::parse_json(json, path, problems);
  EXPECT_TRUE(problems.empty()) << problems.render();
  std::set<std::string> out;
  for (const text::Value& rule : documents.front().root().find("syscalls")->elements())
    for (const text::Value& name : rule.find("names")->elements())
      EXPECT_TRUE(out.insert(std::string(name.text())).second) << name.text() << " stands twice";
  return out;
}

TEST(AllowedCallsTest, TheProfileOfKubernetesHasTheseAndTheOnesOfTheStart) {
  // Made by a container engine on the way to berth, or by berth before it has confined itself.
  std::set<std::string> expected{"capset",
                                 "setgid",
                                 "setgroups",
                                 "setuid",
                                 "memfd_create",
                                 "landlock_create_ruleset",
                                 "seccomp",
                                 "landlock_add_rule",
                                 "landlock_restrict_self"};
  for (const AllowedCall& call : allowed_calls())
    EXPECT_TRUE(expected.insert(call.name).second) << call.name << " stands twice, or is one of the start";
  EXPECT_EQ(names_of_profile(), expected);
}

TEST(AllowedCallsTest, EachIsACallOfAMachineThatBerthRunsOn) {
  for (const AllowedCall& call : allowed_calls())
    EXPECT_TRUE(seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, call.name) >= 0 ||
                seccomp_syscall_resolve_name_arch(SCMP_ARCH_AARCH64, call.name) >= 0)
        << call.name;
}

}  // namespace
}  // namespace berth::confine
