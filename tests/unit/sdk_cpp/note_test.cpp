// SPDX-License-Identifier: Apache-2.0
// The identity note and the descriptor come from one class; a reader of either must see the same plugin.
#include <gtest/gtest.h>
#include <berth/plugin.hpp>

namespace {

class Everything {
 public:
  static constexpr berth::Identity identity{.name = "example.com/Everything", .version = "1.2.3", .summary = "All."};
  static constexpr berth::ReasonText reasons[] = {{"first", "A"}, {"second", "B"}};
  static constexpr const char* services[] = {berth::Intern::id, berth::Sets::id};
  static constexpr const char* watches[] = {"core/v1/services"};
  static constexpr const char* rbac[] = {"patch core/pods"};
  static constexpr berth::Interest interests[] = {berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD)};
  std::array<std::uint64_t, 3> key(const berth::QueuedPod&) const { return {}; }
  berth::Verdict pre_score(const berth::Cycle&, berth::PreScore<>&) const { return berth::Verdict::skip(); }
  std::int64_t score_each(const berth::Cycle&, berth::Row) const { return 0; }
  berth::Verdict bind(const berth::Cycle&, berth::BindCall) { return berth::Verdict::skip(); }
};

std::vector<std::string> entries(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos) return {"no terminator"};
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return out;
}

TEST(IdentityNote, SaysWhatTheDescriptorSays) {
  static constexpr berth::detail::Note<Everything> note{};
  const berth_plugin_v1& plugin = *berth::detail::k_library<Everything>.plugins[0];
  EXPECT_EQ(note.name_size, 6u);
  EXPECT_STREQ(note.owner, "berth");
  EXPECT_EQ(note.type, BERTH_NOTE_TYPE);
  EXPECT_EQ(note.major, BERTH_ABI_MAJOR);
  EXPECT_EQ(note.minor_built, BERTH_ABI_MINOR);
  EXPECT_EQ(note.data_model, BERTH_DATA_MODEL);
  std::vector<std::string> want = {std::string("plugin=") + plugin.name, std::string("version=") + plugin.version};
  for (std::uint32_t i = 0; i < plugin.point_count; ++i) want.push_back(std::string("points=") + plugin.points[i].id);
  for (std::uint32_t i = 0; i < plugin.service_count; ++i) want.push_back(std::string("service=") + plugin.services[i]);
  want.insert(want.end(), {"watch=core/v1/services", "rbac=patch core/pods", "sdk=" BERTH_SDK_VERSION,
                           "compiler=" BERTH_NOTE_COMPILER, "isa=" BERTH_NOTE_ISA});
  EXPECT_EQ(entries(std::string_view(note.text, note.desc_size - 8)), want);
}

TEST(IdentityNote, HasNoPaddingBetweenTwoOfThem) {
  using One = berth::detail::Note<Everything>;
  EXPECT_EQ(sizeof(One) % 4, 0u);
  EXPECT_EQ(alignof(One), 4u);
  EXPECT_EQ(sizeof(berth::detail::Notes<Everything, Everything>), 2 * sizeof(One));
  EXPECT_EQ(sizeof(One), 12 + 8 + ((One{}.desc_size + 3) & ~3u));
}

TEST(Descriptor, ListsTheOfferedPointsAndNoOthers) {
  const berth_plugin_v1& plugin = *berth::detail::k_library<Everything>.plugins[0];
  std::vector<std::string> ids;
  for (std::uint32_t i = 0; i < plugin.point_count; ++i) ids.emplace_back(plugin.points[i].id);
  EXPECT_EQ(ids, (std::vector<std::string>{"berth.queue/1", "berth.prepare/1", "berth.score/1", "berth.bind/1",
                                           "berth.requeue/1"}));
  const auto* queue = static_cast<const berth_queue_ops_v1*>(plugin.points[0].ops);
  EXPECT_EQ(queue->key_words, 3u);
  EXPECT_NE(queue->key, nullptr);
  EXPECT_EQ(queue->pre_enqueue, nullptr);
  const auto* prepare = static_cast<const berth_prepare_ops_v1*>(plugin.points[1].ops);
  EXPECT_EQ(prepare->pre_filter, nullptr);
  EXPECT_NE(prepare->pre_score, nullptr);
  EXPECT_EQ(prepare->state_clone, nullptr) << "no state that other pods affect";
  const auto* score = static_cast<const berth_score_ops_v1*>(plugin.points[2].ops);
  EXPECT_NE(score->score, nullptr);
  EXPECT_EQ(score->normalize, nullptr);
}

TEST(Descriptor, CountsReasonsFromOne) {
  const berth_plugin_v1& plugin = *berth::detail::k_library<Everything>.plugins[0];
  ASSERT_EQ(plugin.reason_count, 3u);
  EXPECT_STREQ(plugin.reasons[0].text, "");
  EXPECT_STREQ(plugin.reasons[1].text, "first");
  EXPECT_STREQ(plugin.reasons[2].code, "B");
}

}  // namespace
