// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::config {

/// How an extender is spoken to through TLS. Data is PEM text and wins over the file of the same thing.
struct ExtenderTls {
  bool insecure = false;    // its certificate is not verified
  std::string server_name;  // empty: the URL's host
  std::string cert_file, key_file, ca_file;
  std::string cert_data, key_data, ca_data;
};

struct ManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;
};

/// One entry of `extenders`, as written, checked and with its defaults.
/// Source: kubernetes v1.36 pkg/scheduler/apis/config/types.go (Extender).
struct Extender {
  std::string url_prefix;
  std::string filter_verb, prioritize_verb, preempt_verb, bind_verb;  // empty: it does not do that
  std::int64_t weight = 0;                                            // above 0 where prioritize_verb is set
  bool enable_https = false;
  std::optional<ExtenderTls> tls;
  std::int64_t http_timeout_ns = 5'000'000'000;
  bool node_cache_capable = false;
  std::vector<ManagedResource> managed_resources;  // empty: every pod is of interest to it
  bool ignorable = false;
  std::string where;  // "berth.yaml:14:9  extenders[2]", for errors
};

}  // namespace berth::config
