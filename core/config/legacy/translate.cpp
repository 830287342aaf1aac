// SPDX-License-Identifier: Apache-2.0
#include "config/legacy/translate.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "config/legacy/algorithm_source.hpp"
#include "config/legacy/legacy_data.hpp"
#include "config/legacy/policy.hpp"
#include "config/plugin_lists.hpp"
#include "config/read/load_parts.hpp"
#include "config/read/names.hpp"

namespace berth::config {
namespace {

const text::Value* find_version(std::string_view api_version) {
  const std::string_view version = scheduler_version(api_version);
  return version.empty() ? nullptr : element_named(legacy_versions().find("versions"), "version", version);
}

/// A set of `points` in conf/legacy: its name then and today.
std::pair<std::string_view, std::string_view> names_of_point(const text::Value& point) {
  if (!point.is_mapping()) return {point.text(), point.text()};
  return {point.members().front().key, point.members().front().value.text()};
}

constexpr std::int32_t k_max_node_score_today = 100;

/// The plugins of a profile before its own word is heard.
struct Base {
  RawPluginSets sets;
  Tree plugin_config = Tree::sequence({});
  std::string what;  // for the comment; empty: today's default profile, of which nothing is written
  std::vector<std::string> comments = {};
};

/// The three numbers and switches that stand next to an algorithmSource.
struct TopArgs {
  std::optional<Tree> bind_timeout_seconds, hard_pod_affinity_weight;
  bool preempts = true;
};

std::int64_t number_of(const std::optional<Tree>& tree) {
  return tree ? std::strtoll(tree->text.c_str(), nullptr, 10) : 0;
}

bool is_enabled(const RawPluginSets& sets, std::string_view name) {
  return std::any_of(sets.begin(), sets.end(), [&](const RawPluginSet& set) {
    return std::any_of(set.enabled.begin(), set.enabled.end(), [&](const RawPlugin& p) { return p.name == name; });
  });
}

void remove_plugin(RawPluginSets& sets, std::string_view name) {
  for (RawPluginSet& set : sets)
    std::erase_if(set.enabled, [&](const RawPlugin& plugin) { return plugin.name == name; });
}

/// One document of an older version, field by field.
class VersionTranslation {
 public:
  VersionTranslation(const text::Value& document, const text::Value& version, const Source& source,
                     const TranslateOptions& options, text::Diagnostics& notes)
      : document_(document),
        version_(version),
        name_(version.find("version")->text()),
        source_(source),
        options_(options),
        notes_(notes) {}

  Translation run() {
    Translation out{Tree::copy_of(document_), options_.mode};
    Tree& root = out.configuration;
    Tree* api = root.find("apiVersion");
    old_api_ = std::exchange(api->text, std::string(k_scheduler_api));
    api->comments.emplace_back("was " + old_api_);
    refuse_later_fields(document_, root, "withoutFields", "");
    drop_fields(root);
    translate_leader_election(root);
    if (is_set("oldExtenders"))
      if (std::optional<Tree> extenders = root.take("extenders"))
        root.put("extenders", translate_extenders(*extenders));
    if (is_set("algorithm")) read_top(root);
    if (is_set("oneProfile")) move_profile_down(root);
    translate_profiles(root);
    out.mode.check_all_filters = out.mode.check_all_filters || (policy_ && policy_->checks_all_filters);
    out.mode.balance_volumes =
        out.mode.balance_volumes && !provider_balances_volumes_ && !(policy_ && policy_->balances_volumes);
    if (policy_ && policy_->extenders) root.put("extenders", *policy_->extenders);
    return out;
  }

 private:
  void note(Tree& at, const Place& place, std::string sentence) {
    at.comments.emplace_back(place.path + ": " + sentence);
    notes_.add(source_.file, place.position, place.path, std::move(sentence));
  }

  bool is_set(std::string_view key) const {
    const text::Value* value = version_.find(key);
    return value != nullptr && value->boolean();
  }

  void refuse_later_fields(const text::Value& from, Tree& to, std::string_view key, const std::string& path);
  void drop_fields(Tree& root);
  void translate_leader_election(Tree& root);
  void move_lock_name(Tree& election, std::string_view old_key, std::string_view key);
  void read_top(Tree& root);
  std::optional<Tree> take_number(Tree& root, std::string_view key, std::int64_t least, std::int64_t most);
  void move_profile_down(Tree& root);
  Base base(const Place& place);
  Base version_defaults(const Place& place);
  void translate_profiles(Tree& root);
  void translate_profile(const text::Value& from, Tree& to, const std::string& path);
  void rename(std::vector<RawPlugin>& plugins) const;
  RawPluginSets read_sets(const text::Value* from, const std::string& path);
  void note_default_lock(Tree& root, Tree* election);
  void check_names(const RawPluginSets& sets, const Tree* plugin_config, const std::string& prefix);
  void translate_plugin_config(Tree& plugin_config);
  void refuse_plugin(std::string_view name, const Place& place);

  const text::Value& document_;
  const text::Value& version_;  // its row of conf/legacy/versions.yaml
  const std::string_view name_;
  const Source& source_;
  const TranslateOptions& options_;
  text::Diagnostics& notes_;
  std::string old_api_;
  AlgorithmSource algorithm_;
  std::optional<PolicyProfile> policy_;  // of the algorithmSource
  bool provider_balances_volumes_ = false;
  TopArgs top_;
  std::vector<std::string> lost_;  // of the profile: comments
};

void VersionTranslation::refuse_later_fields(const text::Value& from, Tree& to, std::string_view key,
                                             const std::string& path) {
  for (const text::Member& member : from.members()) {
    if (!lists(version_.find(key), member.key)) continue;
    source_.report({member.key_position, path}, "unknown field " + quoted(member.key),
                   fmt::format("{} does not have it; write {}", name_, k_scheduler_api));
    to.take(member.key);
  }
}

void VersionTranslation::drop_fields(Tree& root) {
  const text::Value* dropped = version_.find("dropped");
  if (dropped == nullptr) return;
  for (const text::Member& member : dropped->members())
    if (const std::optional<Tree> value = root.take(member.key))
      note(*root.find("apiVersion"), {value->position, std::string(member.key)},
           fmt::format("has no effect: {}", member.value.text()));
}

RawPluginSets VersionTranslation::read_sets(const text::Value* from, const std::string& path) {
  RawPluginSets sets;
  if (from == nullptr || from->is_null()) return sets;
  Fields fields(source_, *from, path);
  for (const text::Value& point : version_.find("points")->elements()) {
    const auto [then, today] = names_of_point(point);
    RawPluginSet read = read_plugin_set(fields, then, source_);
    rename(read.enabled);
    rename(read.disabled);
    if (today.empty()) {
      for (const RawPlugin& plugin : read.enabled)
        lost_.push_back(fmt::format("without {} at {}: its point today implies it", plugin.name, then));
      continue;
    }
    if (then != today)
      for (std::vector<RawPlugin>* const list : {&read.enabled, &read.disabled})
        for (RawPlugin& plugin : *list) plugin.comment = fmt::format("was at {}", then);
    RawPluginSet& set = sets[plugin_set_of(today)];
    for (RawPlugin& plugin : read.enabled) {
      const auto again = std::find_if(set.enabled.begin(), set.enabled.end(),
                                      [&](const RawPlugin& other) { return other.name == plugin.name; });
      if (then == today || again == set.enabled.end())
        set.enabled.push_back(std::move(plugin));
      else
        again->comment += (again->comment.empty() ? "" : "; ") + plugin.comment + " too";
    }
    for (RawPlugin& plugin : read.disabled) set.disabled.push_back(std::move(plugin));
  }
  return sets;
}

/// Plugins that have another name today.
void VersionTranslation::rename(std::vector<RawPlugin>& plugins) const {
  const text::Value* renamed = version_.find("renamed");
  if (renamed == nullptr) return;
  for (RawPlugin& plugin : plugins)
    if (const text::Value* today = renamed->find(plugin.name)) {
      plugin.comment = "was " + plugin.name;
      plugin.name = today->text();
    }
}

/// Locks other than leases are gone. Where the old kind took a lease as well, the lease alone does; where it did not, a
/// scheduler of then and berth would both lead.
void VersionTranslation::translate_leader_election(Tree& root) {
  Tree* election = root.find("leaderElection");
  note_default_lock(root, election);
  if (election == nullptr || !election->is_mapping()) return;
  if (is_set("lockObject")) {
    move_lock_name(*election, "lockObjectNamespace", "resourceNamespace");
    move_lock_name(*election, "lockObjectName", "resourceName");
  }
  Tree* lock = election->find("resourceLock");
  if (lock == nullptr) return;
  const Place place{lock->position, "leaderElection.resourceLock"};
  if (lock->text == "endpointsleases" || lock->text == "configmapsleases") {
    note(*lock, place, fmt::format("{} is now leases: the lease alone is the lock", lock->text));
    lock->text = "leases";
  } else if (lock->text == "endpoints" || lock->text == "configmaps") {
    source_.report(place,
                   fmt::format("Invalid value: {}: such locks are gone, and a scheduler that holds one would not "
                               "see berth's",
                               quoted(lock->text)),
                   "write leases once no such scheduler runs any more");
    lock->text = "leases";
  }
}

/// Who named no lock had the default one of that time.
void VersionTranslation::note_default_lock(Tree& root, Tree* election) {
  const text::Value* lock = version_.find("defaultLock");
  if (lock == nullptr) return;
  if (election != nullptr && !election->is_mapping()) election = nullptr;
  if (election != nullptr) {
    const Tree* elects = election->find("leaderElect");
    const Tree* named = election->find("resourceLock");
    if ((named != nullptr && !named->text.empty()) || (elects != nullptr && elects->text == "false")) return;
  }
  Tree& at = election != nullptr ? *election : *root.find("apiVersion");
  note(at, {at.position, "leaderElection.resourceLock"},
       fmt::format("is left out, which was {}; berth's is the lease alone, which a scheduler that holds another lock "
                   "alone does not see",
                   lock->text()));
}

void VersionTranslation::move_lock_name(Tree& election, std::string_view old_key, std::string_view key) {
  std::optional<Tree> old_name = election.take(old_key);
  if (!old_name) return;
  const Place place{old_name->position, fmt::format("leaderElection.{}", old_key)};
  const Tree* name = election.find(key);
  if (name != nullptr && !name->text.empty() && name->text != old_name->text) {
    source_.report(place, fmt::format("Invalid value: {}: {} says {}", quoted(old_name->text), key, quoted(name->text)),
                   fmt::format("leave {} out", old_key));
    return;
  }
  Tree& renamed = election.put(key, std::move(*old_name));
  renamed.comments.emplace_back(fmt::format("was {}", old_key));
}

/// A number that becomes an arg of a plugin.
std::optional<Tree> VersionTranslation::take_number(Tree& root, std::string_view key, std::int64_t least,
                                                    std::int64_t most) {
  std::optional<Tree> value = root.take(key);
  if (!value) return std::nullopt;
  const std::optional<std::int64_t> number = document_.find(key)->integer();
  value->comments.push_back(fmt::format("was {}", key));
  if (number && *number >= least && *number <= most) return value;
  source_.report({value->position, std::string(key)},
                 number ? fmt::format("Invalid value: {}: not in valid range [{}-{}]", *number, least, most)
                        : fmt::format("is {}, but must be an integer", kind_name(document_.find(key)->kind())));
  return std::nullopt;
}

void VersionTranslation::read_top(Tree& root) {
  constexpr std::int64_t k_timeout_max = std::numeric_limits<std::int32_t>::max();
  top_.bind_timeout_seconds = take_number(root, "bindTimeoutSeconds", 0, k_timeout_max);
  if (is_set("hardWeight")) top_.hard_pod_affinity_weight = take_number(root, "hardPodAffinitySymmetricWeight", 0, 100);
  if (const std::optional<Tree> value = root.take("disablePreemption")) {
    if (value->kind != text::Kind::boolean)
      source_.report({value->position, "disablePreemption"}, "must be true or false");
    top_.preempts = !value->is_true();
  }
  if (root.take("algorithmSource")) {
    algorithm_ = read_algorithm_source(*document_.find("algorithmSource"), source_);
    root.find("apiVersion")
        ->comments.emplace_back("algorithmSource is gone: its plugins are written out in the profile");
  }
  if (!algorithm_.policy) return;
  if (const text::Value* kubeconfig = document_.find_path("clientConnection.kubeconfig"))
    algorithm_.policy->kubeconfig = kubeconfig->text();
  PolicyContext context{number_of(top_.hard_pod_affinity_weight), {}, options_.mode};
  if (top_.bind_timeout_seconds) context.bind_timeout_seconds = number_of(top_.bind_timeout_seconds);
  policy_ = fetch_policy(algorithm_, source_, options_.read_policy, context, notes_);
}

void VersionTranslation::move_profile_down(Tree& root) {
  Tree profile = Tree::mapping(root.position);
  std::optional<Tree> name = root.take("schedulerName");
  if (name) name->comments.emplace_back("stood at the top");
  if (!name || name->text.empty()) name = Tree::string(k_default_scheduler_name, root.position);
  profile.put("schedulerName", std::move(*name));
  for (const std::string_view key : {"plugins", "pluginConfig"})
    if (std::optional<Tree> value = root.take(key)) {
      if (key == "pluginConfig") value->comments.emplace_back("stood at the top");
      profile.put(key, std::move(*value));
    }
  Tree profiles = Tree::sequence(root.position);
  profiles.elements.push_back(std::move(profile));
  root.put("profiles", std::move(profiles));
}

Base VersionTranslation::version_defaults(const Place& place) {
  Base out;
  out.what = fmt::format("the default plugins of {}, where nothing else was said", name_);
  const text::Value* providers = version_.find("providers");
  const text::Value* provider = providers != nullptr ? providers->find(algorithm_.provider) : nullptr;
  for (const text::Member& member : version_.find("defaults")->members()) {
    std::vector<RawPlugin>& enabled = out.sets[plugin_set_of(member.key)].enabled;
    enabled = plugins_of_data(member.value, place);
    for (RawPlugin& plugin : enabled)
      if (const text::Value* other = provider != nullptr ? provider->find(plugin.name) : nullptr)
        plugin.name = other->text();
  }
  if (const text::Value* args = version_.find("defaultArgs"))
    for (const text::Member& member : args->members())
      fill(args_in(out.plugin_config, member.key, place.position), member.value);
  const auto add_arg = [&](std::string_view key, const std::optional<Tree>& value) {
    if (!value) return;
    const text::Value& arg = *legacy_versions().find("topArgs")->find(key);
    args_in(out.plugin_config, arg.find("plugin")->text(), value->position).put(arg.find("arg")->text(), *value);
  };
  add_arg("bindTimeoutSeconds", top_.bind_timeout_seconds);
  return out;
}

/// The plugins of the algorithmSource, of the version, or none.
Base VersionTranslation::base(const Place& place) {
  if (algorithm_.policy) {
    if (!policy_) return {};  // it could not be read, which is said already
    return {policy_->sets, policy_->plugin_config, "what the Policy comes to", policy_->comments};
  }
  if (version_.find("defaults") != nullptr) {
    if (!algorithm_.provider.empty()) check_provider(algorithm_.provider, algorithm_.place, source_);
    return version_defaults(place);
  }
  if (!is_set("oneProfile")) return {};
  PolicyContext context{number_of(top_.hard_pod_affinity_weight), {}, options_.mode};
  if (top_.bind_timeout_seconds) context.bind_timeout_seconds = number_of(top_.bind_timeout_seconds);
  const std::string provider = algorithm_.provider.empty() ? std::string(k_default_provider) : algorithm_.provider;
  PolicyProfile profile =
      read_provider(provider, algorithm_.provider.empty() ? place : algorithm_.place, source_, context);
  provider_balances_volumes_ = profile.balances_volumes;
  return {std::move(profile.sets), std::move(profile.plugin_config),
          fmt::format("the plugins of provider {}, and what else was said", provider), std::move(profile.comments)};
}

void VersionTranslation::refuse_plugin(std::string_view name, const Place& place) {
  const RemovedPlugin* removed = AbsentPlugins::embedded().find_removed(name);
  source_.report(place, fmt::format("Invalid value: {}: {} has no such plugin", quoted(name), name_),
                 removed != nullptr ? "use " + removed->instead : "");
}

void VersionTranslation::check_names(const RawPluginSets& sets, const Tree* plugin_config, const std::string& prefix) {
  const text::Value* unknown = version_.find("unknown");
  for (const RawPluginSet& set : sets)
    for (const RawPlugin& plugin : set.enabled)
      if (lists(unknown, plugin.name)) refuse_plugin(plugin.name, plugin.place);
  if (plugin_config == nullptr) return;
  for (std::size_t i = 0; i < plugin_config->elements.size(); ++i)
    if (const Tree* name = plugin_config->elements[i].find("name"); name != nullptr && lists(unknown, name->text))
      refuse_plugin(name->text, {name->position, fmt::format("{}pluginConfig[{}].name", prefix, i)});
}

void VersionTranslation::translate_plugin_config(Tree& plugin_config) {
  for (Tree& entry : plugin_config.elements) {
    Tree* name = entry.find("name");
    const text::Value* renamed = version_.find("renamed");
    if (name != nullptr && renamed != nullptr)
      if (const text::Value* today = renamed->find(name->text)) {
        name->comments.push_back("was " + name->text);
        name->text = today->text();
      }
    Tree* args = entry.find("args");
    Tree* api = args != nullptr ? args->find("apiVersion") : nullptr;
    if (api != nullptr && api->text == old_api_) api->text = k_scheduler_api;
  }
}

void VersionTranslation::translate_profile(const text::Value& from, Tree& to, const std::string& path) {
  refuse_later_fields(from, to, "withoutProfileFields", path);
  const text::Value* plugins = from.find("plugins");
  const bool has_plugins = plugins != nullptr && !plugins->is_null();
  const std::string prefix = path.empty() ? "" : path + ".";
  const Place place{has_plugins ? plugins->position() : to.position, prefix + "plugins"};
  if (algorithm_.policy && (has_plugins || to.find("pluginConfig") != nullptr))
    source_.report(place, "plugins and pluginConfig cannot be combined with a Policy", "say it all in one of them");
  const RawPluginSets user = read_sets(plugins, place.path);
  check_names(user, to.find("pluginConfig"), prefix);

  Base base = this->base(place);
  const bool has_base = !base.what.empty();
  RawPluginSets sets = has_base ? merge_point_by_point(base.sets, user, is_set("inPlace")) : user;
  if (!top_.preempts) remove_plugin(sets, legacy_versions().find("preemption")->text());
  if (Tree* config = to.find("pluginConfig")) translate_plugin_config(*config);
  for (const Tree& entry : base.plugin_config.elements)
    if (const std::string& name = entry.find("name")->text; is_enabled(sets, name))
      fill(args_in(to.sequence_at("pluginConfig"), name, entry.position), *entry.find("args"));
  if (options_.modern) modernise(sets, to.sequence_at("pluginConfig"), source_, notes_);
  if (has_base) add_companions(sets, base.sets);
  if (!has_base && !has_plugins) return;
  Tree& written = to.put("plugins", tree_of(sets, has_base, place.position));
  if (has_base) written.comments.emplace_back(base.what);
  for (std::vector<std::string>* const sentences : {&base.comments, &lost_})
    for (std::string& sentence : *sentences) written.comments.push_back(std::move(sentence));
  lost_.clear();
  if (!top_.preempts) written.comments.emplace_back("without preemption, as disablePreemption said");
}

void VersionTranslation::translate_profiles(Tree& root) {
  if (is_set("oneProfile")) return translate_profile(document_, root.find("profiles")->elements.front(), "");
  const text::Value* list = document_.find("profiles");
  if (list != nullptr && list->is_sequence() && !list->elements().empty()) {
    Tree* profiles = root.find("profiles");
    for (std::size_t i = 0; i < list->elements().size(); ++i)
      if (list->elements()[i].is_mapping())
        translate_profile(list->elements()[i], profiles->elements[i], fmt::format("profiles[{}]", i));
    return;
  }
  // No profile is one with the defaults of that time. Something else than a list is refused by the reader of v1.
  if (list != nullptr && !list->is_null() && !list->is_sequence()) return;
  if (version_.find("defaults") == nullptr) return;
  Tree profile = Tree::mapping(root.position);
  profile.put("schedulerName", Tree::string(k_default_scheduler_name, root.position));
  translate_profile(text::Value{}, profile, "profiles[0]");
  Tree profiles = Tree::sequence(root.position);
  profiles.elements.push_back(std::move(profile));
  root.put("profiles", std::move(profiles));
}

/// A Policy that is a file by itself: nothing else was said.
Translation translate_policy(const text::Value& document, const Source& source, const TranslateOptions& options,
                             text::Diagnostics& notes) {
  PolicyProfile policy = read_policy(document, source, {0, std::nullopt, options.mode}, notes);
  if (options.modern) {
    modernise(policy.sets, policy.plugin_config, source, notes);
    add_companions(policy.sets, {});
  }
  const text::Position at = document.position();
  Translation out{Tree::mapping(at), options.mode};
  out.configuration.put("apiVersion", Tree::string(k_scheduler_api, at)).comments.emplace_back("was a Policy");
  out.configuration.put("kind", Tree::string(k_scheduler_kind, at));
  Tree profile = Tree::mapping(at);
  profile.put("schedulerName", Tree::string(k_default_scheduler_name, at));
  Tree& plugins = profile.put("plugins", tree_of(policy.sets, true, at));
  plugins.comments.emplace_back("what the Policy comes to");
  for (std::string& sentence : policy.comments) plugins.comments.push_back(std::move(sentence));
  if (!policy.plugin_config.elements.empty()) profile.put("pluginConfig", std::move(policy.plugin_config));
  out.configuration.sequence_at("profiles").elements.push_back(std::move(profile));
  if (policy.extenders) out.configuration.put("extenders", std::move(*policy.extenders));
  out.mode.check_all_filters = out.mode.check_all_filters || policy.checks_all_filters;
  out.mode.balance_volumes = out.mode.balance_volumes && !policy.balances_volumes;
  return out;
}

}  // namespace

std::string_view scheduler_version(std::string_view api_version) noexcept {
  const std::string_view group = k_scheduler_api.substr(0, k_scheduler_api.rfind('/') + 1);
  return api_version.starts_with(group) ? api_version.substr(group.size()) : std::string_view{};
}

bool is_old(const text::Value& document) {
  if (is_policy(document)) return true;
  const text::Value* kind = document.find("kind");
  const text::Value* api = document.find("apiVersion");
  return kind != nullptr && kind->text() == k_scheduler_kind && api != nullptr && find_version(api->text()) != nullptr;
}

Translation translate(const text::Value& document, const Source& source, const TranslateOptions& given,
                      text::Diagnostics& notes) {
  TranslateOptions options = given;
  if (options.modern) options.mode.max_node_score = k_max_node_score_today;  // all that the plugins of today can do
  if (is_policy(document)) return translate_policy(document, source, options, notes);
  const text::Value& version = *find_version(document.find("apiVersion")->text());
  return VersionTranslation(document, version, source, options, notes).run();
}

}  // namespace berth::config
