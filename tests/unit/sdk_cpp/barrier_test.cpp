// SPDX-License-Identifier: Apache-2.0
// What a policy throws stays on its side, and the three forms of a filter say the same.
#include <gtest/gtest.h>
#include <berth/groups.hpp>
#include <berth/plugin.hpp>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;

/// Throws what the pod's name says, from every point.
class Thrower {
 public:
  struct State {};
  static constexpr berth::Identity identity{.name = "example.com/Thrower", .version = "1.0.0", .summary = "Throws."};
  static constexpr berth::ReasonText reasons[] = {{"it does not suit", "Unsuitable"}};
  static constexpr std::array<berth::Interest, 1> interests = {berth::hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD)};

  explicit Thrower(berth::Setup& setup) {
    setup.pod_fields(BERTH_POD_IDENTITY);
    fall(setup.args()["throw"].string_or("throw", ""));
  }
  static void fall(std::string_view what) {
    if (what == "failure") throw berth::Failure("went wrong");
    if (what == "bad args") throw berth::BadArgs("refused");
    if (what == "too old") throw berth::TooOld("lacks a thing");
    if (what == "int") throw 42;
    if (what == "long") throw berth::Failure(std::string(5000, 'x'));
  }
  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>&) const {
    fall(cycle.pod().name());
    return berth::Verdict::ok();
  }
  berth::Mask filter(const berth::Cycle& cycle, berth::Rows) const {
    fall(cycle.pod().name());
    return berth::Mask::all();
  }
  std::int64_t score_each(const berth::Cycle& cycle, berth::Row) const {
    fall(cycle.pod().name());
    return 1;
  }
  berth::Verdict reserve(const berth::Cycle& cycle, berth::Slot) {
    fall(cycle.pod().name());
    return berth::Verdict::ok();
  }
  void unreserve(const berth::Cycle& cycle, berth::Slot) { fall(cycle.pod().name()); }
  bool hint(const berth::Event&, berth::Pod waiting) const {
    fall(waiting.name());
    return false;
  }
};

/// Throws what the pod's name says when it is asked for the pod's group.
class Grouper {
 public:
  static constexpr berth::Identity identity{.name = "example.com/Grouper", .version = "1.0.0", .summary = "Groups."};
  explicit Grouper(berth::Setup& setup) { setup.pod_fields(BERTH_POD_IDENTITY); }
  std::string_view group_of(berth::Pod pod) const {
    Thrower::fall(pod.name());
    return pod.name() == "alone" ? "" : "g";
  }
  berth::Verdict quorum(berth::Pod, berth::Quorum&) { return berth::Verdict::ok(); }
};

/// Refuses odd slots: the same rule in three forms.
struct OddColumn {
  berth::IntColumn pods;
  explicit OddColumn(berth::Setup& setup) : pods(setup.pods()) {}
};
class ByMask : OddColumn {
 public:
  static constexpr berth::Identity identity{.name = "example.com/ByMask", .version = "1.0.0", .summary = "M."};
  static constexpr berth::ReasonText reasons[] = {{"odd", "Odd"}};
  static constexpr berth::Rejection rejection = berth::unresolvable(1);
  using OddColumn::OddColumn;
  berth::Mask filter(const berth::Cycle&, berth::Rows nodes) const { return nodes[pods] != 1; }
};
class ByBlock : OddColumn {
 public:
  static constexpr berth::Identity identity{.name = "example.com/ByBlock", .version = "1.0.0", .summary = "B."};
  static constexpr berth::ReasonText reasons[] = {{"odd", "Odd"}};
  using OddColumn::OddColumn;
  void filter(const berth::Cycle&, berth::FilterBlock& nodes) const {
    for (std::uint32_t row = 0; row < nodes.rows(); ++row) {
      if (nodes[pods][row] == 1) nodes.reject_row(row, berth::unresolvable(1));
    }
  }
};
class ByRow : OddColumn {
 public:
  static constexpr berth::Identity identity{.name = "example.com/ByRow", .version = "1.0.0", .summary = "R."};
  static constexpr berth::ReasonText reasons[] = {{"odd", "Odd"}};
  using OddColumn::OddColumn;
  std::optional<berth::Rejection> filter_each(const berth::Cycle&, berth::Row node) const {
    if (node[pods] == 1) return berth::unresolvable(1);
    return std::nullopt;
  }
};

const berth_library_v1* const k_thrower = &berth::detail::k_library<Thrower>;
const berth_library_v1* const k_grouper = &berth::detail::k_library<Grouper>;
const berth_library_v1* const k_forms = &berth::detail::k_library<ByMask, ByBlock, ByRow>;

TEST(ExceptionBarrier, NamesWhatCreateThrew) {
  const auto outcome = [](const char* what) {
    try {
      Policy policy(k_thrower, std::string("{\"throw\": \"") + what + "\"}");
      return Outcome{};
    } catch (const CallError& e) {
      return e.outcome;
    }
  };
  EXPECT_EQ(outcome(""), Outcome{});
  EXPECT_EQ(outcome("failure"), (Outcome{BERTH_ERROR, "went wrong"}));
  EXPECT_EQ(outcome("bad args"), (Outcome{BERTH_BAD_ARGS, "refused"}));
  EXPECT_EQ(outcome("too old"), (Outcome{BERTH_TOO_OLD, "lacks a thing"}));
  EXPECT_EQ(outcome("int"), (Outcome{BERTH_ERROR, "unknown exception"}));
}

TEST(ExceptionBarrier, MakesErrorsOfExceptionsAtEveryPoint) {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"failure", "went wrong"}, {"bad args", "refused"}, {"int", "unknown exception"}}) {
    Policy policy(k_thrower);
    Attempt attempt(policy, {.name = name}, {{.name = "n"}});
    EXPECT_EQ(attempt.pre_filter(), (Outcome{BERTH_ERROR, text}));
    EXPECT_THROW(attempt.filter(), CallError);
    EXPECT_THROW(attempt.score(), CallError);
    const auto* reserve = policy.ops<berth_reserve_ops_v1>("berth.reserve/1");
    NoteRecord note;
    EXPECT_EQ(reserve->reserve(policy.self(), attempt.cycle(), 0, note.raw()), static_cast<berth_code>(BERTH_ERROR));
    reserve->unreserve(policy.self(), attempt.cycle(), 0);
    ASSERT_EQ(policy.host().log.size(), 1u) << "a function without a result logs";
    EXPECT_EQ(policy.host().log[0].severity, static_cast<std::uint32_t>(BERTH_LOG_ERROR));
    EXPECT_TRUE(policy.wakes({.new_node = NodeSpec{}}, {.name = name})) << "an error of a hint queues";
  }
}

TEST(ExceptionBarrier, SaysThatAGroupCannotBeTold) {
  Policy policy(k_grouper);
  const auto ask = [&](const std::string& name) {
    PodRecord record(policy.host(), {.name = name}, BERTH_POD_IDENTITY);
    berth_str answer{};
    NoteRecord note;
    const berth_code code =
        policy.ops<berth_group_ops_v1>("berth.groups/1")->group_of(policy.self(), record.raw(), &answer, note.raw());
    return code != BERTH_OK ? "cannot be told: " + note.text() : answer.len == 0 ? "none" : text_of(answer);
  };
  EXPECT_EQ(ask("p"), "g");
  EXPECT_EQ(ask("alone").find("cannot be told"), std::string::npos);
  EXPECT_EQ(ask("failure"), "cannot be told: went wrong");
  EXPECT_EQ(ask("int"), "cannot be told: unknown exception");
  EXPECT_TRUE(policy.host().log.empty()) << "the host has the words";
}

TEST(ExceptionBarrier, CutsTextToTheCallersBuffer) {
  Policy policy(k_thrower);
  Attempt attempt(policy, {.name = "long"}, {{.name = "n"}});
  char small[4] = {};
  for (const std::uint64_t capacity : {std::uint64_t{0}, std::uint64_t{3}}) {
    berth_note_v1 note{sizeof note, 0, capacity == 0 ? nullptr : small, capacity, 0};
    std::uint64_t candidates = 1;
    berth_prepare_out_v1 out{sizeof out, 0, &candidates, 1};
    const auto* prepare = policy.ops<berth_prepare_ops_v1>("berth.prepare/1");
    EXPECT_EQ(prepare->pre_filter(policy.self(), attempt.cycle(), &out, &note), static_cast<berth_code>(BERTH_ERROR));
    EXPECT_EQ(note.text_len, 5000u) << "says that more was there";
  }
  EXPECT_STREQ(small, "xxx");
}

TEST(FilterForms, RejectTheSameNodes) {
  std::vector<NodeSpec> nodes(150);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].pods = static_cast<std::int64_t>(i % 2);
  for (std::uint32_t form = 0; form < 3; ++form) {
    Policy policy(k_forms, {}, nullptr, form);
    const std::vector<Answer> answers = Attempt(policy, {}, nodes).filter();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ASSERT_EQ(answers[i], i % 2 == 0 ? passes() : unresolvable("odd")) << policy.plugin().name << " " << i;
    }
  }
}

TEST(FilterForms, DoNotJudgeRowsThatAreNoCandidates) {
  for (std::uint32_t form = 0; form < 3; ++form) {
    Policy policy(k_forms, {}, nullptr, form);
    Attempt attempt(policy, {}, {{.pods = 1}, {.pods = 1}});
    BlockRecord block(policy.host(), attempt.nodes());
    block.drop_candidate(1);
    std::uint64_t pass = 0b01, unresolvable_bits = 0;
    berth_reason reasons[64] = {0, 99};
    berth_filter_out_v1 out{sizeof out, 0, &pass, &unresolvable_bits, reasons, nullptr, nullptr, nullptr, nullptr};
    attempt.cycle()->flags = BERTH_CYCLE_WANT_REASONS;
    NoteRecord note;
    const auto* filter = policy.ops<berth_filter_ops_v1>("berth.filter/1");
    EXPECT_EQ(filter->filter(policy.self(), attempt.cycle(), block.raw(), &out, note.raw()),
              static_cast<berth_code>(BERTH_OK));
    EXPECT_EQ(pass, 0u);
    EXPECT_EQ(unresolvable_bits, 0b01u);
    EXPECT_EQ(reasons[0], 1u);
    EXPECT_EQ(reasons[1], 99u);
  }
}

}  // namespace
