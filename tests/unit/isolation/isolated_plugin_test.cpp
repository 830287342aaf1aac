// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <spdlog/fmt/fmt.h>

#include "unit/isolation/isolation_fixture.hpp"

namespace berth::isolation::testing {
namespace {

using Lines = std::vector<std::string>;
constexpr std::int64_t k_short_ns = 200'000'000;  // of calls that hang

TEST(IsolatedPlugin, SaysWhatItSaysInThisProcess) {
  IsolationFixture f;
  const PluginInstance& there = *f.isolated();
  const PluginInstance& here = *f.here();
  EXPECT_EQ(there.filter_deps(), here.filter_deps());
  EXPECT_EQ(there.points(), here.points());
  EXPECT_EQ(there.columns().size(), here.columns().size());
  EXPECT_EQ(f.filter(there, f.pod_that(Deed::none, 1000)),
            (Lines{"n0 ok", "n1 ok", "n2 ok", "n3 node(s) are in a bad zone (3)"}));
  EXPECT_EQ(f.filter(there, f.pod_that(Deed::none, 5000)),
            (Lines{"n0 node(s) have too little cpu (2)", "n1 node(s) have too little cpu (2)",
                   "n2 node(s) have too little cpu (2)", "n3 node(s) are in a bad zone (3)"}));
  // The state of pre_filter stands there as here.
  EXPECT_EQ(f.filter(there, f.pod_that(Deed::none, 1000), true), f.filter(here, f.pod_that(Deed::none, 1000), true));
  EXPECT_EQ(f.score(there, f.pod_that(Deed::none)), "4000 4000 4000 4000");
}

TEST(IsolatedPlugin, SeesEachChangeOfTheCluster) {
  IsolationFixture f;
  const PluginInstance& there = *f.isolated();
  const PluginInstance& here = *f.here();
  const auto compare = [&](const std::string& when) {
    f.refresh();
    for (const std::int64_t cpu : {0, 1000, 3500})
      EXPECT_EQ(f.filter(there, f.pod_that(Deed::none, cpu)), f.filter(here, f.pod_that(Deed::none, cpu))) << when;
    EXPECT_EQ(f.score(there, f.pod_that(Deed::none)), f.score(here, f.pod_that(Deed::none))) << when;
  };
  compare("at first");
  f.add_pod(f.make_pod("a", "n1", 3000));
  compare("a pod more");
  f.remove_node("n2");
  compare("a node less");
  auto tainted = f.make_node("n4", "good");
  tainted->taints = {{f.symbols.intern("example.com/kept"), 1, model::TaintEffect::no_schedule}};
  f.cache.add_node(tainted);
  compare("a node with a taint");
  const Lines lines = f.filter(there, f.pod_that(Deed::none));
  EXPECT_NE(std::find(lines.begin(), lines.end(), "n4 node(s) are kept for others (2)"), lines.end());
  // More slots than there was room for at first: everything moves.
  for (int i = 0; i < 3000; ++i) f.add_node(fmt::format("many{}", i), i % 3 == 0 ? "bad" : "good");
  f.refresh();
  EXPECT_EQ(f.filter(there, f.pod_that(Deed::none, 1000)), f.filter(here, f.pod_that(Deed::none, 1000)));
  f.add_pod(f.make_pod("b", "many2999", 3900));
  f.refresh();
  EXPECT_EQ(f.filter(there, f.pod_that(Deed::none, 1000)), f.filter(here, f.pod_that(Deed::none, 1000)));
}

TEST(IsolatedPlugin, CostsAnErrorWhenItCrashes) {
  IsolationFixture f;
  const PluginInstance& plugin = *f.isolated();
  EXPECT_EQ(f.error(plugin, f.pod_that(Deed::crash)),
            "its process ended with signal 11 (Segmentation fault) in filter; started again in 1s");
  EXPECT_FALSE(f.state().is_up);
  EXPECT_EQ(f.state().failures, 1u);
  // Not before its time, and with what has happened.
  EXPECT_EQ(f.error(plugin, f.pod_that(Deed::none)),
            "its process ended with signal 11 (Segmentation fault) in filter; started again in 1s");
  f.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(f.filter(plugin, f.pod_that(Deed::none, 1000)),
            (Lines{"n0 ok", "n1 ok", "n2 ok", "n3 node(s) are in a bad zone (3)"}));
  EXPECT_TRUE(f.state().is_up);
  EXPECT_EQ(f.state().restarts, 1u);
}

TEST(IsolatedPlugin, IsStartedAgainLaterEachTime) {
  IsolationFixture f;
  const PluginInstance& plugin = *f.isolated();
  for (const int seconds : {1, 2, 4, 8, 16, 32, 60, 60}) {
    EXPECT_EQ(f.error(plugin, f.pod_that(Deed::leave)),
              fmt::format("its process ended with exit status 3 in filter; started again in {}s", seconds));
    f.clock.advance(std::chrono::seconds(seconds - 1));
    EXPECT_EQ(f.error(plugin, f.pod_that(Deed::none)),
              "its process ended with exit status 3 in filter; started again in 1s");
    f.clock.advance(std::chrono::seconds(1));
  }
  // When it has been up for a minute, as if nothing had been.
  EXPECT_EQ(f.filter(plugin, f.pod_that(Deed::none)).front(), "n0 ok");
  f.clock.advance(std::chrono::seconds(60));
  EXPECT_EQ(f.error(plugin, f.pod_that(Deed::leave)),
            "its process ended with exit status 3 in filter; started again in 1s");
  EXPECT_EQ(f.state().failures, 9u);
}

TEST(IsolatedPlugin, CostsAnErrorWhenItHangs) {
  IsolationFixture f(k_short_ns);
  const PluginInstance& plugin = *f.isolated();
  EXPECT_EQ(f.error(plugin, f.pod_that(Deed::hang)),
            "its process gave no answer within 200 ms in filter; started again in 1s");
  f.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(
      f.score(plugin, f.pod_that(Deed::hang_in_score)),
      "running Score plugins: plugin \"example.com/Tried\" failed with: its process gave no answer within 200 ms in "
      "score; started again in 2s");
}

TEST(IsolatedPlugin, IsNotBelieved) {
  IsolationFixture f(k_short_ns);
  const PluginInstance& plugin = *f.isolated();
  const std::pair<Deed, std::string> deeds[] = {
      {Deed::overwrite_region, "its process gave no answer that can be right in filter"},
      {Deed::wrong_turn, "its process gave no answer that can be right in filter"},
      {Deed::unknown_question, "its process asked for what cannot be asked in filter"},
      {Deed::long_question, "its process asked for what cannot be asked in filter"},
      {Deed::ask_for_a_column, "its process asked for what cannot be asked in filter"},
      {Deed::ask_without_end, "its process was not done within 200 ms in filter"}};
  for (const auto& [deed, said] : deeds) {
    const std::string error = f.error(plugin, f.pod_that(deed));
    EXPECT_EQ(error.substr(0, error.find(';')), said) << "deed " << static_cast<int>(deed);
    f.clock.advance(std::chrono::seconds(60));
    EXPECT_EQ(f.filter(plugin, f.pod_that(Deed::none)).front(), "n0 ok");
    f.clock.advance(std::chrono::seconds(60));
  }
  EXPECT_EQ(f.score(plugin, f.pod_that(Deed::say_bad_scores)),
            "running Score plugins: plugin \"example.com/Tried\" failed with: its process gave a score of "
            "9223372036854775807 in score; started again in 1s");
}

TEST(IsolatedPlugin, MayNothingButCompute) {
  IsolationFixture f;
  const PluginInstance& plugin = *f.isolated();
  for (const Deed deed : {Deed::open_socket, Deed::fork, Deed::read_a_file, Deed::start_a_thread, Deed::make_code}) {
    EXPECT_EQ(f.error(plugin, f.pod_that(deed)),
              "its process ended with signal 31 (a system call that it may not make) in filter; started again in 1s")
        << "deed " << static_cast<int>(deed);
    f.clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(f.filter(plugin, f.pod_that(Deed::none)).front(), "n0 ok");
    f.clock.advance(std::chrono::seconds(60));
  }
  EXPECT_EQ(f.error(plugin, f.pod_that(Deed::leak)),
            "its process ended with signal 6 (Aborted) in filter; started again in 1s");
}

TEST(IsolatedPlugin, IsMissedWhenItIsEndedFromOutside) {
  IsolationFixture f(k_short_ns);
  const PluginInstance& plugin = *f.isolated();
  ASSERT_EQ(::kill(f.state().process, SIGKILL), 0);
  EXPECT_EQ(f.error(plugin, f.pod_that(Deed::none)),
            "its process ended with signal 9 (Killed) in filter; started again in 1s");
  f.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(f.filter(plugin, f.pod_that(Deed::none)).front(), "n0 ok");
  ASSERT_EQ(::kill(f.state().process, SIGSTOP), 0);
  EXPECT_EQ(f.error(plugin, f.pod_that(Deed::none)),
            "its process gave no answer within 200 ms in filter; started again in 2s");
}

TEST(IsolatedPlugin, HintsAsInThisProcess) {
  IsolationFixture f;
  const PluginInstance* const there = f.isolated();
  const PluginInstance* const here = f.here();
  const auto small = f.pod_that(Deed::none, 1000), large = f.pod_that(Deed::none, 5000);
  const auto other = f.make_pod("other", "", 1000);
  const std::vector<const model::Pod*> pods{small.get(), large.get(), other.get()};
  model::EventObjects objects;
  objects.new_node = f.make_node("new");
  framework::HintCalls calls;
  const auto ask = [&](const PluginInstance& plugin) {
    std::uint64_t queue = 0;
    EXPECT_TRUE(calls.ask(plugin, 0, {}, objects, pods, &queue));
    return queue;
  };
  EXPECT_EQ(ask(*there), 0b001u);
  EXPECT_EQ(ask(*here), 0b001u);
  // One that fails queues all of them.
  const auto bad = f.pod_that(Deed::crash);
  const std::vector<const model::Pod*> more{bad.get(), large.get()};
  std::uint64_t queue = 0;
  EXPECT_FALSE(calls.ask(*there, 0, {}, objects, more, &queue));
  EXPECT_EQ(queue, 0b11u);
  EXPECT_EQ(f.state().failure, "its process ended with signal 11 (Segmentation fault) in hint");
}

TEST(IsolatedPlugin, KnowsNoStateOfAProcessThatIsGone) {
  IsolationFixture f;
  const PluginInstance& plugin = *f.isolated();
  f.begin(f.pod_that(Deed::none, 1000));
  f.prepare(plugin, *f.context);
  const std::unique_ptr<framework::CycleContext> earlier = std::move(f.context);
  f.error(plugin, f.pod_that(Deed::crash));
  f.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(f.filter_in(plugin, *earlier).front(),
            "n0 running \"example.com/Tried\" filter plugin: the process that prepared this attempt is gone: its "
            "process ended "
            "with signal 11 (Segmentation fault) in filter (1)");
  EXPECT_EQ(f.filter(plugin, f.pod_that(Deed::none)).front(), "n0 ok");
}

TEST(IsolatedPlugin, FreesManyStates) {
  IsolationFixture f;
  const PluginInstance& plugin = *f.isolated();
  for (int i = 0; i < 300; ++i) ASSERT_EQ(f.filter(plugin, f.pod_that(Deed::none, 1000), true).front(), "n0 ok") << i;
  EXPECT_EQ(f.state().failures, 0u);
}

TEST(IsolatedPlugin, RefusesItsArgsAsInThisProcess) {
  IsolationFixture f;
  const auto made = PluginInstance::create({f.library->entry()->plugins[0], BERTH_TRIED_PLUGIN, "", {}, {}},
                                           R"({"refuse": true})", f.host, 0);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "these args are refused");
}

TEST(IsolatedPlugin, IsRefusedWhereItDoesMoreThanJudge) {
  const auto opened = IsolatedLibrary::open(program_of(BERTH_ANIMALS "/hangs_in_pre_bind.so", "zoo.example.com/Animal"),
                                            IsolationLimits{}, BERTH_PROGRAM);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message,
            "zoo.example.com/Animal implements berth.bind/1, which does not work across processes");
  EXPECT_EQ(beyond_isolation("example.com/A", {"berth.filter/1"}, {"berth.log/1", "berth.objects/1"}),
            "example.com/A requires berth.objects/1, which does not work across processes");
  EXPECT_EQ(beyond_isolation("example.com/A", {"berth.filter/1", "berth.score/1"}, {"berth.log/1"}), "");
}

TEST(IsolatedPlugin, IsRefusedWhereTheFileIsAnother) {
  PluginProgram program = program_of(BERTH_TRIED_PLUGIN, IsolationFixture::k_name);
  program.sha256 = std::string(64, '0');
  const auto opened = IsolatedLibrary::open(program, IsolationLimits{}, BERTH_PROGRAM);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("BERTH-P004"), std::string::npos) << opened.error().message;
}

TEST(IsolatedPlugin, IsRefusedWhereBerthIsNotThere) {
  const auto opened = IsolatedLibrary::open(program_of(BERTH_TRIED_PLUGIN, IsolationFixture::k_name), IsolationLimits{},
                                            "/nowhere/berth");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, "berth plugin-host cannot be started: No such file or directory");
  // A program that is not berth starts nothing.
  const auto another =
      IsolatedLibrary::open(program_of(BERTH_TRIED_PLUGIN, IsolationFixture::k_name), IsolationLimits{});
  ASSERT_FALSE(another.ok());
  EXPECT_EQ(another.error().message,
            "this program runs plugins inside its own process only: berth itself can isolate them");
}

}  // namespace
}  // namespace berth::isolation::testing
