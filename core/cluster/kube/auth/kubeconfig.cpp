// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/auth/kubeconfig.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "base/base64.hpp"
#include "base/read_file.hpp"
#include "decode/cursor.hpp"
#include "net/proxy.hpp"
#include "observe/log.hpp"
#include "text/parse.hpp"

namespace berth::cluster::kube {
namespace {

using decode::Cursor;

/// Reads one file; every method reports at the value that is wrong.
class Reader {
 public:
  Reader(const std::string& file, const KubeconfigOptions& options)
      : directory_(std::filesystem::path(file).parent_path()), options_(options) {}

  std::optional<ClientConfig> read(const Cursor& root, text::Diagnostics& diagnostics) {
    const std::size_t before = diagnostics.size();
    check_header(root);
    const Cursor current = root.child("current-context");
    const std::string name = options_.context.empty() ? std::string(current.string_or({})) : options_.context;
    const Cursor contexts = root.sequence("contexts");
    const Cursor clusters = root.sequence("clusters");
    const Cursor users = root.sequence("users");
    ClientConfig config;
    if (name.empty()) {
      // A server given on the command line needs no context.
      if (options_.server.empty()) current.add_error("names no context", "the name of one of the contexts");
      read_server(options_.server, config, nullptr);
    } else {
      const bool found = with_named(contexts, name, "context", [&](const Cursor& context) {
        const Cursor cluster = context.child("cluster");
        const Cursor user = context.child("user");
        const std::string cluster_name(cluster.string_or({})), user_name(user.string_or({}));
        if (!with_named(clusters, cluster_name, "cluster", [&](const Cursor& c) { read_cluster(c, config); }))
          cluster.add_error(fmt::format("there is no cluster \"{}\"", cluster_name), "the name of one of the clusters");
        if (!user_name.empty() && !with_named(users, user_name, "user", [&](const Cursor& u) { read_user(u, config); }))
          user.add_error(fmt::format("there is no user \"{}\"", user_name), "the name of one of the users");
      });
      if (!found) current.add_error(fmt::format("there is no context \"{}\"", name), "the name of one of the contexts");
    }
    if (diagnostics.size() != before) return std::nullopt;
    return config;
  }

 private:
  static void check_header(const Cursor& root) {
    const Cursor version = root.child("apiVersion");
    const Cursor kind = root.child("kind");
    if (const auto text = version.string(); text && *text != "v1") version.add_error("must be v1");
    if (const auto text = kind.string(); text && *text != "Config") kind.add_error("must be Config");
  }

  /// Calls body with the member `what` of the first list entry of that name.
  template <typename Body>
  static bool with_named(const Cursor& list, std::string_view name, std::string_view what, Body&& body) {
    bool found = false;
    list.each([&](const Cursor& entry) {
      const Cursor entry_name = entry.child("name");
      if (found || entry_name.string_or({}) != name) return;
      found = true;
      const Cursor content = entry.mapping(what);
      body(content);
    });
    return found;
  }

  std::string path(const Cursor& cursor) const {
    const std::string_view text = cursor.string_or({});
    if (text.empty()) return {};
    const std::filesystem::path given(text);
    return given.is_absolute() ? given.string() : (directory_ / given).lexically_normal().string();
  }

  net::PemSource pem(const Cursor& parent, std::string_view key) const {
    const std::string data_key = std::string(key) + "-data";  // a cursor refers to its key
    const Cursor file = parent.child(key);
    const Cursor data = parent.child(data_key);
    net::PemSource out;
    out.file = path(file);
    if (const auto text = data.string(); text && !text->empty()) {
      if (auto bytes = decode_base64(*text)) {
        out.data = std::move(*bytes);
      } else {
        data.add_error("is not base64");
      }
    }
    return out;
  }

  void read_server(const std::string& text, ClientConfig& config, const Cursor* at) const {
    const bool tls = !config.tls.authority.empty() || config.tls.insecure || !config.tls.certificate.empty();
    if (text.empty() && at == nullptr) return;
    Result<net::Url> url = net::parse_url(text, tls ? "https" : "http");
    if (url.ok() && url->scheme != "https" && url->scheme != "http") url = Error{"the scheme must be http or https"};
    if (url.ok()) {
      config.server = std::move(*url);
    } else if (at != nullptr) {
      at->add_error(url.error().message);
    }
  }

  void read_cluster(const Cursor& cluster, ClientConfig& config) const {
    const Cursor server = cluster.child("server");
    const Cursor name = cluster.child("tls-server-name");
    const Cursor insecure = cluster.child("insecure-skip-tls-verify");
    const Cursor proxy = cluster.child("proxy-url");
    const Cursor compression = cluster.child("disable-compression");
    config.tls.authority = pem(cluster, "certificate-authority");
    config.tls.server_name = name.string_or({});
    config.tls.insecure = insecure.boolean().value_or(false);
    config.disable_compression = compression.boolean().value_or(true);
    if (config.tls.insecure && !config.tls.authority.empty())
      insecure.add_error("must not be true together with a certificate authority", "one of the two");
    const std::string url(options_.server.empty() ? server.string_or({}) : options_.server);
    if (url.empty())
      server.add_error("a cluster needs a server");
    else
      read_server(url, config, &server);
    if (const auto text = proxy.string(); text && !text->empty()) {
      Result<net::Url> parsed = net::parse_url(*text, "http");
      if (parsed.ok() && !net::is_proxy_scheme(parsed->scheme))
        parsed =
            Error{fmt::format("a proxy of scheme {} is not supported; http, https and socks5 are", parsed->scheme)};
      if (parsed.ok())
        config.proxy = std::move(*parsed);
      else
        proxy.add_error(parsed.error().message);
    }
  }

  void read_user(const Cursor& user, ClientConfig& config) const {
    const Cursor token = user.child("token");
    const Cursor token_file = user.child("tokenFile");
    const Cursor username = user.child("username");
    const Cursor password = user.child("password");
    const Cursor provider = user.child("auth-provider");
    AuthOptions& auth = config.auth;
    config.tls.certificate = pem(user, "client-certificate");
    config.tls.key = pem(user, "client-key");
    auth.token = token.string_or({});
    auth.token_file = path(token_file);
    auth.username = username.string_or({});
    auth.password = password.string_or({});
    const bool bearer = !auth.token.empty() || !auth.token_file.empty();
    const bool basic = !auth.username.empty() || !auth.password.empty();
    if (config.tls.certificate.empty() != config.tls.key.empty())
      user.add_error("client-certificate and client-key must be given together");
    if (bearer && basic) username.add_error("a user has a token or a password, not both");
    if (provider.present()) provider.add_error("auth providers do not exist any more", "use exec");
    read_impersonation(user, config.impersonation);
    const Cursor exec = user.mapping("exec");
    if (exec.present()) {
      ExecPlugin plugin = read_exec(exec);
      // Credentials of the file itself win.
      if (!bearer && !basic && config.tls.certificate.empty()) auth.exec = std::move(plugin);
    }
  }

  static void read_impersonation(const Cursor& user, Impersonation& out) {
    const Cursor as = user.child("as");
    const Cursor uid = user.child("as-uid");
    const Cursor groups = user.sequence("as-groups");
    const Cursor extra = user.mapping("as-user-extra");
    out.user = as.string_or({});
    out.uid = uid.string_or({});
    groups.each([&](const Cursor& group) { out.groups.emplace_back(group.string_or({})); });
    extra.each_member([&](std::string_view key, const Cursor& values) {
      values.each([&](const Cursor& value) { out.extra[std::string(key)].emplace_back(value.string_or({})); });
    });
    if (out.user.empty() && (!out.uid.empty() || !out.groups.empty() || !out.extra.empty()))
      user.add_error("as-uid, as-groups and as-user-extra need as");
  }

  ExecPlugin read_exec(const Cursor& exec) const {
    const Cursor version = exec.child("apiVersion");
    const Cursor command = exec.child("command");
    const Cursor args = exec.sequence("args");
    const Cursor env = exec.sequence("env");
    const Cursor hint = exec.child("installHint");
    const Cursor mode = exec.child("interactiveMode");
    const Cursor info = exec.child("provideClusterInfo");
    ExecPlugin out;
    out.api_version = version.string_or({});
    const bool v1 = out.api_version == "client.authentication.k8s.io/v1";
    if (!v1 && out.api_version != "client.authentication.k8s.io/v1beta1")
      version.add_error(fmt::format("\"{}\" is not a version of exec plugins", out.api_version),
                        "client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1");
    out.command = command.string_or({});
    if (out.command.empty()) command.add_error("an exec plugin needs a command");
    // A name without a slash is looked for in PATH.
    if (out.command.find('/') != std::string::npos) out.command = path(command);
    args.each([&](const Cursor& arg) { out.args.emplace_back(arg.string_or({})); });
    env.each([&](const Cursor& variable) {
      const Cursor name = variable.child("name");
      const Cursor value = variable.child("value");
      if (name.string_or({}).empty()) name.add_error("an environment variable needs a name");
      out.env.emplace_back(name.string_or({}), value.string_or({}));
    });
    out.install_hint = hint.string_or({});
    out.provides_cluster_info = info.boolean().value_or(false);
    const std::string_view interactive = mode.string_or({});
    if (interactive == "Never")
      out.interactive = ExecPlugin::Interactive::never;
    else if (interactive == "Always")
      mode.add_error("a scheduler has no terminal that a plugin could ask at", "Never or IfAvailable");
    else if (interactive != "IfAvailable" && (v1 || !interactive.empty()))
      mode.add_error(interactive.empty() ? "must be given" : fmt::format("\"{}\" is not a mode", interactive),
                     "Never or IfAvailable");
    return out;
  }

  const std::filesystem::path directory_;
  const KubeconfigOptions& options_;
};

}  // namespace

std::optional<ClientConfig> read_kubeconfig(std::string_view text, const std::string& file,
                                            const KubeconfigOptions& options, text::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  const std::vector<text::Document> documents = text::parse(text, file, diagnostics);
  if (diagnostics.size() != before) return std::nullopt;
  if (documents.empty() || !documents.front().root().is_mapping()) {
    diagnostics.add(file, {}, {}, "is not a kubeconfig", "a mapping with clusters, users and contexts");
    return std::nullopt;
  }
  const Cursor root(documents.front(), documents.front().root(), diagnostics);
  return Reader(file, options).read(root, diagnostics);
}

std::optional<ClientConfig> load_kubeconfig(const std::string& path, const KubeconfigOptions& options,
                                            text::Diagnostics& diagnostics) {
  const Result<std::string> text = read_file_bytes(path);
  if (!text.ok()) {
    diagnostics.add(path, {}, {}, "cannot be read: " + text.error().message);
    return std::nullopt;
  }
  return read_kubeconfig(*text, path, options, diagnostics);
}

Result<ClientConfig> in_cluster_config(const Environment& environment, const std::string& directory) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST"), port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    return Error{
        "no kubeconfig is given, and this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"};
  const bool v6 = host.find(':') != std::string::npos;
  Result<net::Url> server = net::parse_url(fmt::format("https://{}:{}", v6 ? "[" + host + "]" : host, port), "https");
  if (!server.ok()) return server.error();
  ClientConfig config;
  config.server = std::move(*server);
  config.auth.token_file = directory + "/token";
  std::error_code ignored;
  if (!std::filesystem::exists(config.auth.token_file, ignored))
    return Error{
        fmt::format("no kubeconfig is given, and this pod has no service account token at {}", config.auth.token_file)};
  if (std::filesystem::exists(directory + "/ca.crt", ignored))
    config.tls.authority.file = directory + "/ca.crt";
  else
    observe::error("There is no ca.crt: the API server is verified against the system's roots",
                   {{"directory", directory}});
  return config;
}

}  // namespace berth::cluster::kube
