// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/check.hpp"

namespace berth::zoo {
namespace {

namespace fs = std::filesystem;

std::string signal_text(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? std::to_string(number) : std::string("SIG") + name;
}

constexpr std::string_view k_decimal = "0123456789";
constexpr std::string_view k_hex = "0123456789abcdef";

/// Every run of `digits` behind `prefix`.
void replace_after(std::string& text, std::string_view prefix, std::string_view digits, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;) {
    at += prefix.size();
    const std::size_t end = std::min(text.find_first_not_of(digits, at), text.size());
    if (end != at) text.replace(at, end - at, by);
  }
}

}  // namespace

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

PluginFolder::PluginFolder() {
  std::string pattern = (fs::temp_directory_path() / "berth-zoo-XXXXXX").string();
  BERTH_CHECK(::mkdtemp(pattern.data()) != nullptr, "cannot make {}", pattern);
  top_ = fs::canonical(pattern);
  path_ = top_ / "plugins";
  fs::create_directory(path_);
  ::chmod(path_.c_str(), 0755);
}

PluginFolder::~PluginFolder() {
  std::error_code ignored;
  fs::remove_all(top_, ignored);
}

void PluginFolder::add(const std::string& animal, const std::string& as) const { write(bytes_of(animal), as); }

void PluginFolder::write(const std::string& content, const std::string& as) const {
  std::ofstream(path_ / as, std::ios::binary) << content;
  ::chmod((path_ / as).c_str(), 0644);
}

std::string PluginFolder::bytes_of(const std::string& animal) {
  std::string bytes = content_of(fs::path(BERTH_ZOO_ANIMALS) / (animal + ".so"));
  BERTH_CHECK(!bytes.empty(), "there is no {} in {}", animal, BERTH_ZOO_ANIMALS);
  return bytes;
}

Ending run(const std::vector<std::string>& words, Capture capture) {
  int ends[2];
  BERTH_CHECK(::pipe(ends) == 0, "cannot make a pipe");
  const pid_t child = ::fork();
  BERTH_CHECK(child >= 0, "cannot fork");
  if (child == 0) {
    ::dup2(capture == Capture::all ? ends[1] : ::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    for (const char* const name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"})
      ::unsetenv(name);  // they give warnings
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  Ending ending;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    ending.output.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  BERTH_CHECK(::waitpid(child, &status, 0) == child, "lost a child");
  ending.how =
      WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status)) : "killed by " + signal_text(WTERMSIG(status));
  return ending;
}

std::string normalised(std::string output, const PluginFolder& folder) {
  const std::string top = folder.path().parent_path().string();
  for (std::size_t at = 0; (at = output.find(top, at)) != std::string::npos;) output.erase(at, top.size());
  replace_after(output, "sha256 ", k_hex, "<digits>");
  replace_after(output, "sha256: ", k_hex, "<digits>");
  replace_after(output, "build id ", k_hex, "<digits>");
  replace_after(output, "+0x", k_hex, "<digits>");
  replace_after(output, " at 0x", k_hex, "<digits>");
  replace_after(output, "\"scheduler\":\"berth ", "0123456789.", "<version>");
  replace_after(output, "SDK ", "0123456789.", "<version>");
  replace_after(output, "berth under test implements 1.", k_decimal, "<minor>");
  replace_after(output, "ends at byte ", k_decimal, "<n>");
  replace_after(output, "the file has ", k_decimal, "<n>");
  return output;
}

}  // namespace berth::zoo
