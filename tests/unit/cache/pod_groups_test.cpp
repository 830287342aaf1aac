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
PodGroups::NameOf by_field() {
  return [](const model::Pod& member) { return member.spec->group; };
}

TEST(PodGroups, KeepsMembersByNamespaceAndName) {
  PodGroups groups(by_field());
  groups.put(pod("b", "g"));
  groups.put(pod("a", "g"));
  groups.put(pod("c", "g", "other"));
  groups.put(pod("d", ""));
  EXPECT_EQ(uids(groups, "default", "g"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(uids(groups, "other", "g"), std::vector<std::string>{"c"});
  EXPECT_TRUE(groups.members("default", "").empty());
}

TEST(PodGroups, FollowsChanges) {
  PodGroups groups(by_field());
  const model::PodPtr before = pod("a", "g"), moved = pod("a", "h"), left = pod("a", "");
  groups.put(before);
  auto newer = std::make_shared<model::Pod>(*before);
  newer->deleting = true;
  groups.put(newer);
  EXPECT_TRUE(groups.members("default", "g").at(0)->deleting);
  groups.put(moved);
  EXPECT_TRUE(groups.members("default", "g").empty());
  EXPECT_EQ(uids(groups, "default", "h"), std::vector<std::string>{"a"});
  groups.put(left);
  EXPECT_EQ(groups.group_count(), 0u);
}

TEST(PodGroups, ForgetsWhoIsGone) {
  PodGroups groups(by_field());
  groups.put(pod("a", "g"));
  groups.remove(*pod("b", "g"));
  groups.remove(*pod("x", "unknown"));
  EXPECT_EQ(uids(groups, "default", "g"), std::vector<std::string>{"a"});
  groups.remove(*pod("a", "g"));
  EXPECT_EQ(groups.group_count(), 0u);
}

TEST(PodGroups, AskOnceAboutAPodThatIsThere) {
  int asked = 0;
  PodGroups groups([&](const model::Pod& member) {
    ++asked;
    return member.spec->group;
  });
  groups.put(pod("a", "g"));
  EXPECT_EQ(asked, 1);
  groups.put(pod("a", "h"));
  EXPECT_EQ(asked, 2);
  groups.remove(*pod("a", "h"));
  EXPECT_EQ(asked, 2) << "where it was is known";
  EXPECT_EQ(groups.group_count(), 0u);
}

TEST(PodGroups, AreNoneWithoutAPolicy) {
  PodGroups groups;
  groups.put(pod("a", "g"));
  EXPECT_EQ(groups.group_count(), 0u);
}

}  // namespace
}  // namespace berth::cache
