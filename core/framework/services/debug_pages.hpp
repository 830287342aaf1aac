// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "berth/ext/debug_pages.h"

namespace berth::framework {

class PluginInstance;

/// Pages that plugins offer below /debug/, by name.
///
/// Place:   behind berth.debug_pages/1; written while instances are made, which outlive every render().
/// Threads: any.
class DebugPages {
 public:
  using Write = berth_code (*)(void* arg, berth_page_append_v1 append, void* out, berth_note_v1* note);
  enum class Offered : std::uint8_t { accepted, taken, not_a_name };
  static constexpr std::size_t k_page_bytes_max = std::size_t{64} << 20;

  DebugPages() = default;
  DebugPages(const DebugPages&) = delete;
  DebugPages& operator=(const DebugPages&) = delete;

  /// A later instance of the same plugin is accepted, and the first is asked.
  Offered offer(const PluginInstance& by, std::string_view name, Write write, void* arg);
  std::vector<std::string> names() const;
  /// Failure: NotFound, the plugin's words, or that the page is too long.
  Result<std::string> render(std::string_view name) const;

 private:
  struct Page {
    const PluginInstance* by = nullptr;
    Write write = nullptr;
    void* arg = nullptr;
  };
  mutable Mutex mutex_;
  std::map<std::string, Page, std::less<>> pages_ GUARDED_BY(mutex_);
};

}  // namespace berth::framework
