// SPDX-License-Identifier: Apache-2.0
#include "isolation/description.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "isolation/packed.hpp"

namespace berth::isolation {
namespace {

constexpr std::uint32_t k_plugins_max = 256, k_points_max = 64, k_reasons_max = 4096, k_interests_max = 4096,
                        k_services_max = 256;

constexpr std::string_view k_prepare = "berth.prepare/1", k_filter = "berth.filter/1", k_score = "berth.score/1",
                           k_requeue = "berth.requeue/1";

std::string_view text_of(const char* text) noexcept { return text == nullptr ? std::string_view() : text; }

void write_ops(std::string_view id, const void* ops, PackedWriter& out) {
  if (id == k_prepare) {
    const auto& prepare = *static_cast<const berth_prepare_ops_v1*>(ops);
    out.number(prepare.flags);
    std::uint32_t functions = 0;
    const auto add = [&](bool has, PrepareFunction which) {
      if (has) functions |= static_cast<std::uint32_t>(which);
    };
    add(prepare.pre_filter != nullptr, PrepareFunction::pre_filter);
    add(prepare.pre_score != nullptr, PrepareFunction::pre_score);
    add(prepare.state_clone != nullptr, PrepareFunction::state_clone);
    add(prepare.state_free != nullptr, PrepareFunction::state_free);
    add(prepare.pod_added != nullptr, PrepareFunction::pod_added);
    add(prepare.pod_removed != nullptr, PrepareFunction::pod_removed);
    out.number(functions);
  } else if (id == k_filter) {
    const auto& filter = *static_cast<const berth_filter_ops_v1*>(ops);
    out.number(filter.flags);
    out.number(filter.deps);
    out.number(std::uint8_t{filter.filter != nullptr});
    out.number(std::uint8_t{filter.budget_ns != nullptr});
  } else if (id == k_score) {
    const auto& score = *static_cast<const berth_score_ops_v1*>(ops);
    out.number(score.normalize_kind);
    out.number(score.deps);
    out.number(std::uint8_t{score.score != nullptr});
    out.number(std::uint8_t{score.normalize != nullptr});
  } else if (id == k_requeue) {
    const auto& requeue = *static_cast<const berth_requeue_ops_v1*>(ops);
    out.number(std::uint8_t{requeue.hint != nullptr});
    out.number(requeue.interest_count);
    for (std::uint32_t i = 0; i < requeue.interest_count; ++i) out.number(requeue.interests[i]);
  }
}

void read_ops(std::string_view id, PackedReader& in, PluginDescription& out) {
  if (id == k_prepare) {
    out.prepare.emplace();
    out.prepare->flags = in.number<std::uint32_t>();
    out.prepare->functions = in.number<std::uint32_t>();
  } else if (id == k_filter) {
    out.filter.emplace();
    out.filter->flags = in.number<std::uint32_t>();
    out.filter->deps = in.number<std::uint32_t>();
    out.filter->has_filter = in.number<std::uint8_t>() != 0;
    out.filter->has_budget = in.number<std::uint8_t>() != 0;
  } else if (id == k_score) {
    out.score.emplace();
    out.score->normalize_kind = in.number<std::uint32_t>();
    out.score->deps = in.number<std::uint32_t>();
    out.score->has_score = in.number<std::uint8_t>() != 0;
    out.score->has_normalize = in.number<std::uint8_t>() != 0;
  } else if (id == k_requeue) {
    out.requeue.emplace();
    out.requeue->has_hint = in.number<std::uint8_t>() != 0;
    const auto count = in.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && i < k_interests_max && in.ok(); ++i)
      out.requeue->interests.push_back(in.number<berth_interest_v1>());
  }
}

void write_plugin(const berth_plugin_v1& plugin, PackedWriter& out) {
  out.text(text_of(plugin.name));
  out.text(text_of(plugin.version));
  out.text(text_of(plugin.summary));
  out.number(std::uint8_t{plugin.args_schema != nullptr});
  out.text(text_of(plugin.args_schema));
  out.number(plugin.flags);
  out.number(plugin.deps);
  out.number(plugin.reason_count);
  for (std::uint32_t i = 0; i < plugin.reason_count; ++i) {
    out.text(text_of(plugin.reasons[i].text));
    out.text(text_of(plugin.reasons[i].code));
  }
  out.number(plugin.service_count);
  for (std::uint32_t i = 0; i < plugin.service_count; ++i) out.text(text_of(plugin.services[i]));
  out.number(plugin.point_count);
  for (std::uint32_t i = 0; i < plugin.point_count; ++i) {
    out.text(text_of(plugin.points[i].id));
    write_ops(text_of(plugin.points[i].id), plugin.points[i].ops, out);
  }
}

PluginDescription read_plugin(PackedReader& in) {
  PluginDescription out;
  out.name = in.text();
  out.version = in.text();
  out.summary = in.text();
  const bool has_schema = in.number<std::uint8_t>() != 0;
  const std::string_view schema = in.text();
  if (has_schema) out.args_schema = schema;
  out.flags = in.number<std::uint32_t>();
  out.deps = in.number<std::uint32_t>();
  const auto reasons = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < reasons && i < k_reasons_max && in.ok(); ++i) {
    std::string text(in.text());
    out.reasons.emplace_back(std::move(text), in.text());
  }
  const auto services = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < services && i < k_services_max && in.ok(); ++i) out.services.emplace_back(in.text());
  const auto points = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < points && i < k_points_max && in.ok(); ++i) {
    out.points.emplace_back(in.text());
    read_ops(out.points.back(), in, out);
  }
  return out;
}

}  // namespace

std::span<const std::string_view> isolated_points() noexcept {
  static constexpr std::array k_points = {k_prepare, k_filter, k_score, k_requeue};
  return k_points;
}

std::span<const std::string_view> isolated_services() noexcept {
  static constexpr std::array<std::string_view, 5> k_services = {"berth.log/1", "berth.intern/1", "berth.reasons/1",
                                                                 "berth.sets/1", "berth.clock/1"};
  return k_services;
}

std::string beyond_isolation(std::string_view plugin, const std::vector<std::string>& points,
                             const std::vector<std::string>& services) {
  const auto knows = [](std::span<const std::string_view> all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  for (const std::string& point : points)
    if (!knows(isolated_points(), point))
      return fmt::format("{} implements {}, which does not work across processes", plugin, point);
  for (const std::string& service : services)
    if (!knows(isolated_services(), service))
      return fmt::format("{} requires {}, which does not work across processes", plugin, service);
  return {};
}

std::size_t write_description(const berth_library_v1& library, std::span<std::byte> room) {
  PackedWriter out(room);
  out.number(library.abi_minor_built);
  out.number(library.abi_minor_required);
  out.number(library.plugin_count);
  for (std::uint32_t i = 0; i < library.plugin_count; ++i) write_plugin(*library.plugins[i], out);
  return out.is_full() ? 0 : out.size();
}

Result<LibraryDescription> read_description(std::span<const std::byte> bytes) {
  PackedReader in(bytes);
  LibraryDescription out;
  out.minor_built = in.number<std::uint16_t>();
  out.minor_required = in.number<std::uint16_t>();
  const auto plugins = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < plugins && i < k_plugins_max && in.ok(); ++i) out.plugins.push_back(read_plugin(in));
  if (!in.ok() || !in.at_end() || out.plugins.empty()) return Error{"its description cannot be read"};
  return out;
}

}  // namespace berth::isolation
