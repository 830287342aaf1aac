// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::report {

/// Columns that a terminal needs for a text: code points, without colour sequences. Wide glyphs count as one.
std::size_t display_width(std::string_view text) noexcept;

/// What a terminal may be given of a text that comes from elsewhere: control characters and broken UTF-8 as \xNN.
std::string terminal_text(std::string_view text);

/// The text in that colour ("1": bold) of a terminal that shows colours.
std::string painted(bool has_colour, std::string_view text, std::string_view colour);
/// The headline above a table, behind an empty line.
std::string table_heading(bool has_colour, std::string_view title, std::size_t count);
/// The ending of a noun that is counted: "s", but of one.
constexpr std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }
/// The line below a table that was cut; empty when nothing was.
std::string left_out_line(std::size_t count, std::string_view what);

/// Rows under headings, aligned by what a terminal shows. Nothing follows the last cell of a line.
class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string head;
    Align align = Align::left;
  };
  explicit TextTable(std::vector<Column> columns);

  /// Shows the cells as terminal_text(). Requires: as many cells as columns.
  void add(std::vector<std::string> cells);
  /// The same for cells that may have colours: names in them have gone through terminal_text() before.
  void add_painted(std::vector<std::string> cells);
  std::size_t size() const noexcept { return rows_.size(); }
  /// Headings and rows, each line indented.
  std::string render(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace berth::report
