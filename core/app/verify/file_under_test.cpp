// SPDX-License-Identifier: Apache-2.0
#include "app/verify/file_under_test.hpp"

#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "loader/plugin_loader.hpp"

namespace berth::app {
namespace {

namespace fs = std::filesystem;

void put_copy(const fs::path& file, const fs::path& directory) {
  const fs::path copy = directory / file.filename();
  fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
  fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write);
}

/// "libgpu.so.1".
bool is_library(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with("lib") && name.find(".so.") != std::string::npos;
}

}  // namespace

FileUnderTest::~FileUnderTest() {
  std::error_code problem;
  fs::remove_all(plugins_.plugin_dir, problem);
}

Result<std::unique_ptr<FileUnderTest>> FileUnderTest::take(const std::string& file, const std::string& plugin_dir,
                                                           const std::string& config, const loader::FileRules& rules) {
  loader::PluginFile judged = loader::judge_alone(file, rules);
  std::string wrong;
  for (const loader::Finding& finding : judged.findings)
    wrong += fmt::format("{}BERTH-{}: {}", wrong.empty() ? "" : "; ", finding.code, finding.what);
  if (wrong.empty() && judged.notes.empty()) wrong = "it has no note of a plugin";
  if (!wrong.empty()) return Error{std::move(wrong)};

  loader::PluginDirectoryChoice choice = loader::PluginDirectoryChoice::of_this_process();
  choice.flag = plugin_dir;
  std::error_code problem;
  std::string directory = (fs::temp_directory_path(problem) / "berth-verify-XXXXXX").string();
  if (problem || ::mkdtemp(directory.data()) == nullptr)
    return Error{fmt::format("{} cannot be made: {}", directory, std::strerror(errno))};
  std::unique_ptr<FileUnderTest> taken(new FileUnderTest(directory));
  try {
    for (const auto& entry : fs::directory_iterator(loader::choose(choice).path))
      if (entry.path().extension() == ".so") put_copy(entry.path(), directory);
    for (const auto& entry : fs::directory_iterator(fs::absolute(file).parent_path()))
      if (is_library(entry.path())) put_copy(entry.path(), directory);
    put_copy(file, directory);
  } catch (const fs::filesystem_error& error) {
    return Error{fmt::format("{}: {}", error.path1().string(), error.code().message())};
  }
  taken->plugins_.notes = std::move(judged.notes);
  taken->plugins_.config = config;
  return taken;
}

}  // namespace berth::app
