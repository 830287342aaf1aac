// SPDX-License-Identifier: Apache-2.0
#include "loader/descriptor.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <spdlog/fmt/fmt.h>

#include "berth/plugin.h"
#include "loader/ops_completeness.hpp"
#include "loader/plugin_loader.hpp"
#include "support/abi_manifest.hpp"

namespace berth::loader {
namespace {

berth_code pass_all(void*, const berth_cycle_v1*, const berth_node_block_v1*, berth_filter_out_v1*, berth_note_v1*) {
  return BERTH_OK;
}
berth_code create(const berth_host_v1*, const berth_binder_v1*, berth_str, void**, berth_note_v1*) { return BERTH_OK; }
void destroy(void*) {}

/// A library with one good filter plugin; tests change a part before they ask for a verdict.
struct Library {
  berth_filter_ops_v1 ops{sizeof(berth_filter_ops_v1), 0, pass_all, nullptr, 0, 0};
  berth_point_v1 points[1] = {{"berth.filter/1", &ops}};
  const char* services[1] = {"berth.log/1"};
  berth_reason_text_v1 reasons[2] = {{nullptr, nullptr}, {"node(s) were full", "Full"}};
  berth_plugin_v1 plugin{};
  const berth_plugin_v1* plugins[2] = {&plugin, &plugin};
  berth_library_v1 library{sizeof(berth_library_v1), BERTH_ABI_MINOR, BERTH_ABI_MINOR, 1, 0, plugins};

  Library() {
    plugin.struct_size = sizeof plugin;
    plugin.name = "example.com/A";
    plugin.version = "1.0.0";
    plugin.summary = "Lets every node pass.";
    plugin.points = points;
    plugin.point_count = 1;
    plugin.reasons = reasons;
    plugin.reason_count = 2;
    plugin.deps = BERTH_DEP_EVERYTHING;
    plugin.create = create;
    plugin.destroy = destroy;
  }
  /// "P017: …; …;" per finding.
  std::string findings() const {
    const std::vector<std::string> offered = {"berth.log/1", "berth.reasons/1"};
    LoadReport report;
    judge_descriptor(&library, {nullptr, &offered, "berth"}, Finding{}, report);
    std::string text;
    for (const Finding& finding : report.findings()) {
      text += finding.code + ":";
      for (const std::string& evidence : finding.evidence) text += " " + evidence + ";";
    }
    return text;
  }
};

TEST(Descriptor, OfAGoodLibraryHasNoFindings) { EXPECT_EQ(Library().findings(), ""); }

TEST(Descriptor, IsRefusedWhenItCannotBeMeant) {
  struct Case {
    std::string name;
    void (*change)(Library&);
    std::string want;
  };
  const Case cases[] = {
      {"name", [](Library& l) { l.plugin.name = nullptr; }, "P017: plugin 0: name is NULL;"},
      {"version", [](Library& l) { l.plugin.version = "1\n"; },
       "P017: example.com/A: version \"1\n\" is empty or cannot be shown;"},
      {"summary", [](Library& l) { l.plugin.summary = nullptr; }, "P017: example.com/A: summary is NULL;"},
      {"no points", [](Library& l) { l.plugin.point_count = 0; }, "P017: example.com/A: offers no points;"},
      {"many points", [](Library& l) { l.plugin.point_count = 1000; },
       "P017: example.com/A: point_count is 1000, expected 0..64;"},
      {"points", [](Library& l) { l.plugin.points = nullptr; }, "P017: example.com/A: points is NULL, count is 1;"},
      {"ops size", [](Library& l) { l.ops.struct_size = 8; },
       "P017: example.com/A: ops table of berth.filter/1 has struct_size 8, expected 32..65536;"},
      {"deps", [](Library& l) { l.plugin.deps = 1u << 20; }, "P017: example.com/A: deps has unknown bits 0x100000;"},
      {"reasons", [](Library& l) { l.plugin.reasons = nullptr; }, "P017: example.com/A: reasons is NULL, count is 2;"},
      {"flags of a point", [](Library& l) { l.ops.flags = 1u << 30; },
       "P017: example.com/A: berth.filter/1: flags has unknown bits 0x40000000;"},
      {"ops that end before what 1.0 has", [](Library& l) { l.ops.struct_size = offsetof(berth_filter_ops_v1, deps); },
       "P017: example.com/A: ops table of berth.filter/1 has struct_size 24, expected 32..65536;"},
      {"flags of the plugin", [](Library& l) { l.plugin.flags = 8 | 1; },
       "P017: example.com/A: flags has unknown bits 0x9;"},
      {"a flag of filters that is gone", [](Library& l) { l.ops.flags = 1; },
       "P017: example.com/A: berth.filter/1: flags has unknown bits 0x1;"},
      {"deps of a point", [](Library& l) { l.ops.deps = 1u << 20; },
       "P017: example.com/A: berth.filter/1: deps has unknown bits 0x100000;"},
      {"reserved field of a point", [](Library& l) { l.ops.reserved = 7; },
       "P017: example.com/A: berth.filter/1: the reserved field is 0x7, expected 0;"},
      {"no reasons", [](Library& l) { l.plugin.reason_count = 1; },
       "P043: example.com/A: berth.filter/1 lacks reasons: a table of them, or the service berth.reasons/1;"},
      {"a reason without text", [](Library& l) { l.reasons[1].text = ""; },
       "P017: example.com/A: reasons[1].text is empty;"},
      {"reserved field of the library", [](Library& l) { l.library.reserved = 12345; },
       "P017: the library's reserved field is 0x3039, expected 0;"},
      {"functions",
       [](Library& l) {
         l.plugin.create = nullptr;
         l.ops.filter = nullptr;
       },
       "P043: example.com/A: berth.filter/1 lacks filter; example.com/A lacks create;"},
      {"two plugins of one name", [](Library& l) { l.library.plugin_count = 2; },
       "P017: the library has two plugins example.com/A;"},
      {"no plugins", [](Library& l) { l.library.plugin_count = 0; },
       "P017: the library has 0 plugins, expected 1..256;"},
      {"a short library", [](Library& l) { l.library.struct_size = offsetof(berth_library_v1, plugins); },
       "P017: library descriptor has struct_size 16, expected 24..65536;"},
      {"a short plugin", [](Library& l) { l.plugin.struct_size = offsetof(berth_plugin_v1, destroy); },
       "P017: plugin 0 descriptor has struct_size 88, expected 96..65536;"},
      {"many services", [](Library& l) { l.plugin.service_count = 1000; },
       "P017: example.com/A: service_count is 1000, expected 0..256;"},
      {"services that are not there", [](Library& l) { l.plugin.service_count = 1; },
       "P017: example.com/A: services is NULL, count is 1;"},
      {"a service without a name",
       [](Library& l) {
         l.services[0] = nullptr;
         l.plugin.services = l.services;
         l.plugin.service_count = 1;
       },
       "P017: example.com/A: services[0] is NULL;"},
      {"many reasons", [](Library& l) { l.plugin.reason_count = 1u << 20; },
       "P017: example.com/A: reason_count is 1048576, expected 0..4096;"},
      {"a code of a reason that is nowhere",
       [](Library& l) { l.reasons[1].code = reinterpret_cast<const char*>(std::uintptr_t{64}); },
       "P017: example.com/A: reasons[1].code is no text that ends;"},
      {"a schema that is nowhere",
       [](Library& l) { l.plugin.args_schema = reinterpret_cast<const char*>(std::uintptr_t{64}); },
       "P017: example.com/A: args_schema is no text that ends;"},
      {"a table that is nowhere", [](Library& l) { l.points[0].ops = nullptr; },
       "P017: example.com/A: ops table of berth.filter/1 is NULL;"},
      {"destroy", [](Library& l) { l.plugin.destroy = nullptr; }, "P043: example.com/A lacks destroy;"},
      {"services",
       [](Library& l) {
         l.services[0] = "berth.weather/1";
         l.plugin.services = l.services;
         l.plugin.service_count = 1;
       },
       "P013: requires services that berth does not have: berth.weather/1;"},
  };
  for (const Case& given : cases) {
    Library library;
    given.change(library);
    EXPECT_EQ(library.findings(), given.want) << given.name;
  }
}

TEST(Descriptor, OffersAPointOnce) {
  Library library;
  const berth_point_v1 twice[] = {library.points[0], library.points[0]};
  library.plugin.points = twice;
  library.plugin.point_count = 2;
  EXPECT_EQ(library.findings(), "P017: example.com/A: berth.filter/1 is offered twice;");
}

/// The first words of a table, for points whose functions do not matter here.
struct Table {
  std::uint32_t struct_size = 0, second = 0;
  void* rest[14] = {};
};

std::string findings_about(const char* point, const void* ops) {
  Library library;
  library.points[0] = {point, ops};
  return library.findings();
}

TEST(Descriptor, IsRefusedForAnyTableThatIsShorterThanTheFirst) {
  for (const char* const point : {"queue", "prepare", "filter", "post_filter", "score", "reserve", "permit", "bind",
                                  "requeue", "groups", "domains"}) {
    const std::string id = fmt::format("berth.{}/1", point);
    Table table;
    table.struct_size = first_bytes(id) - 8;
    EXPECT_EQ(findings_about(id.c_str(), &table),
              fmt::format("P017: example.com/A: ops table of {} has struct_size {}, expected {}..65536;", id,
                          table.struct_size, first_bytes(id)));
    table.struct_size = 70'000;
    EXPECT_NE(findings_about(id.c_str(), &table).find("has struct_size 70000, expected"), std::string::npos) << id;
  }
}

TEST(Descriptor, IsRefusedForUnknownFlagsOfAnyTableThatHasSome) {
  for (const char* const point :
       {"prepare", "filter", "post_filter", "reserve", "permit", "bind", "groups", "domains"}) {
    const std::string id = fmt::format("berth.{}/1", point);
    Table table;
    table.struct_size = sizeof table;
    table.second = 1u << 30;
    EXPECT_NE(findings_about(id.c_str(), &table).find(id + ": flags has unknown bits 0x40000000;"), std::string::npos)
        << findings_about(id.c_str(), &table);
    table.second = 0;
    EXPECT_EQ(findings_about(id.c_str(), &table).find("unknown bits"), std::string::npos) << id;
  }
}

TEST(Descriptor, IsRefusedForUnknownValuesOfAScore) {
  berth_score_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  ops.normalize_kind = 99;
  ops.score = [](void*, const berth_cycle_v1*, const berth_node_block_v1*, int64_t*, berth_note_v1*) -> berth_code {
    return BERTH_OK;
  };
  EXPECT_EQ(findings_about("berth.score/1", &ops),
            "P043: example.com/A: berth.score/1 lacks a normalize_kind of 0..5, found 99;");
  ops.normalize_kind = BERTH_NORM_NONE;
  ops.deps = 1u << 20;
  ops.reserved = 7;
  EXPECT_EQ(findings_about("berth.score/1", &ops),
            "P017: example.com/A: berth.score/1: deps has unknown bits 0x100000; "
            "example.com/A: berth.score/1: the reserved field is 0x7, expected 0;");
}

TEST(Descriptor, IsRefusedForTablesWithoutTheirFunctions) {
  struct Case {
    const char *point, *lacks;
  };
  const Case cases[] = {{"queue", "one of key, less and pre_enqueue"},
                        {"prepare", "one of pre_filter and pre_score"},
                        {"filter", "filter"},
                        {"post_filter", "post_filter"},
                        {"score", "score"},
                        {"reserve", "reserve"},
                        {"permit", "permit"},
                        {"bind", "one of pre_bind, bind and post_bind"},
                        {"groups", "group_of"}};
  for (const Case& given : cases) {
    const std::string id = fmt::format("berth.{}/1", given.point);
    Table table;
    table.struct_size = sizeof table;
    EXPECT_NE(
        findings_about(id.c_str(), &table).find(fmt::format("P043: example.com/A: {} lacks {};", id, given.lacks)),
        std::string::npos)
        << findings_about(id.c_str(), &table);
  }
}

TEST(Descriptor, IsRefusedForHalfOfWhatBelongsTogether) {
  berth_prepare_ops_v1 prepare{};
  prepare.struct_size = sizeof prepare;
  prepare.pre_filter = [](void*, berth_cycle_v1*, berth_prepare_out_v1*, berth_note_v1*) -> berth_code {
    return BERTH_OK;
  };
  prepare.pod_added = [](void*, berth_cycle_v1*, const berth_pod_v1*, berth_slot, berth_note_v1*) -> berth_code {
    return BERTH_OK;
  };
  EXPECT_EQ(missing_functions("berth.prepare/1", &prepare),
            (std::vector<std::string>{"pod_removed together with pod_added",
                                      "state_clone together with pod_added and pod_removed"}));
  berth_bind_ops_v1 bind{};
  bind.struct_size = sizeof bind;
  bind.post_bind = [](void*, berth_cycle_v1*, const berth_bind_call_v1*) {};
  bind.pre_bind_check = [](void*, const berth_cycle_v1*, berth_slot, uint32_t*, berth_note_v1*) -> berth_code {
    return BERTH_OK;
  };
  EXPECT_EQ(missing_functions("berth.bind/1", &bind),
            std::vector<std::string>{"pre_bind together with pre_bind_check"});
  berth_requeue_ops_v1 requeue{};
  requeue.struct_size = sizeof requeue;
  requeue.interest_count = 3;
  EXPECT_EQ(missing_functions("berth.requeue/1", &requeue),
            std::vector<std::string>{"interests, of which there are some"});
}

TEST(Descriptor, MayMakeItsReasonsWithTheServiceInstead) {
  Library library;
  library.plugin.reason_count = 1;
  library.services[0] = "berth.reasons/1";
  library.plugin.services = library.services;
  library.plugin.service_count = 1;
  EXPECT_EQ(library.findings(), "");
}

TEST(Descriptor, IsRefusedForAnInterestThatCannotBeMeant) {
  const berth_interest_v1 interests[] = {{BERTH_KIND_NODE, 1, BERTH_INTEREST_DERIVED, 0},
                                         {BERTH_KIND_NODE, 1, 6, 0},
                                         {BERTH_KIND_ANY, BERTH_ACTION_ALL, 0, 2},
                                         {BERTH_KIND_OWN_WATCH, 0, 0, 1},
                                         {BERTH_KIND_WATCH, 1u << 20, 0, 1},
                                         {99, BERTH_ACTION_ADD, 0, 1}};
  berth_requeue_ops_v1 requeue{};
  requeue.struct_size = sizeof requeue;
  requeue.interest_count = std::size(interests);
  requeue.interests = interests;
  Library library;
  library.points[0] = {"berth.requeue/1", &requeue};
  EXPECT_EQ(library.findings(),
            "P017: example.com/A: interests[1]: flags has unknown bits 0x6; "
            "example.com/A: interests[2]: hinted is 2, expected 0 or 1; example.com/A: interests[3]: no actions; "
            "example.com/A: interests[4]: actions has unknown bits 0x100000; "
            "example.com/A: interests[5]: resource 99 is no kind that interests may name;");
  requeue.interests = reinterpret_cast<const berth_interest_v1*>(64);
  EXPECT_EQ(library.findings(), "P017: example.com/A: interests is not readable, count is 6;");
}

TEST(MemoryProbe, SeesWhereMemoryEnds) {
  const std::size_t page = 4096;
  auto* const two =
      static_cast<char*>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(two), MAP_FAILED);
  ::mprotect(two + page, page, PROT_NONE);
  std::fill(two, two + page, 'x');
  const MemoryProbe probe;
  EXPECT_TRUE(probe.readable(two, page));
  EXPECT_FALSE(probe.readable(two, page + 1));
  EXPECT_FALSE(probe.readable(reinterpret_cast<void*>(std::uintptr_t{64}), 1));
  std::string text;
  EXPECT_FALSE(probe.text(two + page - 3, 100, text));  // runs into the wall without an end
  two[page - 1] = '\0';
  EXPECT_TRUE(probe.text(two + page - 3, 100, text));
  EXPECT_EQ(text, "xx");
  ::munmap(two, 2 * page);
}

/// What 1.0 has, every plugin of major 1 has; what a later minor appends must not be asked of it.
TEST(OpsCompleteness, AsksForTheTablesThatTheManifestOfTheFirstVersionHas) {
  const auto bytes = struct_bytes_of_first_version();
  ASSERT_GT(bytes.size(), 50u);
  for (const char* const point :
       {"queue", "prepare", "filter", "post_filter", "score", "reserve", "permit", "bind", "requeue"})
    EXPECT_EQ(first_bytes(fmt::format("berth.{}/1", point)), bytes.at(fmt::format("berth_{}_ops_v1", point))) << point;
  EXPECT_EQ(first_bytes("berth.groups/1"), bytes.at("berth_group_ops_v1"));
  EXPECT_EQ(first_bytes("berth.domains/1"), bytes.at("berth_domain_ops_v1"));
  EXPECT_EQ(first_bytes("berth.weather/1"), 0u);
}

TEST(OpsCompleteness, WantsWhatACustomNormalisationAnnounces) {
  berth_score_ops_v1 ops{sizeof(berth_score_ops_v1), BERTH_NORM_CUSTOM, nullptr, nullptr, 0, 0};
  EXPECT_EQ(missing_functions("berth.score/1", &ops),
            (std::vector<std::string>{"score", "normalize, which BERTH_NORM_CUSTOM announces"}));
}

TEST(OpsCompleteness, WantsOneToFourKeyWordsWithAKey) {
  berth_queue_ops_v1 ops{};
  ops.struct_size = sizeof ops;
  ops.key_words = 5;
  ops.key = [](void*, const berth_queue_pod_v1*, uint64_t*, berth_note_v1*) -> berth_code { return BERTH_OK; };
  EXPECT_EQ(missing_functions("berth.queue/1", &ops),
            std::vector<std::string>{"key_words of 1..4 together with key, found 5"});
}

Library g_first;
Library g_second;
const berth_library_v1* first() { return &g_first.library; }
const berth_library_v1* second() { return &g_second.library; }

TEST(LoadedPlugins, OfLinkedInLibrariesPassTheSameChecks) {
  const HostOffer offer{"berth", {"berth.log/1"}};
  LoadReport report;
  const berth_library_v1* (*const one[])() = {first};
  const LoadedPlugins plugins = LoadedPlugins::from_static(one, offer, report);
  EXPECT_TRUE(report.ok()) << report.render();
  const auto found = plugins.find("example.com/A");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->plugin, &g_first.plugin);
  EXPECT_FALSE(plugins.find("example.com/B").has_value());

  const berth_library_v1* (*const both[])() = {first, second};
  LoadedPlugins::from_static(both, offer, report);
  ASSERT_EQ(report.findings().size(), 1u);
  EXPECT_EQ(report.findings()[0].code, "P041");
}

}  // namespace
}  // namespace berth::loader
