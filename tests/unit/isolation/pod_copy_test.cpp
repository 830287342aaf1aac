// SPDX-License-Identifier: Apache-2.0
#include "isolation/pod_copy.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "framework/view/pod_view.hpp"
#include "unit/framework/full_pod.hpp"

namespace berth::isolation {
namespace {

/// A pod that has something of every group, as a plugin sees it.
struct Seen : framework::testing::FrameworkFixture {
  explicit Seen(bool is_trapped = false, std::uint64_t groups = 0) {
    pod = framework::testing::full_pod(*this);
    framework::PodFields fields;
    fields.groups = groups;
    if (groups == 0)
      for (const std::uint32_t group : framework::testing::k_groups) fields.groups |= group;
    fields.is_trapped = is_trapped;
    view.reset(*pod, arena);
    shown = view.view(fields);
  }
  std::shared_ptr<model::Pod> pod;
  framework::Arena arena;
  framework::PodView view;
  const berth_pod_v1* shown = nullptr;
};

std::string_view text(berth_str from) { return {from.ptr, from.len}; }

const berth_pod_v1* copy_into(std::vector<std::byte>& room, const berth_pod_v1& pod) {
  PodCopy copy(room, reinterpret_cast<std::uint64_t>(room.data()), {});
  return reinterpret_cast<const berth_pod_v1*>(copy.add(pod));
}

TEST(PodCopy, HasAllOfAPodInItsRoom) {
  std::vector<std::byte> room(1 << 16);
  const berth_pod_v1* copy = nullptr;
  {
    const Seen seen;
    copy = copy_into(room, *seen.shown);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->request_count, seen.shown->request_count);
  }  // what was copied is gone
  const auto is_inside = [&](const void* at) {
    return at >= room.data() && at < static_cast<const void*>(room.data() + room.size());
  };
  for (const void* at : std::initializer_list<const void*>{copy->resources,
                                                           copy->labels,
                                                           copy->tolerations,
                                                           copy->node_selection,
                                                           copy->node_selection->selector,
                                                           copy->host_ports,
                                                           copy->images,
                                                           copy->spread,
                                                           copy->affinity,
                                                           copy->affinity->anti_required,
                                                           copy->affinity->anti_required->selector.requirements,
                                                           copy->affinity->anti_required->selector.requirements->values,
                                                           copy->gates,
                                                           copy->gates->ptr,
                                                           copy->volumes,
                                                           copy->volumes->name.ptr,
                                                           copy->volumes->source.ptr,
                                                           copy->annotations,
                                                           copy->containers,
                                                           copy->containers->amounts,
                                                           copy->overhead,
                                                           copy->name.ptr,
                                                           copy->uid.ptr,
                                                           copy->owner_kind.ptr,
                                                           copy->owner_name.ptr,
                                                           copy->owner_uid.ptr,
                                                           copy->owner_api_version.ptr,
                                                           copy->group.ptr,
                                                           copy->json.ptr,
                                                           copy->scheduler_name.ptr})
    EXPECT_TRUE(is_inside(at));
  EXPECT_EQ(text(copy->name), "full");
  EXPECT_EQ(text(copy->json), R"({"apiVersion":"v1","kind":"Pod","spec":{"odd":1}})");
  EXPECT_EQ(text(copy->gates[0]), "example.com/gate");
  EXPECT_EQ(text(copy->owner_kind), "ReplicaSet");
  EXPECT_EQ(text(copy->volumes[0].source), "claim");
  EXPECT_EQ(copy->label_count, 3u);
  EXPECT_EQ(copy->affinity->anti_required_count, 1u);
  EXPECT_EQ(copy->affinity->anti_required->selector.requirements->value_count, 1u);
  EXPECT_EQ(copy->containers[0].amounts[0].limit, 250);
  EXPECT_EQ(copy->resources[3].request, 2);
}

TEST(PodCopy, IsWholeOrNotThere) {
  const Seen seen;
  std::size_t least = 0;
  for (std::size_t bytes = 0; bytes < 8192; bytes += 8) {
    std::vector<std::byte> room(bytes);
    const bool is_there = copy_into(room, *seen.shown) != nullptr;
    if (is_there && least == 0) least = bytes;
    EXPECT_EQ(is_there, least != 0) << bytes;
  }
  EXPECT_GT(least, sizeof(berth_pod_v1));
}

TEST(PodCopy, LeavesTrapsUnread) {
  const Seen seen(true, BERTH_POD_PRIORITY);
  const framework::PodTrap trap = framework::pod_trap();
  ASSERT_EQ(static_cast<const void*>(seen.shown->labels), trap.begin);
  std::vector<std::byte> room(1 << 16);
  PodCopy copies(room, reinterpret_cast<std::uint64_t>(room.data()),
                 {static_cast<const std::byte*>(trap.begin), trap.bytes});
  const auto* const copy = reinterpret_cast<const berth_pod_v1*>(copies.add(*seen.shown));
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->priority, 7);
  EXPECT_LT(reinterpret_cast<std::uint64_t>(copy->labels), 4096u) << "no process can read it";
  EXPECT_LT(reinterpret_cast<std::uint64_t>(copy->name.ptr), 4096u);
}

}  // namespace
}  // namespace berth::isolation
