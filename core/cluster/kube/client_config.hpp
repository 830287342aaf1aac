// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/kube/url.hpp"

/// How to reach an API server and as whom: plain values, read from a kubeconfig or from a pod's own files.
namespace berth::cluster::kube {

/// PEM text, or the file that holds it. A file is read again whenever a connection is made, so that it may be rotated.
struct PemSource {
  std::string data;  // wins over the file
  std::string file;
  bool empty() const noexcept { return data.empty() && file.empty(); }
  friend bool operator==(const PemSource&, const PemSource&) = default;
};

struct TlsOptions {
  PemSource authority;  // empty: the system's roots
  PemSource certificate, key;
  std::string server_name;  // for SNI and verification; empty: the server's host
  bool insecure = false;    // the server's certificate is not verified
};

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
  Url server;
  TlsOptions tls;
  AuthOptions auth;
  Impersonation impersonation;
  std::optional<Url> proxy;         // absent: the environment decides
  bool disable_compression = true;  // as kube-scheduler; `disable-compression: false` in a kubeconfig asks for gzip
};

}  // namespace berth::cluster::kube
