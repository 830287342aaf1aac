// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>

#include <iterator>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "config/embedded.hpp"
#include "config/leader_election.hpp"
#include "config/read/load_parts.hpp"
#include "config/read/merge.hpp"
#include "config/read/names.hpp"
#include "config/read/source_file.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

void read_leader_election(Fields& root, const Source& source, LeaderElection& out) {
  const text::Value* value = root.mapping("leaderElection");
  if (value == nullptr) return;
  Fields fields(source, *value, root.path_of("leaderElection"));
  const auto read_duration = [&](std::string_view key, std::int64_t& target_ns) {
    std::int64_t ns = 0;
    if (fields.read_duration(key, ns) && ns != 0) target_ns = ns;  // zero is unset
  };
  const auto read_text = [&](std::string_view key, std::string& target) {
    std::string written;
    if (fields.read(key, written) && !written.empty()) target = std::move(written);
  };
  fields.read("leaderElect", out.leader_elect);
  read_duration("leaseDuration", out.lease_duration_ns);
  read_duration("renewDeadline", out.renew_deadline_ns);
  read_duration("retryPeriod", out.retry_period_ns);
  read_text("resourceLock", out.resource_lock);
  read_text("resourceName", out.resource_name);
  read_text("resourceNamespace", out.resource_namespace);
}

void read_client_connection(Fields& root, const Source& source, ClientConnection& out) {
  const text::Value* value = root.mapping("clientConnection");
  if (value == nullptr) return;
  Fields fields(source, *value, root.path_of("clientConnection"));
  fields.read("kubeconfig", out.kubeconfig);
  fields.read("acceptContentTypes", out.accept_content_types);
  std::string content_type;
  if (fields.read("contentType", content_type) && !content_type.empty()) out.content_type = std::move(content_type);
  double qps = 0;
  if (fields.read("qps", qps) && qps != 0) out.qps = qps;  // zero is unset
  std::int32_t burst = 0;
  if (fields.read("burst", burst) && burst != 0) out.burst = burst;
  if (out.burst < 0)
    source.report(fields.place_of("burst"), fmt::format("Invalid value: {}: must be non-negative", out.burst));
}

void read_scalars(Fields& root, const Source& source, Configuration& out) {
  const auto invalid = [&](std::string_view key, std::int64_t value, std::string_view text) {
    source.report(root.place_of(key), fmt::format("Invalid value: {}: {}", value, text));
  };
  if (root.read("parallelism", out.parallelism) && out.parallelism <= 0)
    invalid("parallelism", out.parallelism, "should be an integer value greater than zero");
  std::int32_t percentage = 0;
  if (root.read("percentageOfNodesToScore", percentage)) {
    out.percentage_of_nodes_to_score = percentage;
    if (percentage < 0 || percentage > 100)
      invalid("percentageOfNodesToScore", percentage, "not in valid range [0-100]");
  }
  if (root.read("podInitialBackoffSeconds", out.pod_initial_backoff_seconds) && out.pod_initial_backoff_seconds <= 0)
    invalid("podInitialBackoffSeconds", out.pod_initial_backoff_seconds, "must be greater than 0");
  root.read("podMaxBackoffSeconds", out.pod_max_backoff_seconds);
  if (out.pod_max_backoff_seconds < out.pod_initial_backoff_seconds)
    invalid(
        "podMaxBackoffSeconds", out.pod_max_backoff_seconds,
        fmt::format("must be greater than or equal to PodInitialBackoffSeconds ({})", out.pod_initial_backoff_seconds));
  root.read("enableProfiling", out.enable_profiling);
  // The default of the second follows the first.
  out.enable_contention_profiling = out.enable_profiling;
  root.read("enableContentionProfiling", out.enable_contention_profiling);
  root.read("delayCacheUntilActive", out.delay_cache_until_active);
}

enum class DocumentKind : std::uint8_t { scheduler, berth, other };

DocumentKind kind_of(const text::Document& document, const Source& source) {
  const text::Value& root = document.root();
  if (!root.is_mapping()) {
    source.report({root.position(), {}},
                  fmt::format("is {}, but a configuration must be an object", kind_name(root.kind())));
    return DocumentKind::other;
  }
  const text::Value* api_value = root.find("apiVersion");
  const text::Value* kind_value = root.find("kind");
  const std::string_view api = api_value != nullptr ? api_value->text() : std::string_view{};
  const std::string_view kind = kind_value != nullptr ? kind_value->text() : std::string_view{};
  if (api == k_scheduler_api && kind == k_scheduler_kind) return DocumentKind::scheduler;
  if (is_old(document.root())) return DocumentKind::scheduler;
  if (api == k_berth_api && kind == k_berth_kind) return DocumentKind::berth;

  const std::string advice =
      fmt::format("berth reads {} of {} and {} of {}", k_scheduler_kind, k_scheduler_api, k_berth_kind, k_berth_api);
  if (api.empty()) source.report({root.position(), "apiVersion"}, "Required value", advice);
  if (kind.empty()) source.report({root.position(), "kind"}, "Required value", advice);
  if (api.empty() || kind.empty()) return DocumentKind::other;
  if (kind == k_scheduler_kind || kind == k_berth_kind)
    source.report({api_value->position(), "apiVersion"},
                  fmt::format("no kind \"{}\" is registered for version \"{}\"", kind, api), advice);
  else
    source.report({kind_value->position(), "kind"},
                  fmt::format("couldn't decode as {}, got {}, Kind={}", k_scheduler_kind, api, kind), advice);
  return DocumentKind::other;
}

const RawPluginSets& default_plugin_sets() {
  static const RawPluginSets sets = [] {
    text::Diagnostics diagnostics;
    const Source source{"conf/profiles/default.yaml", diagnostics};
    const std::vector<text::Document> documents =
        text::parse_yaml(embedded::default_profile(), source.file, diagnostics);
    BERTH_CHECK(documents.size() == 1, "the embedded default profile is not one document: {}", diagnostics.render());
    std::vector<RawProfile> profiles;
    {
      Fields root(source, documents.front().root(), "");
      root.any("apiVersion");
      root.any("kind");
      profiles = read_profiles(root, source);
    }
    BERTH_CHECK(diagnostics.empty() && profiles.size() == 1, "embedded default profile: {}", diagnostics.render());
    for (RawPluginSet& set : profiles.front().plugins)
      for (RawPlugin& plugin : set.enabled) plugin.from_defaults = true;
    return std::move(profiles.front().plugins);
  }();
  return sets;
}

void merge_defaults(RawProfile& profile) {
  profile.plugins = merge_over_defaults(default_plugin_sets(), profile.plugins);
  for (std::size_t set = 0; set < k_plugin_set_count; ++set)
    for (RawPlugin& plugin : profile.plugins[set].enabled)
      if (plugin.from_defaults)
        plugin.place = {profile.place.position, fmt::format("{}.plugins.{}", profile.place.path, plugin_set_name(set))};
}

std::vector<RawProfile> default_profiles() {
  RawProfile profile;
  profile.scheduler_name = k_default_scheduler_name;
  profile.place.path = "profiles[0]";
  return {std::move(profile)};
}

/// "enabled: [NodeName]" as "enabled: [{name: NodeName}]".
Tree with_names(const text::Value& value) {
  Tree tree = Tree::copy_of(value);
  for (TreeMember& set : tree.members)
    for (TreeMember& list : set.value.members)
      for (Tree& entry : list.value.elements)
        if (entry.kind == text::Kind::string) {
          Tree named = Tree::mapping(entry.position);
          named.put("name", std::move(entry));
          entry = std::move(named);
        }
  return tree;
}

/// Plugins belong to a profile. The answer is the whole of what should have been written.
void refuse_plugins_at_the_top(Fields& root, const Source& source) {
  const text::Value* plugins = root.any("plugins");
  if (plugins == nullptr) return;
  Tree corrected = Tree::mapping({});
  Tree profile = Tree::mapping({});
  profile.put("plugins", with_names(*plugins));
  corrected.sequence_at("profiles").elements.push_back(std::move(profile));
  source.report(root.place_of("plugins"), "unknown field \"plugins\": plugins belong to a profile",
                "write\n" + to_yaml(corrected));
}

void read_document(const text::Document& document, DocumentKind kind, const Source& source, RawConfiguration& raw) {
  Fields root(source, document.root(), "");
  root.any("apiVersion");
  root.any("kind");
  if (kind == DocumentKind::berth) {
    read_berth_configuration(root, source, raw.values.plugins);
    read_explain_after(root, source, raw.values.explain_after_ns);
    read_legacy_mode(root, source, raw.values.legacy);
    return;
  }
  refuse_plugins_at_the_top(root, source);
  read_scalars(root, source, raw.values);
  read_leader_election(root, source, raw.values.leader_election);
  read_client_connection(root, source, raw.values.client_connection);
  if (std::vector<RawProfile> profiles = read_profiles(root, source); !profiles.empty())
    raw.profiles = std::move(profiles);
  raw.values.extenders = read_extenders(root, source);
}

/// Reads the document of a scheduler; an older one as what it means today.
void read_scheduler_document(const text::Document& document, const Source& source, TranslateOptions options,
                             RawConfiguration& raw) {
  if (!is_old(document.root())) return read_document(document, DocumentKind::scheduler, source, raw);
  const bool balances_volumes = options.mode.balance_volumes || raw.values.legacy.balance_volumes;
  options.mode = raw.values.legacy;
  options.mode.balance_volumes = balances_volumes;
  Translation translation = translate(document.root(), source, options, raw.notes);
  raw.values.legacy = translation.mode;
  raw.documents.push_back(to_document(translation.configuration, raw.file));
  raw.converted = std::move(translation.configuration);
  read_document(raw.documents.back(), DocumentKind::scheduler, source, raw);
}

/// What a BerthConfiguration says for an old document that is not there, or that does not go into it.
void note_unused_mode(const text::Document& berth, const Source& source, RawConfiguration& raw) {
  const text::Value* said = berth.root().find_path("legacy.balanceAttachedNodeVolumes");
  if (said == nullptr || !raw.values.legacy.balance_volumes) return;
  raw.notes.add(source.file, said->position(), "legacy.balanceAttachedNodeVolumes",
                "has no effect: the priorities of a Policy or of an algorithm provider listen to it",
                "in a profile, enable the plugin of plugins/legacy that does it");
}

/// A BerthConfiguration first: it says how an old document in the same file is meant.
void read_documents(const Source& source, const TranslateOptions& options, RawConfiguration& raw) {
  std::array<const text::Document*, 2> found{};
  std::vector<text::Document> documents = std::exchange(raw.documents, {});
  for (const text::Document& document : documents) {
    const DocumentKind kind = kind_of(document, source);
    text::report_duplicates(document, document.root(), source.diagnostics);
    if (kind == DocumentKind::other) continue;
    if (found[static_cast<std::size_t>(kind)] != nullptr) {
      source.report({document.root().position(), {}},
                    fmt::format("a second {}", kind == DocumentKind::berth ? k_berth_kind : k_scheduler_kind),
                    "a file holds at most one of each kind");
      continue;
    }
    found[static_cast<std::size_t>(kind)] = &document;
  }
  if (const text::Document* berth = found[static_cast<std::size_t>(DocumentKind::berth)])
    read_document(*berth, DocumentKind::berth, source, raw);
  if (const text::Document* scheduler = found[static_cast<std::size_t>(DocumentKind::scheduler)])
    read_scheduler_document(*scheduler, source, options, raw);
  if (const text::Document* berth = found[static_cast<std::size_t>(DocumentKind::berth)])
    note_unused_mode(*berth, source, raw);
  for (text::Document& document : documents) raw.documents.push_back(std::move(document));  // plugin args point there
}

}  // namespace

std::vector<NeededPlugin> RawConfiguration::needed_plugins(const AbsentPlugins& absent) const {
  text::Diagnostics unused;
  const Source source{file, unused};
  std::map<std::string, NeededPlugin> by_name;
  for (const RawProfile& profile : profiles)
    for (const RawPluginSet& set : profile.plugins)
      for (const RawPlugin& plugin : set.enabled)
        by_name.try_emplace(plugin.name,
                            NeededPlugin{plugin.name, plugin.from_defaults ? "" : source.where(plugin.place),
                                         absent.find(plugin.name) != nullptr});
  for (const RawProfile& profile : profiles)
    for (const RawPluginConfig& config : profile.plugin_config)
      by_name.try_emplace(config.name, NeededPlugin{config.name, source.where(config.place), true});
  std::vector<NeededPlugin> needed;
  for (auto& [name, plugin] : by_name) needed.push_back(std::move(plugin));
  return needed;
}

RawConfiguration load(std::string_view text, std::string file, text::Diagnostics& diagnostics,
                      const TranslateOptions& options) {
  RawConfiguration raw;
  raw.file = std::move(file);
  raw.profiles = default_profiles();
  const Source source{raw.file, diagnostics};
  const std::size_t problems_before = diagnostics.size();
  raw.documents = text::parse(text, raw.file, diagnostics);
  // Half a document would only add errors about what is missing in it.
  if (diagnostics.size() == problems_before) {
    if (raw.documents.empty())
      source.report({{1, 1}, {}}, "holds no configuration", "leave --config out for the defaults");
    read_documents(source, options, raw);
    if (!options.flags_over_election) check_leader_election(raw, raw.values.leader_election, {}, diagnostics);
  }
  for (RawProfile& profile : raw.profiles) merge_defaults(profile);
  return raw;
}

RawConfiguration load_file(const std::string& path, text::Diagnostics& diagnostics, TranslateOptions options) {
  if (!options.read_policy) options.read_policy = read_policy_file;
  const Result<std::string> text = read_source_file(path);
  if (text.ok()) return load(*text, path, diagnostics, options);
  diagnostics.add(path, {}, "", text.error().message,
                  text.error().code == ErrorCode::unreadable ? "is it there, a file, and readable?" : "");
  RawConfiguration raw = load_defaults();
  raw.file = path;
  return raw;
}

RawConfiguration load_defaults() {
  RawConfiguration raw;
  raw.profiles = default_profiles();
  for (RawProfile& profile : raw.profiles) merge_defaults(profile);
  return raw;
}

}  // namespace berth::config
