// SPDX-License-Identifier: Apache-2.0
#include "framework/view/node_blocks.hpp"

#include <numeric>

#include "base/bitmap.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

/// What one row shows: free cpu, zone, unschedulable, free cpu by the pod's own list.
struct BlockRow {
  std::int64_t free = 0;
  std::uint32_t zone = 0;
  bool cordoned = false;
  std::int64_t pod_free = 0;
  friend bool operator==(const BlockRow&, const BlockRow&) = default;
};

struct BlockFixture : FrameworkFixture {
  static constexpr std::uint32_t k_nodes = 200;
  BlockFixture() {
    FakePlugin& plugin = make_plugin("P");
    plugin.create = [](const berth_binder_v1& b, berth_note_v1*) -> berth_code {
      b.column(b.ctx, BERTH_COL_FREE, key("cpu"));
      b.column(b.ctx, BERTH_COL_LABEL, key("topology.kubernetes.io/zone"));
      b.column(b.ctx, BERTH_COL_UNSCHEDULABLE, key(""));
      b.column(b.ctx, BERTH_COL_POD_FREE, key(""));
      b.column(b.ctx, BERTH_COL_POD_ALLOCATABLE, key(""));
      return BERTH_OK;
    };
    instance = &add(plugin);
    for (std::uint32_t i = 0; i < k_nodes; ++i) {
      auto node = make_node("n" + std::to_string(i), "z" + std::to_string(i % 7));
      node->unschedulable = i % 3 == 0;
      node->allocatable[0].amount = 1000 + i;
      cache.add_node(node);
      add_pod(make_pod("p" + std::to_string(i), node->name, 10 * i));
    }
    refresh();
    begin(make_pod("asks", "", 500));
  }
  const berth_node_block_v1& bind(const Block& block) {
    candidates.assign(block.words(), ~std::uint64_t{0});
    return *blocks.bind(block, *instance, context.get(), candidates.data());
  }
  static BlockRow at(const berth_node_block_v1& block, std::uint32_t row) {
    const auto* const by_pod = static_cast<const std::int64_t* const*>(block.columns[3]);
    return {static_cast<const std::int64_t*>(block.columns[0])[row],
            static_cast<const std::uint32_t*>(block.columns[1])[row],
            bitmap::test(static_cast<const std::uint64_t*>(block.columns[2]), row), by_pod[0][row]};
  }
  BlockRow want(cache::Slot slot) {
    const cache::NodeRow& row = snapshot.row(slot);
    const std::int64_t free = row.allocatable_of(cache::k_cpu) - row.requested_of(cache::k_cpu);
    return {free, row.node->labels.at(0).value, row.node->unschedulable, free};
  }
  const PluginInstance* instance = nullptr;
  NodeBlocks blocks{snapshot};
  std::vector<std::uint64_t> candidates;
};

TEST(NodeBlocks, ContiguousShowsSlotsAsTheyLie) {
  BlockFixture f;
  const berth_node_block_v1& all = f.bind(f.blocks.contiguous(0, BlockFixture::k_nodes));
  EXPECT_EQ(all.slots, nullptr);
  EXPECT_EQ(all.column_count, 5u);
  for (std::uint32_t i = 0; i < BlockFixture::k_nodes; ++i) ASSERT_EQ(f.at(all, i), f.want(i)) << i;
  const berth_node_block_v1& tail = f.bind(f.blocks.contiguous(128, BlockFixture::k_nodes - 128));
  EXPECT_EQ(tail.first_slot, 128u);
  for (std::uint32_t i = 0; i < tail.rows; ++i) ASSERT_EQ(f.at(tail, i), f.want(128 + i)) << i;
}

TEST(NodeBlocks, GatheredAndImaginedRowsAgreeWithContiguousOnes) {
  BlockFixture f;
  const std::vector<cache::Slot> slots{150, 3, 64, 63, 199, 0};
  const berth_node_block_v1& few = f.bind(f.blocks.gathered(slots));
  EXPECT_EQ(few.slots, slots.data());
  for (std::uint32_t i = 0; i < slots.size(); ++i) ASSERT_EQ(f.at(few, i), f.want(slots[i])) << i;
  for (const cache::Slot slot : slots) {
    const berth_node_block_v1& one = f.bind(f.blocks.what_if(slot, f.snapshot.row(slot)));
    ASSERT_EQ(one.rows, 1u);
    EXPECT_EQ(one.slots[0], slot);
    EXPECT_EQ(f.at(one, 0), f.want(slot)) << slot;
  }
}

TEST(NodeBlocks, AWhatIfShowsTheImaginedRow) {
  BlockFixture f;
  cache::NodeRow row = f.snapshot.row(5);
  const std::int64_t before = f.want(5).free;
  cache::charge(row, *f.make_pod("imagined", "", 700), f.cache.resources(), f.cache.lists(), +1);
  EXPECT_EQ(f.at(f.bind(f.blocks.what_if(5, row)), 0).free, before - 700);
  EXPECT_EQ(f.at(f.bind(f.blocks.contiguous(0, 64)), 5).free, before);
}

TEST(NodeBlocks, PadRowsAreZeroAlsoAfterALargerBlock) {
  BlockFixture f;
  std::vector<cache::Slot> many(BlockFixture::k_nodes);
  std::iota(many.begin(), many.end(), 0u);
  f.bind(f.blocks.gathered(many));
  for (const std::size_t size : {std::size_t{70}, std::size_t{3}, std::size_t{1}}) {
    const std::span<const cache::Slot> slots(many.data() + 10, size);
    const berth_node_block_v1& block = f.bind(f.blocks.gathered(slots));
    for (std::uint32_t i = 0; i < block.rows; ++i) ASSERT_EQ(f.at(block, i), f.want(slots[i])) << i;
    for (std::uint32_t i = block.rows; i % 64 != 0; ++i)
      ASSERT_EQ(f.at(block, i), BlockRow{}) << size << ", pad row " << i;
  }
  const berth_node_block_v1& one = f.bind(f.blocks.what_if(9, f.snapshot.row(9)));
  for (std::uint32_t i = 1; i < 64; ++i) ASSERT_EQ(f.at(one, i), BlockRow{}) << i;
  const berth_node_block_v1& tail = f.bind(f.blocks.contiguous(192, BlockFixture::k_nodes - 192));
  for (std::uint32_t i = tail.rows; i < 64; ++i) ASSERT_EQ(f.at(tail, i), BlockRow{}) << i;
}

TEST(NodeBlocks, AreAligned) {
  BlockFixture f;
  const std::vector<cache::Slot> slots{4, 2};
  for (const Block& block :
       {f.blocks.contiguous(64, 100), f.blocks.gathered(slots), f.blocks.what_if(1, f.snapshot.row(1))}) {
    const berth_node_block_v1& bound = f.bind(block);
    for (const int column : {0, 1})
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bound.columns[column]) % 64, 0u) << static_cast<int>(block.kind);
  }
}

TEST(NodeBlocks, ColumnsOfThePodAreNullWithoutAPod) {
  BlockFixture f;
  const std::uint64_t candidate = 1;
  const berth_node_block_v1& block = *f.blocks.bind(f.blocks.contiguous(0, 1), *f.instance, nullptr, &candidate);
  EXPECT_NE(block.columns[0], nullptr);
  EXPECT_EQ(block.columns[3], nullptr);
  EXPECT_EQ(block.columns[4], nullptr);
}

}  // namespace
}  // namespace berth::framework::testing
