// SPDX-License-Identifier: Apache-2.0
#include "app/commands/auth_command.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/commands/policy_source.hpp"
#include "app/live/api_connection.hpp"
#include "base/product.hpp"
#include "cluster/kube/read/api_question.hpp"
#include "config/read/source_file.hpp"
#include "config/resolve.hpp"
#include "text/json_object.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

using text::JsonObject;
constexpr std::chrono::seconds k_auth_limit{10};

/// One verb of a rule, as the server is asked about it.
struct Right {
  std::string verb, group, resource, ns, name;
  auto operator<=>(const Right&) const = default;

  std::string text() const {
    std::string out = fmt::format("{} {}", verb, resource);
    if (!group.empty()) out += "." + group;
    if (!name.empty()) out += " " + name;
    if (!ns.empty()) out += " in " + ns;
    return out;
  }
};

std::set<Right> rights_of(const std::vector<AccessRule>& rules) {
  std::set<Right> out;
  for (const AccessRule& rule : rules)
    for (const std::string& verb : rule.verbs) out.insert({verb, rule.group, rule.resource, rule.ns, rule.name});
  return out;
}

Result<bool> ask(net::HttpClient& client, const Right& right) {
  const std::size_t slash = std::min(right.resource.find('/'), right.resource.size());
  JsonObject attributes, spec, body;
  if (!right.ns.empty()) attributes.text("namespace", right.ns);
  attributes.text("verb", right.verb).text("group", right.group).text("resource", right.resource.substr(0, slash));
  if (slash < right.resource.size()) attributes.text("subresource", right.resource.substr(slash + 1));
  if (!right.name.empty()) attributes.text("name", right.name);
  spec.json("resourceAttributes", attributes.done());
  body.text("apiVersion", "authorization.k8s.io/v1").text("kind", "SelfSubjectAccessReview");
  net::Request request;
  request.method = net::Method::post;
  request.target = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  request.body = body.json("spec", spec.done()).done();
  request.retry = {3, std::chrono::milliseconds(100), 2};
  const Result<std::string> answer = cluster::kube::ask_server(client, std::move(request), k_auth_limit);
  if (!answer.ok()) return answer.error();
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(*answer, "access review", diagnostics);
  const text::Value* const allowed = documents.empty() ? nullptr : documents.front().root().find_path("status.allowed");
  return allowed != nullptr && allowed->boolean();
}

/// Roles that grant what is missing: one for the cluster, one for each namespace.
std::string roles_of(const std::vector<Right>& missing) {
  std::map<std::string, std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>>> by_ns;
  for (const Right& right : missing) by_ns[right.ns][{right.group, right.resource, right.name}].push_back(right.verb);
  std::string out;
  for (const auto& [ns, rules] : by_ns) {
    out += fmt::format("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {}\nmetadata:\n  name: berth-missing\n",
                       ns.empty() ? "ClusterRole" : "Role");
    if (!ns.empty()) out += fmt::format("  namespace: {}\n", ns);
    out += "rules:\n";
    for (const auto& [what, verbs] : rules) {
      out += fmt::format("- apiGroups: [\"{}\"]\n  resources: [{}]\n", std::get<0>(what), std::get<1>(what));
      if (!std::get<2>(what).empty()) out += fmt::format("  resourceNames: [{}]\n", std::get<2>(what));
      out += fmt::format("  verbs: [{}]\n", fmt::join(verbs, ", "));
    }
  }
  return out;
}

}  // namespace

std::vector<AccessRule> needed_rules(const config::Configuration& configuration, const PluginLibrary& plugins,
                                     std::vector<std::string>& unreadable) {
  const std::vector<std::string> watch{"get", "list", "watch"};
  std::vector<AccessRule> out{{"", "nodes", watch},
                              {"", "pods", watch},
                              {"", "pods/status", {"patch"}},
                              {"", "events", {"create", "patch"}},
                              {"events.k8s.io", "events", {"create", "patch"}},
                              {"authentication.k8s.io", "tokenreviews", {"create"}},
                              {"authorization.k8s.io", "subjectaccessreviews", {"create"}},
                              {"", "configmaps", {"get"}, "kube-system", "extension-apiserver-authentication"}};
  if (const config::LeaderElection& election = configuration.leader_election; election.leader_elect) {
    out.push_back({"coordination.k8s.io", "leases", {"create"}, election.resource_namespace});
    out.push_back({"coordination.k8s.io",
                   "leases",
                   {"get", "update", "watch"},
                   election.resource_namespace,
                   election.resource_name});
  }
  std::set<std::string> enabled;
  for (const config::Profile& profile : configuration.profiles)
    for (const auto& point : profile.points)
      for (const config::EnabledPlugin& plugin : point)
        if (!plugin.absent) enabled.insert(plugin.name);
  for (const loader::LoadedLibrary& library : plugins.plugins.libraries())
    for (const loader::PluginNote& note : library.notes) {
      if (!enabled.contains(note.plugin)) continue;
      const auto add = [&](const std::string& text, std::optional<AccessRule> rule) {
        if (rule)
          out.push_back(std::move(*rule));
        else
          unreadable.push_back(fmt::format("{}: cannot make a rule of \"{}\"", note.plugin, text));
      };
      for (const std::string& watched : note.watches) add(watched, rule_of_watch(watched));
      for (const std::string& rbac : note.rbac) add(rbac, rule_of_rbac(rbac));
    }
  return out;
}

int run_auth_check(const AuthCheckOptions& options, std::ostream& out, std::ostream& err) {
  text::Diagnostics diagnostics;
  const SystemClock clock{};
  // A Policy that must not be read yet is no reason to say nothing: that right is one of those that are missing.
  std::vector<AccessRule> policies;
  config::TranslateOptions translate;
  translate.read_policy = [&](const config::PolicyLocation& location) -> Result<std::string> {
    if (!location.file.empty()) return config::read_policy_file(location);
    policies.push_back({"", "configmaps", {"get"}, location.config_map_namespace, location.config_map_name});
    Result<std::string> policy = read_policy_map(
        location, options.kubeconfig.empty() ? location.kubeconfig : options.kubeconfig, options.master, clock);
    if (policy.ok()) return policy;
    err << fmt::format("configmap {}/{}: {}; the rights below are those of the default Policy\n",
                       location.config_map_namespace, location.config_map_name, policy.error().message);
    return std::string(R"({"kind":"Policy","apiVersion":"v1"})");
  };
  const config::RawConfiguration raw =
      options.config.empty() ? config::load_defaults() : config::load_file(options.config, diagnostics, translate);
  const PluginLibrary plugins = load_plugins(raw, options.plugin_dir);
  config::Configuration configuration;
  if (plugins.ok())
    configuration = config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), diagnostics);
  else
    err << plugins.report.render();
  err << diagnostics.render();
  if (!plugins.ok() || !diagnostics.empty()) return 1;

  std::vector<std::string> unreadable;
  std::vector<AccessRule> rules = needed_rules(configuration, plugins, unreadable);
  rules.insert(rules.end(), policies.begin(), policies.end());
  const std::set<Right> rights = rights_of(rules);
  for (const std::string& text : unreadable) err << text << '\n';
  const std::string& kubeconfig =
      options.kubeconfig.empty() ? configuration.client_connection.kubeconfig : options.kubeconfig;
  const auto endpoint = connect(kubeconfig, options.master, clock);
  if (!endpoint.ok()) {
    err << "berth: " << endpoint.error().message << '\n';
    return 1;
  }
  net::IoThreads io(1);
  net::HttpClientOptions client_options;
  client_options.user_agent = user_agent("auth-check");
  client_options.qps = -1;
  net::HttpClient client(io, *endpoint, client_options);

  std::vector<Right> missing;
  for (const Right& right : rights) {
    const Result<bool> allowed = ask(client, right);
    if (!allowed.ok()) {
      err << fmt::format("berth: whether we may {} cannot be asked: {}\n", right.text(), allowed.error().message);
      return 1;
    }
    if (!*allowed) missing.push_back(right);
  }
  if (missing.empty()) {
    out << fmt::format("all {} rights that berth needs are granted\n", rights.size());
    return unreadable.empty() ? 0 : 1;
  }
  for (const Right& right : missing) out << "missing: " << right.text() << '\n';
  out << fmt::format("{} of {} rights are missing; these roles grant them:\n{}", missing.size(), rights.size(),
                     roles_of(missing));
  return 1;
}

}  // namespace berth::app
