// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/endpoint.hpp"

/// How to reach an API server and as whom: plain values, read from a kubeconfig or from a pod's own files.
namespace berth::cluster::kube {

/// A command that prints an ExecCredential.
struct ExecPlugin {
  enum class Interactive { never, if_available, always };
  std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1
  std::string command;      // absolute, or looked for in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;
  Interactive interactive = Interactive::if_available;
  bool provides_cluster_info = false;
};

struct AuthOptions {
  std::string token;
  std::string token_file;  // wins over `token` while it can be read
  std::string username, password;
  bool password_in_plain = false;  // it goes over plain HTTP too; tokens never do
  std::optional<ExecPlugin> exec;
};

struct Impersonation {
  std::string user, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

struct ClientConfig {
  net::Url server;
  net::TlsOptions tls;
  AuthOptions auth;
  Impersonation impersonation;
  std::optional<net::Url> proxy;    // absent: the environment decides
  bool disable_compression = true;  // as kube-scheduler; `disable-compression: false` in a kubeconfig asks for gzip
};

}  // namespace berth::cluster::kube
