// SPDX-License-Identifier: Apache-2.0
#include "cases/case_runner.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/plugins/decode_retention.hpp"
#include "cases/case_objects.hpp"
#include "config/read/merge.hpp"
#include "config/resolve.hpp"
#include "text/parse.hpp"

namespace berth::cases {
namespace {

constexpr std::int64_t k_default_start_ns = 100'000'000'000;

std::string json_text(std::string_view value) {
  std::string out;
  text::append_json_string(out, value);
  return out;
}

/// Pods of the namespace "default" go by their names.
std::string short_key(const model::Pod& pod) { return pod.ns == "default" ? pod.name : pod.key(); }

std::string_view place_name(queue::Place place) {
  switch (place) {
    case queue::Place::nowhere:
      return "nowhere";
    case queue::Place::active:
      return "active";
    case queue::Place::backoff:
      return "backoff";
    case queue::Place::error_backoff:
      return "error_backoff";
    case queue::Place::unschedulable:
      return "unschedulable";
    case queue::Place::in_flight:
      return "in_flight";
  }
  return "";
}

config::RawConfiguration read_configuration(const text::Document& document, text::Diagnostics& problems) {
  const text::Value* given = document.root().find("config");
  const text::Value* legacy = document.root().find("legacy");
  if (given == nullptr && legacy == nullptr) return config::load_defaults();
  std::string json = given != nullptr ? text::to_json(*given) : "{}";
  const std::string head = R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration")";
  json = json == "{}" ? head + "}" : head + "," + json.substr(1);
  if (legacy == nullptr) return config::load(json, document.file(), problems);
  const std::string berth = R"({"apiVersion":"config.berth.dev/v1alpha1","kind":"BerthConfiguration","legacy":)" +
                            text::to_json(*legacy) + "}";
  return config::load("---\n" + json + "\n---\n" + berth + "\n", document.file(), problems);
}

}  // namespace

std::optional<std::int64_t> duration_ns(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const double ns = unit == "ms" ? 1e6 : unit == "s" ? 1e9 : unit == "m" ? 6e10 : 0;
  if (ns == 0) return std::nullopt;
  return std::llround(value * ns);
}

std::string seconds_text(std::int64_t ns) {
  std::string text = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "s";
}

std::string StepResult::json() const {
  text::Diagnostics problems;
  const auto documents = text::parse_yaml(body, "result", problems);
  return documents.empty() ? "null" : text::to_json(documents.front().root());
}

CaseRunner::CaseRunner(const text::Document& document, text::Diagnostics& problems,
                       std::optional<config::VerdictReuse> reuse)
    : document_(document), problems_(problems), reuse_(reuse) {
  static constexpr std::string_view k_keys[] = {"start",  "config",  "legacy",       "nodes",
                                                "pods",   "objects", "fail_bind",    "post_filter",
                                                "expect", "steps",   "feature_gates"};
  for (const text::Member& member : document.root().members())
    if (std::find(std::begin(k_keys), std::end(k_keys), member.key) == std::end(k_keys))
      problems_.add(document_.file(), member.key_position, std::string(member.key), "no such key",
                    fmt::format("{}", fmt::join(k_keys, ", ")));
  if (problems_.empty()) make(document.root());
}

CaseRunner::~CaseRunner() = default;

void CaseRunner::add_problem(const text::Value& where, std::string message) {
  problems_.add(document_.file(), where.position(), "", std::move(message));
}

app::FeatureGates CaseRunner::read_gates(const text::Value& root) {
  std::vector<std::string> settings;
  text::Diagnostics flag_errors, warnings;
  const text::Value* given = root.find("feature_gates");
  if (given == nullptr) return {};
  for (const text::Value& setting : given->elements()) settings.emplace_back(setting.text());
  constexpr int k_minor = 36;
  app::FeatureGates gates = app::FeatureGates::read(settings, k_minor, warnings, flag_errors);
  for (const text::Diagnostic& error : flag_errors.all()) add_problem(*given, error.message);
  return gates;
}

void CaseRunner::make(const text::Value& root) {
  config::RawConfiguration raw = read_configuration(document_, problems_);
  const app::FeatureGates gates = read_gates(root);
  config::enable_by_gates(raw.profiles, config::AbsentPlugins::embedded(),
                          [&](std::string_view gate) { return gates.enabled(gate); });
  plugins_ = app::load_plugins(raw, BERTH_BINARY_DIR "/plugins");
  if (!plugins_->ok()) return add_problem(root, plugins_->report.render());
  configuration_ = config::resolve(raw, plugins_->catalog(), config::AbsentPlugins::embedded(), problems_);
  if (!problems_.empty()) return;
  configuration_.features = gates.features();
  if (reuse_) configuration_.plugins.verdict_reuse = *reuse_;
  app::Simulation::Options options;
  options.explain_all = true;
  options.refuse = failures_.refuse();
  options.start_wall_ns = k_default_start_ns;
  if (const text::Value* start = root.find("start")) {
    const auto given = duration_ns(start->text());
    if (!given) return add_problem(*start, "a time is written 100.3s");
    options.start_wall_ns = *given;
  }
  auto made = app::Simulation::make(symbols_, configuration_, *plugins_, options);
  if (made.ok())
    simulation_ = std::move(*made);
  else
    for (const text::Diagnostic& each : made.error().all()) add_problem(root, each.message);
}

StepResult CaseRunner::start() {
  const text::Value& root = document_.root();
  for (const char* kind : {"nodes", "objects", "pods"})
    if (const text::Value* list = root.find(kind))
      for (const text::Value& object : list->elements())
        put(std::string_view(kind).substr(0, std::string_view(kind).size() - 1), object, false);
  if (const text::Value* failing = root.find("fail_bind")) act("fail_bind", *failing);
  return finish();
}

StepResult CaseRunner::run(const text::Value& step) {
  for (const text::Member& member : step.members())
    if (member.key != "expect") act(member.key, member.value);
  return finish();
}

void CaseRunner::act(std::string_view verb, const text::Value& what) {
  if (verb == "add" || verb == "update") {
    for (const text::Member& member : what.members()) put(member.key, member.value, verb == "update");
  } else if (verb == "delete") {
    remove(what);
  } else if (verb == "together") {
    for (const text::Value& each : what.elements())
      for (const text::Member& member : each.members()) act(member.key, member.value);
  } else if (verb == "fail_bind") {
    const std::string pod(what.text());
    failures_.next(cluster::RecordedWrite::Kind::bind, {"the API server said no", ErrorCode::internal_error},
                   pod.find('/') == std::string::npos ? "default/" + pod : pod);
  } else if (verb == "advance") {
    const auto duration = duration_ns(what.text());
    if (!duration) return add_problem(what, "a duration is written 10s, 500ms or 5m");
    const auto watcher = [this](report::Decision decision) {
      attempts_.push_back({simulation_->clock().wall_ns(), std::move(decision)});
    };
    simulation_->advance(std::chrono::nanoseconds(*duration), watcher);
  } else {
    add_problem(what, fmt::format("no step \"{}\": add, update, delete, advance, fail_bind, together", verb));
  }
}

void CaseRunner::put(std::string_view kind, const text::Value& what, bool merge) {
  if (kind == "object") return put_manifest(text::to_json(what));
  if (kind != "pod" && kind != "node") return add_problem(what, fmt::format("no kind \"{}\": pod, node, object", kind));
  const text::Value* ns = what.find("namespace");
  const text::Value* name = what.find("name");
  const std::string pod_ns(ns == nullptr ? "default" : ns->text());
  const std::string pod_name(name == nullptr ? "" : name->text());
  const std::string key = fmt::format("{}/{}/{}", kind, kind == "pod" ? pod_ns : "", pod_name);
  std::string form = text::to_json(what);
  text::Diagnostics ignored;
  if (merge && what.find("apiVersion") == nullptr) {
    const auto known = short_forms_.find(key);
    if (known == short_forms_.end()) return add_problem(what, fmt::format("nothing to update: {}", key));
    const auto before = text::parse_json(known->second, "before", ignored);
    form = text::merge_json(&before.front().root(), what);
    // Where berth put it, no case says.
    if (const auto pod = simulation_->cluster().find_pod(pod_ns, pod_name);
        kind == "pod" && pod && pod->node_name != k_no_symbol) {
      const auto bound =
          text::parse_json(fmt::format(R"({{"node":{}}})", json_text(symbols_.text(pod->node_name))), "bound", ignored);
      const auto merged = text::parse_json(form, "merged", ignored);
      form = text::merge_json(&merged.front().root(), bound.front().root());
    }
  }
  short_forms_[key] = form;
  const auto document = text::parse_json(form, document_.file(), problems_);
  if (document.empty()) return;
  text::Diagnostics wrong;
  const text::Value& object = document.front().root();
  const std::string manifest =
      kind == "pod" ? pod_manifest(object, document_.file(), wrong) : node_manifest(object, document_.file(), wrong);
  for (const text::Diagnostic& problem : wrong.all())
    problems_.add(document_.file(), what.position(), problem.path, problem.message, problem.advice);
  if (wrong.empty()) put_manifest(manifest);
}

void CaseRunner::put_manifest(const std::string& manifest) {
  decode::DecodeOptions options = app::decode_options(configuration_, simulation_->scheduler().views().framework);
  options.watched = simulation_->scheduler().views().objects.resources();
  options.defaulting = std::make_shared<decode::Defaulting>(simulation_->clock().wall_ns());
  const auto documents = text::parse_json(manifest, document_.file(), problems_);
  if (documents.empty()) return;
  const auto decoded =
      decode::ObjectDecoder(symbols_, options).decode(documents.front(), documents.front().root(), problems_);
  if (decoded) simulation_->cluster().put(*decoded);
}

/// pod/NAME, pod/NAMESPACE/NAME, node/NAME, or object/RESOURCE/NAMESPACE/NAME with a resource like apps/v1/replicasets.
void CaseRunner::remove(const text::Value& what) {
  const std::string_view path = what.text();
  const std::size_t first = path.find('/'), last = path.rfind('/');
  const std::string_view kind = path.substr(0, first), name = path.substr(last + 1);
  bool removed = false;
  if (kind == "node") {
    removed = simulation_->cluster().remove_node(name);
  } else if (kind == "pod") {
    const std::string_view ns = first == last ? "default" : path.substr(first + 1, last - first - 1);
    removed = simulation_->cluster().remove_pod(ns, name);
  } else if (kind == "object") {
    const std::size_t middle = path.rfind('/', last - 1);
    removed = simulation_->cluster().remove_object(path.substr(first + 1, middle - first - 1),
                                                   path.substr(middle + 1, last - middle - 1), name);
  }
  if (!removed) add_problem(what, fmt::format("nothing to delete: {}", path));
}

StepResult CaseRunner::finish() {
  simulation_->run_until_idle([this](report::Decision decision) {
    attempts_.push_back({simulation_->clock().wall_ns(), std::move(decision)});
  });
  StepResult result{attempts_yaml() + waiting_yaml()};
  if (result.body.empty()) result.body = "{}";
  attempts_.clear();
  return result;
}

std::string CaseRunner::attempts_yaml() const {
  std::string out;
  for (const Attempt& attempt : attempts_) {
    const report::Decision& decision = attempt.decision;
    out += fmt::format("  - pod: {}\n    at: {}\n", short_key(*decision.pod), seconds_text(attempt.wall_ns));
    if (!decision.node.empty()) out += fmt::format("    node: {}\n", decision.node);
    if (!decision.message.empty()) out += fmt::format("    message: {}\n", json_text(decision.message));
    const text::Value* const wanted = document_.root().find("post_filter");
    if (wanted != nullptr && wanted->boolean() && !decision.post_filter_message.empty())
      out += fmt::format("    post_filter: {}\n", json_text(decision.post_filter_message));
    if (!decision.nominated_node.empty()) out += fmt::format("    nominated: {}\n", decision.nominated_node);
    if (decision.preemption) out += fmt::format("    preempts: {}\n", json_text(decision.preemption->sentence()));
    if (!decision.explanation) continue;
    std::string rejected;
    const auto add = [&](const cycle::NodeExplanation& node) {
      if (node.code != framework::Code::success)
        rejected += fmt::format("      {}: {}\n", json_text(node.node),
                                json_text(fmt::format("{}: {}", node.plugin, fmt::join(node.reasons, ", "))));
    };
    if (decision.explanation->pod_rejection) add(*decision.explanation->pod_rejection);
    for (const cycle::NodeExplanation& node : decision.explanation->nodes) add(node);
    if (!rejected.empty()) out += "    rejected:\n" + rejected;
  }
  return out.empty() ? out : "attempts:\n" + out;
}

std::string CaseRunner::waiting_yaml() {
  const framework::PluginNames& names = simulation_->scheduler().views().framework.names();
  const auto list = [&](const model::PluginSet& plugins) {
    std::vector<std::string> found;
    plugins.for_each([&](model::PluginIndex plugin) { found.emplace_back(names.name(plugin)); });
    std::sort(found.begin(), found.end());
    return fmt::format("[{}]", fmt::join(found, ", "));
  };
  std::map<std::string, std::string> nominated;  // in the status that the cluster keeps
  for (const model::PodPtr& pod : simulation_->cluster().pods())
    if (pod->nominated_node != k_no_symbol) nominated.emplace(short_key(*pod), symbols_.text(pod->nominated_node));
  std::map<std::string, std::string> lines;
  for (const queue::PendingPod& pod : simulation_->scheduler().views().queue.pending_pods()) {
    std::string line = fmt::format("place: {}", place_name(pod.place));
    if (pod.gated()) {
      line = fmt::format("gated_by: {}, gate: {}", names.name(pod.gate), json_text(pod.gate_message));
    } else {
      if (pod.place == queue::Place::backoff || pod.place == queue::Place::error_backoff)
        line += ", until: " + seconds_text(pod.backoff_until_ns);
      if (!pod.unschedulable_plugins.empty()) line += ", by: " + list(pod.unschedulable_plugins);
      if (!pod.pending_plugins.empty()) line += ", pending: " + list(pod.pending_plugins);
    }
    if (const auto at = nominated.find(short_key(*pod.pod)); at != nominated.end())
      line += ", nominated: " + at->second;
    lines.emplace(short_key(*pod.pod), fmt::format("{{{}}}", line));
  }
  // Victims keep their room until their grace period is over.
  for (const model::PodPtr& pod : simulation_->cluster().pods())
    if (pod->deleting && pod->node_name != k_no_symbol)
      lines.emplace(short_key(*pod), fmt::format("{{leaves: {}}}", symbols_.text(pod->node_name)));
  std::string out;
  for (const auto& [pod, line] : lines) out += fmt::format("  {}: {}\n", pod, line);
  return out.empty() ? out : "waiting:\n" + out;
}

}  // namespace berth::cases
