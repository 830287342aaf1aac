// SPDX-License-Identifier: Apache-2.0
#include "framework/framework.hpp"

#include <algorithm>
#include <set>

#include "framework/points/group.hpp"
#include "framework/services/service_tables.hpp"

namespace berth::framework {
namespace {

using config::Point;

/// One profile under construction: an instance per name, shared by all points.
class ProfileBuilder {
 public:
  ProfileBuilder(const config::Profile& profile, const std::vector<PluginSource>& sources, Host& host,
                 ProfileRuntime& out, Refusals& refusals)
      : profile_(profile), sources_(sources), host_(host), out_(out), refusals_(refusals) {}

  std::vector<PluginInstance*> list(Point point) {
    std::vector<PluginInstance*> plugins;
    for (const config::EnabledPlugin& enabled : profile_.at(point))
      if (PluginInstance* plugin = enabled.absent ? nullptr : get(enabled.name)) plugins.push_back(plugin);
    return plugins;
  }

  PluginInstance* get(const std::string& name) {
    for (const auto& made : out_.instances)
      if (made->name() == name) return made.get();
    if (!refused_.insert(name).second) return nullptr;  // said once
    const auto source = std::find_if(sources_.begin(), sources_.end(),
                                     [&](const PluginSource& s) { return s.descriptor->name == name; });
    if (source == sources_.end()) {
      refusals_.push_back({name, profile_.scheduler_name, "is enabled but not loaded"});
      return nullptr;
    }
    const auto args = profile_.args_json.find(name);
    auto made = PluginInstance::create(*source, args == profile_.args_json.end() ? "" : args->second, host_,
                                       out_.instances.size(), profile_.scheduler_name);
    if (!made) {
      refusals_.push_back({name, profile_.scheduler_name, made.error().message});
      return nullptr;
    }
    refused_.erase(name);
    out_.instances.push_back(std::move(made).value());
    return out_.instances.back().get();
  }

 private:
  const config::Profile& profile_;
  const std::vector<PluginSource>& sources_;
  Host& host_;
  ProfileRuntime& out_;
  Refusals& refusals_;
  std::set<std::string> refused_;
};

bool enabled_at(const config::Profile& profile, Point point, std::string_view name) {
  const auto& list = profile.at(point);
  return std::any_of(list.begin(), list.end(), [&](const config::EnabledPlugin& e) { return e.name == name; });
}

std::vector<AbsentRuntime> absent_plugins(const config::Profile& profile, const config::AbsentPlugins& absent,
                                          PluginNames& names) {
  std::vector<AbsentRuntime> found;
  for (const config::AbsentPlugin& plugin : absent.all()) {
    bool enabled = false;
    for (const auto& list : profile.points)
      for (const config::EnabledPlugin& e : list) enabled |= e.absent && e.name == plugin.name;
    if (!enabled) continue;
    const bool pre_scores =
        (plugin.points & config::bit_of(Point::pre_score)) != 0 && enabled_at(profile, Point::pre_score, plugin.name);
    const bool scores = enabled_at(profile, Point::score, plugin.name);
    found.push_back({plugin.name, names.index_of(plugin.name), plugin.reason, scores, scores && !pre_scores});
  }
  return found;
}

PluginInstance* group_policy(const ProfileRuntime& profile, Refusals& refusals) {
  PluginInstance* found = nullptr;
  for (const auto& plugin : profile.instances) {
    if (plugin->group == nullptr) continue;
    if (found != nullptr)
      refusals.push_back({plugin->name(), profile.scheduler_name,
                          fmt::format("says which pods belong together, and so does {}: a profile has one such plugin",
                                      found->name())});
    else
      found = plugin.get();
  }
  return found;
}

/// Extension points whose runs are timed as a whole.
constexpr std::array k_runs = {observe::Point::pre_enqueue, observe::Point::pre_filter,     observe::Point::filter,
                               observe::Point::post_filter, observe::Point::pre_score,      observe::Point::score,
                               observe::Point::reserve,     observe::Point::unreserve,      observe::Point::permit,
                               observe::Point::pre_bind,    observe::Point::pre_bind_check, observe::Point::bind,
                               observe::Point::post_bind};

CallsAfterSearch calls_after_search(const ProfileRuntime& profile) {
  CallsAfterSearch out;
  out.calls.assign(profile.instances.size(), 0);
  for (const auto* list : {&profile.reserve, &profile.permit, &profile.pre_bind, &profile.bind, &profile.post_bind})
    for (const PluginInstance* plugin : *list) out.calls[plugin->ordinal()] = 1;
  for (const auto* list : {&profile.reserve, &profile.permit})
    for (const PluginInstance* plugin : *list)
      out.reads_shapes = out.reads_shapes || plugin->declares("berth.pod_index/1");
  return out;
}

PodFields class_fields(const ProfileRuntime& profile) {
  PodFields fields;
  std::set<Symbol> labels, requests;
  const auto add = [&](const PluginInstance* plugin) {
    fields.groups |= plugin->fields().groups & ~std::uint64_t{BERTH_POD_IDENTITY};
    labels.insert(plugin->fields().labels.begin(), plugin->fields().labels.end());
    requests.insert(plugin->fields().requests.begin(), plugin->fields().requests.end());
  };
  for (const auto* list : {&profile.pre_filter, &profile.filter, &profile.pre_score})
    for (const PluginInstance* plugin : *list) add(plugin);
  for (const Scorer& scorer : profile.score) add(scorer.plugin);
  fields.labels.assign(labels.begin(), labels.end());
  fields.requests.assign(requests.begin(), requests.end());
  return fields;
}

std::unique_ptr<ProfileRuntime> make_profile(const config::Profile& profile, const config::AbsentPlugins& absent,
                                             const std::vector<PluginSource>& sources, Host& host, PluginNames& names,
                                             Refusals& refusals) {
  auto runtime = std::make_unique<ProfileRuntime>();
  ProfileBuilder builder(profile, sources, host, *runtime, refusals);
  runtime->scheduler_name = profile.scheduler_name;
  runtime->percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score;
  const auto sort = builder.list(Point::queue_sort);
  runtime->queue_sort = sort.empty() ? nullptr : sort.front();
  runtime->pre_enqueue = builder.list(Point::pre_enqueue);
  runtime->pre_filter = builder.list(Point::pre_filter);
  runtime->filter = builder.list(Point::filter);
  runtime->post_filter = builder.list(Point::post_filter);
  runtime->pre_score = builder.list(Point::pre_score);
  for (const config::EnabledPlugin& enabled : profile.at(Point::score))
    if (PluginInstance* plugin = enabled.absent ? nullptr : builder.get(enabled.name))
      runtime->score.push_back({plugin, enabled.weight == 0 ? 1 : enabled.weight});
  runtime->reserve = builder.list(Point::reserve);
  runtime->permit = builder.list(Point::permit);
  runtime->pre_bind = builder.list(Point::pre_bind);
  runtime->bind = builder.list(Point::bind);
  runtime->post_bind = builder.list(Point::post_bind);
  runtime->groups = group_policy(*runtime, refusals);
  runtime->absent = absent_plugins(profile, absent, names);
  runtime->class_fields = class_fields(*runtime);
  runtime->after_search = calls_after_search(*runtime);
  runtime->counters = &host.counters;
  for (const observe::Point point : k_runs)
    runtime->runs[static_cast<std::size_t>(point)] =
        host.counters.define_run(profile.scheduler_name, observe::point_name(point));
  return runtime;
}

}  // namespace

std::string summary(const Refusals& refusals) {
  std::string text;
  for (const Refusal& refusal : refusals)
    text += fmt::format("{}plugin {} of profile {}: {}", text.empty() ? "" : "; ", refusal.plugin,
                        refusal.scheduler_name, refusal.message);
  return text;
}

Framework::Framework(const config::Configuration& configuration, const config::AbsentPlugins& absent,
                     const std::vector<PluginSource>& sources, FrameworkParts parts, Refusals& refusals)
    : host_{parts.symbols,
            parts.snapshot,
            parts.resources,
            parts.lists,
            parts.objects,
            names_,
            reasons_,
            parts.metrics,
            parts.counters,
            parts.ports,
            std::move(parts.pod_of),
            std::move(parts.product),
            std::move(parts.services)},
      extra_rejector_(parts.extra_rejector.empty() ? model::k_no_plugin : names_.index_of(parts.extra_rejector)) {
  host_.traps_unasked_fields = parts.traps_unasked_fields;
  host_.withheld = std::move(parts.withheld);
  host_.score_max = configuration.legacy.max_node_score;
  for (const config::Profile& profile : configuration.profiles) host_.scheduler_names.push_back(profile.scheduler_name);
  for (const config::Profile& profile : configuration.profiles) {
    profiles_.push_back(make_profile(profile, absent, sources, host_, names_, refusals));
    classes_.push_back(
        std::make_unique<PodClasses>(profiles_.back()->class_fields, profiles_.size() - 1, &host_.symbols));
    pools_.push_back(std::make_unique<CyclePool>(*profiles_.back()));
  }
  for (const auto& profile : profiles_) {
    const PluginInstance* const first = profiles_.front()->groups;
    if ((first == nullptr) != (profile->groups == nullptr) ||
        (first != nullptr && first->index() != profile->groups->index()))
      refusals.push_back({(first != nullptr ? first : profile->groups)->name(), profile->scheduler_name,
                          "says which pods belong together: it has to do so in every profile"});
  }
}

Result<std::unique_ptr<Framework>, Refusals> Framework::make(const config::Configuration& configuration,
                                                             const config::AbsentPlugins& absent,
                                                             const std::vector<PluginSource>& sources,
                                                             FrameworkParts parts) {
  Refusals refusals;
  std::unique_ptr<Framework> made(new Framework(configuration, absent, sources, std::move(parts), refusals));
  if (!refusals.empty()) return refusals;
  return made;
}

std::size_t Framework::index_of(std::string_view scheduler_name) const noexcept {
  for (std::size_t i = 0; i < profiles_.size(); ++i)
    if (profiles_[i]->scheduler_name == scheduler_name) return i;
  return std::string::npos;
}

const ProfileRuntime* Framework::find(std::string_view scheduler_name) const noexcept {
  const std::size_t i = index_of(scheduler_name);
  return i == std::string::npos ? nullptr : profiles_[i].get();
}

Result<std::string> Framework::group_of(const model::Pod& pod) const {
  // The policy is the same in every profile, so it may be asked about pods of other schedulers as well.
  const PluginInstance* const policy = profiles_.front()->groups;
  return policy != nullptr ? framework::group_of(*policy, pod) : std::string();
}

bool Framework::shows(std::uint32_t group) const noexcept {
  return std::any_of(profiles_.begin(), profiles_.end(), [&](const auto& profile) {
    return std::any_of(profile->instances.begin(), profile->instances.end(),
                       [&](const auto& plugin) { return (plugin->fields().groups & group) != 0; });
  });
}

std::vector<std::string> Framework::node_annotations() const {
  std::vector<std::string> keys;
  for (const auto& profile : profiles_)
    for (const auto& plugin : profile->instances)
      for (const BoundColumn& column : plugin->columns()) {
        if (column.kind != BoundColumn::Kind::plain) continue;
        const cache::ColumnSpec& spec = host_.snapshot.spec(column.id);
        if (spec.kind == cache::ColumnKind::annotation) keys.emplace_back(host_.symbols.text(spec.key));
      }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::size_t Framework::class_bytes() const {
  std::size_t bytes = 0;
  for (const auto& classes : classes_) bytes += classes->bytes();
  return bytes;
}

std::uint64_t Framework::classify(const model::Pod& pod) {
  const std::size_t i = index_of(pod.scheduler_name);
  return i == std::string::npos ? 0 : classes_[i]->class_of(pod);
}

std::uint64_t Framework::epochs() const {
  std::uint64_t sum = 0;
  for (const auto& profile : profiles_)
    for (const auto& plugin : profile->instances) sum += plugin->epoch();
  return sum;
}

void Framework::stop_reuse(model::PluginIndex plugin) noexcept {
  for (const auto& profile : profiles_)
    for (const auto& instance : profile->instances)
      if (instance->index() == plugin) instance->stop_reuse();
}

}  // namespace berth::framework
