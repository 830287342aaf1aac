// SPDX-License-Identifier: Apache-2.0
#include "isolation/isolated_library.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "isolation/child_process.hpp"
#include "isolation/isolated_plugin.hpp"
#include "isolation/turns.hpp"

namespace berth::isolation {
namespace {

IsolatedPlugin& plugin_of(void* self) noexcept { return *static_cast<IsolatedPlugin*>(self); }

berth_code pre_filter(void* self, berth_cycle_v1* cycle, berth_prepare_out_v1* out, berth_note_v1* note) {
  return plugin_of(self).pre_filter(cycle, out, note);
}
berth_code pre_score(void* self, berth_cycle_v1* cycle, const berth_slot* nodes, std::uint32_t count,
                     berth_note_v1* note) {
  return plugin_of(self).pre_score(cycle, nodes, count, note);
}
berth_code state_clone(void* self, const void* from, void** to, berth_note_v1* note) {
  return plugin_of(self).state_clone(from, to, note);
}
void state_free(void* self, void* state) { plugin_of(self).state_free(state); }
berth_code pod_added(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                     berth_note_v1* note) {
  return plugin_of(self).pod_moved(Op::pod_added, cycle, other, node, note);
}
berth_code pod_removed(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                       berth_note_v1* note) {
  return plugin_of(self).pod_moved(Op::pod_removed, cycle, other, node, note);
}
berth_code filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, berth_filter_out_v1* out,
                  berth_note_v1* note) {
  return plugin_of(self).filter(cycle, block, out, note);
}
berth_code score(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, std::int64_t* raw,
                 berth_note_v1* note) {
  return plugin_of(self).score(cycle, block, raw, note);
}
berth_code normalize(void* self, const berth_cycle_v1* cycle, const berth_slot* nodes, std::int64_t* scores,
                     std::uint32_t count, berth_note_v1* note) {
  return plugin_of(self).normalize(cycle, nodes, scores, count, note);
}

berth_code hint(void* self, const berth_event_v1* event, const berth_pod_v1* const* pods, std::uint32_t count,
                std::uint64_t* queue, berth_note_v1* note) {
  return plugin_of(self).hint(event, pods, count, queue, note);
}

/// The tables that the description speaks of. Other points have none: the host does not ask for what it refuses to isolate.
const void* ops_for(ProxyPlugin& proxy, std::string_view id) {
  const PluginDescription& d = proxy.description;
  if (id == "berth.prepare/1" && d.prepare) {
    const auto given = [&](PrepareFunction which, auto function) { return d.prepare->has(which) ? function : nullptr; };
    proxy.prepare = {sizeof(berth_prepare_ops_v1),
                     d.prepare->flags,
                     given(PrepareFunction::pre_filter, &pre_filter),
                     given(PrepareFunction::pre_score, &pre_score),
                     given(PrepareFunction::state_clone, &state_clone),
                     &state_free,  // there is a number to free in any case
                     given(PrepareFunction::pod_added, &pod_added),
                     given(PrepareFunction::pod_removed, &pod_removed)};
    return &proxy.prepare;
  }
  if (id == "berth.filter/1" && d.filter) {
    proxy.filter = {sizeof(berth_filter_ops_v1),
                    d.filter->flags,
                    d.filter->has_filter ? &filter : nullptr,
                    nullptr,
                    d.filter->deps,
                    0};
    if (d.filter->has_budget) proxy.filter.budget_ns = [](void* self) { return plugin_of(self).budget_ns(); };
    return &proxy.filter;
  }
  if (id == "berth.score/1" && d.score) {
    proxy.score = {sizeof(berth_score_ops_v1),
                   d.score->normalize_kind,
                   d.score->has_score ? &score : nullptr,
                   d.score->has_normalize ? &normalize : nullptr,
                   d.score->deps,
                   0};
    return &proxy.score;
  }
  if (id == "berth.requeue/1" && d.requeue) {
    proxy.requeue = {sizeof(berth_requeue_ops_v1), static_cast<std::uint32_t>(d.requeue->interests.size()),
                     d.requeue->interests.data(), d.requeue->has_hint ? &hint : nullptr};
    return &proxy.requeue;
  }
  return nullptr;
}

void fill(ProxyPlugin& proxy) {
  const PluginDescription& d = proxy.description;
  for (const std::string& id : d.points) proxy.points_of_it.push_back({id.c_str(), ops_for(proxy, id)});
  for (const auto& [text, code] : d.reasons) proxy.reasons_of_it.push_back({text.c_str(), code.c_str()});
  for (const std::string& service : d.services) proxy.services_of_it.push_back(service.c_str());
  static_cast<berth_plugin_v1&>(proxy) = {sizeof(berth_plugin_v1),
                                          d.flags,
                                          d.name.c_str(),
                                          d.version.c_str(),
                                          d.summary.c_str(),
                                          d.args_schema ? d.args_schema->c_str() : nullptr,
                                          proxy.points_of_it.data(),
                                          proxy.reasons_of_it.data(),
                                          proxy.services_of_it.data(),
                                          static_cast<std::uint32_t>(proxy.points_of_it.size()),
                                          static_cast<std::uint32_t>(proxy.reasons_of_it.size()),
                                          static_cast<std::uint32_t>(proxy.services_of_it.size()),
                                          d.deps,
                                          &IsolatedPlugin::create,
                                          [](void* self) { delete &plugin_of(self); }};
}

Result<LibraryDescription> describe(StarterLink& starter, const IsolationLimits& limits) {
  Result<std::unique_ptr<ChildProcess>> begun = ChildProcess::begin(starter);
  if (!begun.ok()) return begun.error();
  ChildProcess& child = **begun;
  switch (child.await(now_ns() + limits.load_ns)) {
    case ChildProcess::Outcome::replied:
      break;
    case ChildProcess::Outcome::late:
      return Error{fmt::format("its process has not loaded it within {} ms", limits.load_ns / 1'000'000)};
    case ChildProcess::Outcome::ended:
      return Error{fmt::format("its process ended with {} while it loaded it", child.end())};
    case ChildProcess::Outcome::garbled:
      return Error{"its process gave no answer that can be right"};
  }
  const Reply reply = copy_once(child.region().reply);
  if (reply.code != BERTH_OK) {
    std::string why(std::min<std::uint64_t>(reply.note_bytes, k_note_bytes), '\0');
    copy_once(why.data(), child.region().note, why.size());
    return Error{std::move(why)};
  }
  if (reply.bytes > k_pod_bytes) return Error{"its process gave no answer that can be right"};
  std::vector<std::byte> bytes(reply.bytes);
  copy_once(bytes.data(), child.region().pods, bytes.size());
  return read_description(bytes);
}

}  // namespace

Result<std::shared_ptr<IsolatedLibrary>> IsolatedLibrary::open(const PluginProgram& program, IsolationLimits limits,
                                                               const std::string& berth) {
  Result<std::shared_ptr<StarterLink>> starter = StarterLink::start(program, berth);
  if (!starter.ok()) return starter.error();
  Result<LibraryDescription> description = describe(**starter, limits);
  if (!description.ok()) return description.error();
  for (const PluginDescription& plugin : description->plugins)
    if (std::string what = beyond_isolation(plugin.name, plugin.points, plugin.services); !what.empty())
      return Error{std::move(what)};
  return std::shared_ptr<IsolatedLibrary>(new IsolatedLibrary(*starter, limits, std::move(*description)));
}

IsolatedLibrary::IsolatedLibrary(std::shared_ptr<StarterLink> starter, IsolationLimits limits,
                                 LibraryDescription description)
    : starter_(std::move(starter)), limits_(limits) {
  for (PluginDescription& plugin : description.plugins) {
    ProxyPlugin& proxy = plugins_.emplace_back();
    proxy.description = std::move(plugin);
    proxy.library = this;
    fill(proxy);
    pointers_.push_back(&proxy);
  }
  entry_ = {sizeof(berth_library_v1),
            description.minor_built,
            description.minor_required,
            static_cast<std::uint32_t>(pointers_.size()),
            0,
            pointers_.data()};
}

}  // namespace berth::isolation
