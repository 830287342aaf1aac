// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "loader/findings.hpp"

namespace berth::report {

std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  bool escape = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0x1b) {
      escape = true;
    } else if (escape) {
      escape = c != 'm';
    } else if ((byte & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string terminal_text(std::string_view text) { return loader::escaped(text, std::string_view::npos); }

std::string painted(bool has_colour, std::string_view text, std::string_view colour) {
  return has_colour ? fmt::format("\033[{}m{}\033[0m", colour, text) : std::string(text);
}

std::string table_heading(bool has_colour, std::string_view title, std::size_t count) {
  return '\n' + painted(has_colour, fmt::format("{} ({})", title, count), "1") + '\n';
}

std::string left_out_line(std::size_t count, std::string_view what) {
  return count == 0 ? std::string() : fmt::format("  … {} more {}; -o wide shows all\n", count, what);
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.head = terminal_text(column.head);
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = terminal_text(cell);
  add_painted(std::move(cells));
}

void TextTable::add_painted(std::vector<std::string> cells) {
  BERTH_CHECK(cells.size() == columns_.size(), "a row of {} cells in a table of {}", cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::render(std::size_t indent) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.head));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));

  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text(indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - display_width(cell), ' ');
      text += columns_[i].align == Align::right ? padding + cell : cell + padding;
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].head; });
  for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
  return out;
}

}  // namespace berth::report
