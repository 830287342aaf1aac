// SPDX-License-Identifier: Apache-2.0
#include "app/live/scheduler_pages.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/product.hpp"
#include "cluster/kube/read/api_question.hpp"
#include "net/url.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

constexpr std::chrono::seconds k_answer_limit{15};
constexpr std::uint64_t k_answer_bytes_max = 32 << 20;

net::HttpClientOptions client_options() {
  net::HttpClientOptions options;
  options.qps = -1;
  options.connections_max = 1;
  options.user_agent = user_agent();
  return options;
}

std::vector<std::string> texts_of(const text::Value& of, std::string_view key) {
  std::vector<std::string> out;
  const text::Value* const list = of.find(key);
  if (list == nullptr || !list->is_sequence()) return out;
  for (const text::Value& each : list->elements())
    if (each.is_string()) out.emplace_back(each.text());
  return out;
}

report::QueueWord word_of(const text::Value& of) {
  report::QueueWord out;
  out.ns = of.text_at("namespace");
  out.name = of.text_at("name");
  out.place = of.text_at("place");
  if (const text::Value* const attempts = of.find("attempts"); attempts != nullptr)
    out.attempts = attempts->integer().value_or(0);
  out.since = of.text_at("since");
  out.next_try = of.text_at("nextTry");
  out.tried_again_by = of.text_at("triedAgainBy");
  out.rejected_by = texts_of(of, "rejectedBy");
  out.woken_by = texts_of(of, "wokenBy");
  return out;
}

Result<std::vector<report::QueueWord>> words_of(const std::string& body, const std::string& where) {
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(body, where, diagnostics);
  if (!diagnostics.empty() || documents.size() != 1) return Error{where + ": the answer is no JSON: is that a berth?"};
  const text::Value& root = documents.front().root();
  std::vector<report::QueueWord> out;
  if (root.is_mapping()) {
    out.push_back(word_of(root));
  } else if (root.is_sequence()) {
    for (const text::Value& each : root.elements())
      if (each.is_mapping()) out.push_back(word_of(each));
  }
  return out;
}

}  // namespace

SchedulerPages::SchedulerPages(std::shared_ptr<net::Endpoint> endpoint)
    : endpoint_(std::move(endpoint)), client_(threads_, endpoint_, client_options()) {}

Result<std::unique_ptr<SchedulerPages>> SchedulerPages::make(const SchedulerAddress& scheduler,
                                                             const ClusterAddress& cluster, const Clock& clock) {
  Result<std::shared_ptr<net::Endpoint>> endpoint = connect_to_scheduler(scheduler, cluster, clock);
  if (!endpoint.ok()) return endpoint.error();
  return std::unique_ptr<SchedulerPages>(new SchedulerPages(std::move(*endpoint)));
}

Result<std::string> SchedulerPages::get(std::string target) {
  net::Request request;
  request.target = target;
  request.accept = "*/*";
  request.answer_bytes_max = k_answer_bytes_max;
  Result<std::string> answer = cluster::kube::ask_server(client_, std::move(request), k_answer_limit);
  if (answer.ok()) return answer;
  const net::Url& url = endpoint_->server();
  return Error{fmt::format("{}://{}{}{}: {}", url.scheme, url.authority(), url.path, target, answer.error().message),
               answer.error().code};
}

Result<std::vector<report::QueueWord>> SchedulerPages::pod(std::string_view pod) {
  const std::size_t slash = std::min(pod.find('/'), pod.size());
  const std::string target = fmt::format("/debug/pods/{}/{}", net::percent_encode(pod.substr(0, slash)),
                                         net::percent_encode(pod.substr(std::min(slash + 1, pod.size()))));
  const Result<std::string> page = get(target);
  if (!page.ok() && page.error().code == ErrorCode::not_found) return std::vector<report::QueueWord>();
  if (!page.ok()) return page.error();
  return words_of(*page, target);
}

Result<std::vector<report::QueueWord>> SchedulerPages::queue() {
  const Result<std::string> page = get("/debug/queue");
  if (!page.ok()) return page.error();
  return words_of(*page, "/debug/queue");
}

Result<std::map<std::string, report::PluginCalls, std::less<>>> SchedulerPages::plugin_calls() {
  constexpr const char* k_target = "/debug/plugins";
  std::map<std::string, report::PluginCalls, std::less<>> out;
  const Result<std::string> page = get(k_target);
  if (!page.ok() && (page.error().code == ErrorCode::not_found || page.error().code == ErrorCode::forbidden))
    return out;
  if (!page.ok()) return page.error();
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(*page, k_target, diagnostics);
  if (documents.size() != 1 || !documents.front().root().is_sequence())
    return Error{fmt::format("{}: the answer is no list in JSON: is that a berth?", k_target)};
  const auto number = [](const text::Value& of, std::string_view name) {
    const text::Value* const value = of.find(name);
    return value == nullptr ? std::int64_t{0} : std::max<std::int64_t>(value->integer().value_or(0), 0);
  };
  for (const text::Value& each : documents.front().root().elements())
    if (each.is_mapping()) out[std::string(each.text_at("name"))] = {number(each, "calls"), number(each, "tookNs")};
  return out;
}

Result<std::string> SchedulerPages::configuration() {
  const Result<std::string> page = get("/configz");
  if (!page.ok()) return page.error();
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(*page, "/configz", diagnostics);
  const text::Value* const config = documents.size() == 1 ? documents.front().root().find("componentconfig") : nullptr;
  if (config == nullptr || !config->is_mapping())
    return Error{"/configz: holds no componentconfig: --config names the policies"};
  return text::to_json(*config);
}

}  // namespace berth::app
