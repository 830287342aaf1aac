// SPDX-License-Identifier: Apache-2.0
// What came with which minor, held against the manifests of all of them, and what a policy class requires.
#include <gtest/gtest.h>
#include <berth/placed_pods.hpp>
#include <berth/plugin.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Enumerator {
  std::uint64_t value = 0;
  berth::Minor since = 0;
};

/// Everything that the manifests of this major name, with the first minor that has it.
struct History {
  History() {
    for (berth::Minor minor = 0; minor <= BERTH_ABI_MINOR; ++minor) {
      std::istringstream lines(
          content_of(fs::path(BERTH_ABI_HISTORY) / "manifests" / ("1." + std::to_string(minor) + ".txt")));
      for (std::string kind, name, value; lines >> kind;) {
        if (kind != "enumerator" && kind != "struct") {
          std::getline(lines, value);
          continue;
        }
        lines >> name >> value;
        if (kind == "struct") structs.try_emplace(name, minor);
        if (kind == "enumerator") enumerators.try_emplace(name, Enumerator{std::stoull(value), minor});
      }
    }
  }
  std::map<std::string, Enumerator> starting_with(const std::string& prefix) const {
    std::map<std::string, Enumerator> found;
    for (const auto& [name, enumerator] : enumerators)
      if (name.starts_with(prefix)) found.emplace(name, enumerator);
    return found;
  }
  std::map<std::string, Enumerator> enumerators;
  std::map<std::string, berth::Minor> structs;
};

TEST(Minors, OfColumnsAreThoseOfTheManifests) {
  const auto columns = History().starting_with("BERTH_COL_");
  ASSERT_GT(columns.size(), 18u);
  for (const auto& [name, column] : columns)
    EXPECT_EQ(berth::minor_of_column(static_cast<std::uint32_t>(column.value)), column.since) << name;
  EXPECT_EQ(berth::minor_of_column(1000), BERTH_ABI_MINOR) << "what this header does not know";
}

TEST(Minors, OfPodFieldsAreThoseOfTheManifests) {
  auto groups = History().starting_with("BERTH_POD_");
  groups.erase("BERTH_POD_CLAIM_HAS_STATUS");  // a flag of another field
  ASSERT_GT(groups.size(), 22u);
  std::uint64_t all = 0;
  for (const auto& [name, group] : groups) {
    EXPECT_EQ(berth::minor_of_pod_groups(group.value), group.since) << name;
    EXPECT_EQ(berth::minor_of_pod_groups(group.value | BERTH_POD_PRIORITY), group.since) << name;
    all |= group.value;
  }
  EXPECT_EQ(berth::minor_of_pod_groups(0), 0);
  EXPECT_EQ(berth::minor_of_pod_groups(all), BERTH_ABI_MINOR);
  EXPECT_EQ(berth::minor_of_pod_groups(std::uint64_t{1} << 60), BERTH_ABI_MINOR);
}

TEST(Minors, OfFlagsDepsKindsAndNormalisationsAreThoseOfTheManifests) {
  const History history;
  for (const auto& [name, dep] : history.starting_with("BERTH_DEP_"))
    EXPECT_EQ(berth::minor_of_deps(static_cast<std::uint32_t>(dep.value)), dep.since) << name;
  EXPECT_EQ(berth::minor_of_deps(BERTH_DEP_EVERYTHING), 0);
  for (const auto& [name, flag] : history.starting_with("BERTH_PREPARE_"))
    EXPECT_EQ(berth::minor_of_prepare_flags(static_cast<std::uint32_t>(flag.value)), flag.since) << name;
  for (const auto& [name, kind] : history.starting_with("BERTH_KIND_"))
    EXPECT_EQ(berth::minor_of_kind(static_cast<std::uint32_t>(kind.value)), kind.since) << name;
  for (const auto& [name, kind] : history.starting_with("BERTH_NORM_"))
    EXPECT_EQ(berth::minor_of_normalization(static_cast<std::uint32_t>(kind.value)), kind.since) << name;
  EXPECT_EQ(berth::minor_of_filter_flags(BERTH_FILTER_RECORDS), history.enumerators.at("BERTH_FILTER_RECORDS").since);
}

/// Ids that headers say, "berth.filter/1".
std::set<std::string> ids_of_headers() {
  std::set<std::string> ids;
  const std::regex quoted("\"(berth\\.[a-z_.]+/[0-9])\"");
  for (const auto& entry : fs::recursive_directory_iterator(BERTH_ABI_HEADERS)) {
    const std::string text = content_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), quoted), end; at != end; ++at) ids.insert((*at)[1]);
  }
  return ids;
}

/// The oldest section of this major in the changelog that names the id; 0 for what came with the major.
berth::Minor first_told(const std::string& id) {
  std::istringstream lines(content_of(fs::path(BERTH_ABI_HISTORY) / "CHANGELOG.md"));
  berth::Minor minor = 0, first = 0;
  for (std::string line; std::getline(lines, line) && !line.starts_with("## 0.");) {
    if (line.starts_with("## 1.")) minor = static_cast<berth::Minor>(std::stoi(line.substr(5)));
    if (line.find("`" + id + "`") != std::string::npos) first = minor;  // sections go from the newest down
  }
  return first;
}

TEST(Minors, OfPointsAndServicesAreThoseOfTheManifestsOrTheChangelog) {
  const History history;
  const std::set<std::string> ids = ids_of_headers();
  ASSERT_GT(ids.size(), 30u);
  for (const std::string& id : ids) {
    const std::size_t slash = id.find('/');
    const std::string name = id.substr(id.rfind('.', slash) + 1, slash - id.rfind('.', slash) - 1);
    std::optional<berth::Minor> since;
    for (const std::string& of : {name + "_v", name + "_ops_v"})
      if (const auto at = history.structs.find("berth_" + of + id.substr(slash + 1)); at != history.structs.end())
        since = std::min(since.value_or(at->second), at->second);
    EXPECT_EQ(berth::minor_of_id(id), since.value_or(first_told(id))) << id;
  }
  EXPECT_EQ(berth::minor_of_id("berth.weather/1"), BERTH_ABI_MINOR) << "what this header does not know";
}

// --- policies ---------------------------------------------------------------------------------------------------------

#define BERTH_TEST_POLICY(Name, ...)                                                                              \
  struct Name {                                                                                                   \
    static constexpr berth::Identity identity{.name = "example.com/" #Name, .version = "1.0.0", .summary = "A."}; \
    static constexpr berth::ReasonText reasons[] = {{"no", "No"}};                                                \
    berth::Mask filter(const berth::Cycle&, berth::Rows) const { return berth::Mask::all(); }                     \
    __VA_ARGS__                                                                                                   \
  }
BERTH_TEST_POLICY(Plain, );
BERTH_TEST_POLICY(
    Timed, std::uint64_t filter_budget_ns() const noexcept { return 5; });
BERTH_TEST_POLICY(Watches, static constexpr berth::Interest interests[] = {
                               berth::always(BERTH_KIND_OWN_WATCH, BERTH_ACTION_ADD)};);
BERTH_TEST_POLICY(Shares, static constexpr const char* services[] = {"berth.shared/1"};);
BERTH_TEST_POLICY(Counts, static constexpr const char* services[] = {berth::Pods::id};);
BERTH_TEST_POLICY(Raised, static constexpr berth::Minor minor_required = BERTH_ABI_MINOR;);
BERTH_TEST_POLICY(Newest, static constexpr const char* services[] = {"berth.weather/1"};);

template <class P>
constexpr berth::Minor k_required = berth::detail::minor_required_of<P>();

TEST(MinorRequired, IsThatOfWhatThePolicyUses) {
  static_assert(k_required<Plain> == 0, "the newest header, and nothing that is new");
  EXPECT_EQ(k_required<Timed>, 0);
  EXPECT_EQ(k_required<Watches>, 0);
  EXPECT_EQ(k_required<Shares>, 0);
  EXPECT_EQ(k_required<Counts>, 0);
  EXPECT_EQ(k_required<Raised>, BERTH_ABI_MINOR);
  EXPECT_EQ(k_required<Newest>, BERTH_ABI_MINOR) << "what this header does not know";
}

TEST(MinorRequired, OfALibraryIsTheMostThatOneOfItsPoliciesNeeds) {
  EXPECT_EQ((berth::detail::k_library<Plain, Newest, Watches>.abi_minor_required), BERTH_ABI_MINOR);
  EXPECT_EQ((berth::detail::k_library<Plain>.abi_minor_built), BERTH_ABI_MINOR);
  EXPECT_EQ((berth::detail::Notes<Plain, Newest>{}.first.minor_required), 0);
  EXPECT_EQ((berth::detail::Notes<Plain, Newest>{}.rest.first.minor_required), BERTH_ABI_MINOR);
  const berth::JoinedLibrary joined({berth::plugin_part<Plain>(), berth::plugin_part<Raised, Watches>()});
  EXPECT_EQ(joined.raw()->abi_minor_required, BERTH_ABI_MINOR);
}

// --- what is asked for in the constructor -----------------------------------------------------------------------------

/// A host that knows less than this header.
struct OlderHost {
  OlderHost() {
    host.struct_size = sizeof host;
    host.abi_minor = 0;
    host.score_max = 10;
    binder.struct_size = sizeof binder;
    binder.column = [](void*, std::uint32_t kind, berth_str) { return kind <= 16 ? kind : BERTH_NO_COLUMN; };
    binder.pod_fields = [](void*, std::uint64_t groups) { return groups & 0xffff; };
  }
  std::string refusal(void (*ask)(berth::Setup&)) {
    berth::Setup setup(&host, &binder, {});
    try {
      ask(setup);
    } catch (const berth::TooOld& e) {
      return e.what();
    }
    return {};
  }
  berth_host_v1 host{};
  berth_binder_v1 binder{};
};

TEST(Setup, NamesTheAbiVersionThatAMissingColumnCameWith) {
  OlderHost host;
  EXPECT_EQ(host.refusal([](berth::Setup& s) { s.allocatable("cpu"); }), "");
  EXPECT_EQ(host.refusal([](berth::Setup& s) { s.condition("Ready"); }),
            "the host has no column of kind 18 for \"Ready\", which came with ABI 1.0; it implements 1.0");
}

TEST(Setup, RefusesAHostThatDoesNotShowAPodField) {
  OlderHost host;
  EXPECT_EQ(host.refusal([](berth::Setup& s) { s.pod_fields(BERTH_POD_PRIORITY | BERTH_POD_LABELS); }), "");
  EXPECT_EQ(host.refusal([](berth::Setup& s) { s.pod_fields(BERTH_POD_PRIORITY | BERTH_POD_CLAIMS); }),
            "the host has no pod fields of group 2097152, which came with ABI 1.0; it implements 1.0");
  berth::Setup setup(&host.host, &host.binder, {});
  EXPECT_EQ(setup.accepted_fields(BERTH_POD_PRIORITY | BERTH_POD_QOS), std::uint64_t{BERTH_POD_PRIORITY});
  EXPECT_EQ(setup.score_max(), 10);
}

}  // namespace
