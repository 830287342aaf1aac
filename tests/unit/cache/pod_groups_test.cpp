// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cache/pod_groups.hpp"

namespace berth::cache {
namespace {

model::PodPtr pod(const std::string& uid, const std::string& group, const std::string& ns = "default") {
  auto made = std::make_shared<model::Pod>();
  made->ns = ns;
  made->name = "name-" + uid;
  made->uid = uid;
  made->spec.edit().group = group;
  return made;
}
std::vector<std::string> uids(const PodGroups& groups, std::string_view ns, std::string_view name) {
  std::vector<std::string> found;
  for (const model::PodPtr& member : groups.members(ns, name)) found.push_back(member->uid);
  return found;
}
void put(PodGroups& groups, const model::PodPtr& pod) { groups.put(pod, pod->spec->group); }

TEST(PodGroups, KeepsMembersByNamespaceAndName) {
  PodGroups groups;
  put(groups, pod("b", "g"));
  put(groups, pod("a", "g"));
  put(groups, pod("c", "g", "other"));
  put(groups, pod("d", ""));
  EXPECT_EQ(uids(groups, "default", "g"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(uids(groups, "other", "g"), std::vector<std::string>{"c"});
  EXPECT_TRUE(groups.members("default", "").empty());
}

TEST(PodGroups, FollowsChanges) {
  PodGroups groups;
  const model::PodPtr before = pod("a", "g"), moved = pod("a", "h"), left = pod("a", "");
  put(groups, before);
  auto newer = std::make_shared<model::Pod>(*before);
  newer->deleting = true;
  put(groups, newer);
  EXPECT_TRUE(groups.members("default", "g").at(0)->deleting);
  put(groups, moved);
  EXPECT_TRUE(groups.members("default", "g").empty());
  EXPECT_EQ(uids(groups, "default", "h"), std::vector<std::string>{"a"});
  put(groups, left);
  EXPECT_EQ(groups.group_count(), 0u);
}

TEST(PodGroups, RemovesMembersAndEmptyGroups) {
  PodGroups groups;
  put(groups, pod("a", "g"));
  groups.remove(*pod("b", "g"));
  groups.remove(*pod("x", "unknown"));
  EXPECT_EQ(uids(groups, "default", "g"), std::vector<std::string>{"a"});
  groups.remove(*pod("a", "g"));
  EXPECT_EQ(groups.group_count(), 0u);
}

}  // namespace
}  // namespace berth::cache
