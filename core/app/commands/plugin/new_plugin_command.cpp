// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plugin/new_plugin_command.hpp"

#include <berth/abi/version.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <utility>

#include "app/commands/plugin/plugin_skeletons.hpp"
#include "base/result.hpp"
#include "loader/findings.hpp"

namespace berth::app {
namespace {

namespace fs = std::filesystem;
using Points = std::vector<std::string>;

constexpr std::size_t k_name_bytes_max = 100;
constexpr std::string_view k_points[] = {"filter",  "score",  "pre_enqueue", "post_filter",
                                         "reserve", "permit", "pre_bind",    "post_bind"};

bool has(const Points& points, std::string_view point) {
  return std::find(points.begin(), points.end(), point) != points.end();
}

bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// "PreferRack" is prefer_rack; "GPUShare" is gpu_share.
std::string snake_case(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool starts_word =
        is_upper(name[i]) && i != 0 && (!is_upper(name[i - 1]) || (i + 1 < name.size() && is_lower(name[i + 1])));
    if (starts_word) out += '_';
    out += is_upper(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return out;
}

bool is_class_name(std::string_view name) {
  return !name.empty() && is_upper(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_upper(c) || is_lower(c) || is_digit(c); });
}

bool is_domain(std::string_view domain) {
  const auto fits = [](char c) { return is_lower(c) || is_digit(c) || c == '-' || c == '.'; };
  const auto ends_well = [](char c) { return is_lower(c) || is_digit(c); };
  return !domain.empty() && std::all_of(domain.begin(), domain.end(), fits) && ends_well(domain.front()) &&
         ends_well(domain.back());
}

/// What stands for a name in a skeleton, and the name. Where several begin at one place, the first of the list is meant.
using Words = std::vector<std::pair<std::string_view, std::string>>;

/// In one pass: what was put in is not looked at again, since a name may have a word in it.
std::string with_words(std::string_view text, const Words& words) {
  std::string out;
  while (!text.empty()) {
    const auto word =
        std::find_if(words.begin(), words.end(), [&](const auto& each) { return text.starts_with(each.first); });
    out += word == words.end() ? std::string(1, text.front()) : word->second;
    text.remove_prefix(word == words.end() ? 1 : word->first.size());
  }
  return out;
}

/// "//<a|b>": the lines up to "//</a|b>" are there with point a or b; "//<!a|b>": without both.
bool block_is_there(std::string_view line, const Points& points) {
  std::string_view list = line.substr(3, line.size() - 4);
  const bool without = list.starts_with('!');
  if (without) list.remove_prefix(1);
  bool any = false;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find('|', begin), list.size());
    any = any || has(points, list.substr(begin, end - begin));
    begin = end + 1;
  }
  return any != without;
}

std::string with_points(std::string_view text, const Points& points) {
  std::string out;
  bool there = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1);
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with("//</")) {
      there = true;
    } else if (line.starts_with("//<")) {
      there = block_is_there(line, points);
    } else if (there) {
      out.append(text.substr(begin, end + 1 - begin));
    }
    begin = end + 1;
  }
  return out;
}

struct Project {
  std::string target;  // prefer_rack: folder, file and CMake target
  Words words;
  std::vector<const SkeletonFile*> files;
};

Result<Project> project_of(const PluginNewOptions& options) {
  const std::size_t slash = options.name.find('/');
  const std::string domain = slash == std::string::npos ? "example.com" : options.name.substr(0, slash);
  const std::string name = slash == std::string::npos ? options.name : options.name.substr(slash + 1);
  if (options.name.size() > k_name_bytes_max || !is_class_name(name) || !is_domain(domain)) {
    return Error{
        fmt::format("\"{}\" is no name of a plugin: your domain, '/', and a name in CamelCase, such as "
                    "example.com/PreferRack; {} bytes at most",
                    loader::escaped(options.name, k_name_bytes_max), k_name_bytes_max)};
  }
  for (const std::string& point : options.points) {
    if (std::find(std::begin(k_points), std::end(k_points), point) == std::end(k_points)) {
      return Error{fmt::format("there is no skeleton of a point \"{}\"; there is one of each of {}",
                               loader::escaped(point), fmt::join(k_points, ", "))};
    }
  }
  const bool has_all = options.language == "c++" || options.language == "rust";
  const bool both = options.points.size() == 2 && has(options.points, "filter") && has(options.points, "score");
  const auto is_of_nodes = [](const std::string& point) { return point == "filter" || point == "score"; };
  if (options.points.empty() || (options.language == "zig" && !both) ||
      (!has_all && !std::all_of(options.points.begin(), options.points.end(), is_of_nodes))) {
    return Error{
        "the skeleton in Zig has filter and score, that in C one or both of them, and those in C++ and Rust any point"};
  }

  Project project;
  project.target = snake_case(name);
  for (const SkeletonFile& file : skeleton_files()) {
    if (file.language.empty() || file.language == options.language) project.files.push_back(&file);
  }
  std::string files;
  for (const SkeletonFile* file : project.files) {
    if (!file->about.empty()) files += fmt::format("| `{}` | {} |\n", file->path, file->about);
  }
  const bool weighs = has(options.points, "score");
  project.words = {{"{files}", files},
                   {"{weight}", weighs ? ", weight: 5" : ""},
                   {"{summary}", both ? "Keeps nodes from being crowded with pods."
                                      : "Says what it does, for those who list plugins."},
                   {"{sdk}", fmt::format("{}.{}", BERTH_ABI_MAJOR, BERTH_ABI_MINOR)},
                   {"{plugin}", domain + '/' + name},
                   {"{class}", name},
                   {"{target}", project.target}};
  // That in Zig is a sample of the SDK, with names of its own.
  if (options.language == "zig")
    project.words.insert(project.words.end(), {{"example.com/PodCeiling", domain + '/' + name},
                                               {"PodCeiling", name},
                                               {"zig_pod_ceiling", project.target},
                                               {"pod_ceiling", project.target}});
  return project;
}

Status write_file(const fs::path& path, const std::string& text) {
  errno = 0;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return Unit{};
  return Error{fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno))};
}

}  // namespace

int new_plugin(const PluginNewOptions& options, std::ostream& out, std::ostream& err) {
  const Result<Project> made = project_of(options);
  if (!made.ok()) {
    err << made.error().message << '\n';
    return 2;
  }
  const Project& project = *made;
  const fs::path folder = fs::path(options.directory) / project.target;
  std::error_code problem;
  if (fs::exists(fs::symlink_status(folder, problem))) {
    err << fmt::format("{} is there already, and is not touched: choose another name or another --directory\n",
                       folder.string());
    return 1;
  }
  try {
    for (const SkeletonFile* file : project.files) {
      const fs::path path = folder / with_words(file->path, project.words);
      const Status written = write_file(path, with_words(with_points(file->text, options.points), project.words));
      if (!written.ok()) {
        err << written.error().message << '\n';
        return 1;
      }
      out << path.string() << '\n';
    }
  } catch (const fs::filesystem_error& error) {
    err << fmt::format("{} cannot be made: {}\n", folder.string(), error.code().message());
    return 1;
  }
  out << fmt::format(
      "\nNext, with the SDK of berth installed (sdk/README.md, or the package berth-sdk):\n"
      "  cmake -S {0} -B {0}/build\n  cmake --build {0}/build && ctest --test-dir {0}/build\n"
      "  berth plugin inspect {0}/build/{1}.so\n",
      folder.string(), project.target);
  return 0;
}

}  // namespace berth::app
