// SPDX-License-Identifier: Apache-2.0
#include "simulation/run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iterator>
#include <utility>

namespace berth::simulation {
namespace {

namespace json = boost::json;

int g_result = -1;  // where a world's process writes its result

/// The result as JSON, to those who wait for this process.
int tell_result(const WorldResult& result, const std::deque<std::string>& story) {
  json::object out{{"digest", result.digest}, {"faults", result.faults},     {"switches", result.switches},
                   {"pods", result.pods},     {"bound", result.bound},       {"evicted", result.evicted},
                   {"starts", result.starts}, {"seconds", result.virtual_s}, {"rule", result.rule},
                   {"what", result.what}};
  json::array happened(result.happened.begin(), result.happened.end());
  out["happened"] = std::move(happened);
  std::string text;
  if (!result.rule.empty())
    for (const std::string& line : story) text += line + '\n';
  out["story"] = text;
  const std::string bytes = json::serialize(out);
  std::fflush(stdout);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t put = ::write(g_result, bytes.data() + at, bytes.size() - at);
    if (put <= 0) break;
    at += static_cast<std::size_t>(put);
  }
  return result.rule.empty() ? 0 : 3;
}

Ran read_result(const std::string& bytes) {
  Ran ran;
  boost::system::error_code wrong;
  const json::value all = json::parse(bytes, wrong);
  if (wrong || !all.is_object()) return ran;
  const auto number = [&](const char* name) { return all.at(name).to_number<std::uint64_t>(); };
  WorldResult& result = ran.result;
  result.digest = number("digest");
  result.faults = number("faults");
  result.switches = number("switches");
  result.pods = number("pods");
  result.bound = number("bound");
  result.evicted = number("evicted");
  result.starts = number("starts");
  result.virtual_s = all.at("seconds").to_number<double>();
  result.rule = json::value_to<std::string>(all.at("rule"));
  result.what = json::value_to<std::string>(all.at("what"));
  result.happened = json::value_to<std::vector<std::string>>(all.at("happened"));
  ran.story = json::value_to<std::string>(all.at("story"));
  return ran;
}

}  // namespace

Ran run_world(const WorldOptions& options) {
  int ends[2] = {};
  if (::pipe(ends) != 0) std::abort();
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    g_result = ends[1];
    // A log that goes to a pipe or to a terminal is written past what is simulated.
    const int errors = ::open((options.kubeconfig_dir + "/errors").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ::dup2(errors, STDERR_FILENO);
    World(options).run(tell_result);
  }
  ::close(ends[1]);
  std::string bytes;
  char piece[65536];
  for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof piece)) > 0;)
    bytes.append(piece, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Ran ran = read_result(bytes);
  ran.status = status;
  return ran;
}

WorldOptions shorten(WorldOptions options, const Ran& broken, std::size_t tries_max,
                     const std::function<void(std::size_t, std::size_t)>& tell) {
  std::vector<std::string> left = broken.result.happened;
  options.with = std::set<std::string>(left.begin(), left.end());
  options.tells = false;
  std::size_t parts = 2, tries = 0;
  while (!left.empty() && tries < tries_max) {
    bool is_shorter = false;
    const std::size_t size = (left.size() + parts - 1) / parts;
    for (std::size_t from = 0; from < left.size() && tries < tries_max && !is_shorter; from += size) {
      std::vector<std::string> rest(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(from));
      rest.insert(rest.end(), left.begin() + static_cast<std::ptrdiff_t>(std::min(from + size, left.size())),
                  left.end());
      WorldOptions without = options;
      without.with = std::set<std::string>(rest.begin(), rest.end());
      ++tries;
      const Ran ran = run_world(without);
      if (ran.result.rule != broken.result.rule) continue;
      left = std::move(rest);
      options.with = without.with;
      is_shorter = true;
      tell(tries, left.size());
    }
    if (is_shorter)
      parts = std::max<std::size_t>(2, parts - 1);
    else if (size == 1)
      break;
    else
      parts = std::min(left.size(), 2 * parts);
  }
  return options;
}

std::string history_text(const WorldOptions& options, const WorldResult& result) {
  json::object out{{"seed", options.seed},
                   {"minutes", options.fault_minutes},
                   {"replicas", options.replicas},
                   {"rule", result.rule},
                   {"what", result.what}};
  out["only"] = json::array(options.only.begin(), options.only.end());
  if (options.with) out["with"] = json::array(options.with->begin(), options.with->end());
  return json::serialize(out) + "\n";
}

void read_history(const std::string& path, WorldOptions& options) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  boost::system::error_code wrong;
  const json::value all = json::parse(text, wrong);
  if (wrong || !all.is_object()) {
    std::fprintf(stderr, "%s is no history\n", path.c_str());
    std::exit(2);
  }
  options.seed = all.at("seed").to_number<std::uint64_t>();
  options.fault_minutes = all.at("minutes").to_number<double>();
  options.replicas = all.at("replicas").to_number<int>();
  for (const json::value& one : all.at("only").as_array()) options.only.insert(json::value_to<std::string>(one));
  if (const json::value* const with = all.as_object().if_contains("with")) {
    options.with.emplace();
    for (const json::value& one : with->as_array()) options.with->insert(json::value_to<std::string>(one));
  }
}

}  // namespace berth::simulation
