// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "berth/plugin.h"

/// What a plugin says of itself, carried from the process that has its code to one that has not.
namespace berth::isolation {

/// The extension points, and the services of the host, that work across processes.
std::span<const std::string_view> isolated_points() noexcept;
std::span<const std::string_view> isolated_services() noexcept;

/// What of a plugin cannot be in a process of its own, as a sentence; empty: nothing.
std::string beyond_isolation(std::string_view plugin, const std::vector<std::string>& points,
                             const std::vector<std::string>& services);

/// Which functions of berth_prepare_ops_v1 there are.
enum class PrepareFunction : std::uint32_t {
  pre_filter = 1,
  pre_score = 2,
  state_clone = 4,
  state_free = 8,
  pod_added = 16,
  pod_removed = 32
};

struct PluginDescription {
  struct Prepare {
    std::uint32_t flags = 0, functions = 0;  // PrepareFunction
    bool has(PrepareFunction function) const noexcept {
      return (functions & static_cast<std::uint32_t>(function)) != 0;
    }
  };
  struct Filter {
    std::uint32_t flags = 0, deps = 0;
    bool has_filter = false, has_budget = false;
  };
  struct Score {
    std::uint32_t normalize_kind = 0, deps = 0;
    bool has_score = false, has_normalize = false;
  };
  struct Requeue {
    std::vector<berth_interest_v1> interests;
    bool has_hint = false;
  };

  std::string name, version, summary;
  std::optional<std::string> args_schema;
  std::uint32_t flags = 0, deps = 0;
  std::vector<std::pair<std::string, std::string>> reasons;  // text, code; as listed, so the first is empty
  std::vector<std::string> services;
  std::vector<std::string> points;
  std::optional<Prepare> prepare;
  std::optional<Filter> filter;
  std::optional<Score> score;
  std::optional<Requeue> requeue;
};

struct LibraryDescription {
  std::uint16_t minor_built = 0, minor_required = 0;
  std::vector<PluginDescription> plugins;
};

/// Writes what read_description() reads; the number of bytes, or 0 where there is no room. Requires: the loader has judged
/// the descriptor.
std::size_t write_description(const berth_library_v1& library, std::span<std::byte> room);

/// Requires: no process changes the bytes meanwhile. They may be anything.
Result<LibraryDescription> read_description(std::span<const std::byte> bytes);

}  // namespace berth::isolation
