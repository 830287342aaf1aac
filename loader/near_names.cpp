// SPDX-License-Identifier: Apache-2.0
#include "loader/near_names.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace berth::loader {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string last_part(std::string_view name) {
  std::string part(name.substr(name.rfind('/') + 1));
  std::transform(part.begin(), part.end(), part.begin(), lower);
  return part;
}

/// Insertions, deletions and replacements that make one text the other.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> near_names(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string part = last_part(wanted.substr(0, 400));
  const std::size_t edits_max = std::min<std::size_t>(3, part.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& name : names) {
    const std::size_t distance = edits(part, last_part(std::string_view(name).substr(0, 400)));
    if (distance <= edits_max) near.emplace_back(distance, name);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  if (near.size() > 3) near.resize(3);
  std::vector<std::string> found;
  for (auto& [distance, name] : near) found.push_back(std::move(name));
  return found;
}

}  // namespace berth::loader
