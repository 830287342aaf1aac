// SPDX-License-Identifier: Apache-2.0
// Source: kubernetes v1.36 pkg/scheduler/apis/config/validation/validation.go (validateExtenders), and what
// staging/src/k8s.io/client-go/transport/transport.go refuses at the start.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/base64.hpp"
#include "base/url_text.hpp"
#include "config/read/load_parts.hpp"
#include "config/read/names.hpp"

namespace berth::config {
namespace {

constexpr std::size_t k_name_bytes_max = 63;
constexpr std::size_t k_prefix_bytes_max = 253;

/// What must be unique over all extenders.
struct Seen {
  std::size_t binders = 0;
  std::set<std::string, std::less<>> resources;
};

bool is_alphanumeric(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// A DNS subdomain: lower case, labels between dots.
bool is_domain(std::string_view text) {
  if (text.empty() || text.size() > k_prefix_bytes_max) return false;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t dot = std::min(text.find('.', start), text.size());
    const std::string_view label = text.substr(start, dot - start);
    const auto fits = [](char c) {
      return (is_alphanumeric(c) && std::isupper(static_cast<unsigned char>(c)) == 0) || c == '-';
    };
    if (label.empty() || label.front() == '-' || label.back() == '-' || !std::all_of(label.begin(), label.end(), fits))
      return false;
    start = dot + 1;
  }
  return true;
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= k_name_bytes_max && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), fits);
}

/// Source: kubernetes v1.36 pkg/apis/core/v1/helper/helpers.go (IsExtendedResourceName).
Status is_extended_resource(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return Error{"not the name of an extended resource"};
  if (!is_domain(name.substr(0, slash)) || !is_name(name.substr(slash + 1))) return Error{"not a qualified name"};
  if (name.find("kubernetes.io/") != std::string_view::npos || name.starts_with("requests."))
    return Error{"is an invalid extended resource name"};
  return Unit{};
}

void read_pem(Fields& tls, std::string_view key, const Source& source, std::string& out) {
  std::string encoded;
  if (!tls.read(key, encoded)) return;
  if (std::optional<std::string> bytes = decode_base64(encoded))
    out = std::move(*bytes);
  else
    source.report(tls.place_of(key), "Invalid value: not base64", "PEM text, encoded as `base64 FILE` prints it");
}

void read_tls(Fields& extender, const Source& source, std::optional<ExtenderTls>& out) {
  const text::Value* value = extender.mapping("tlsConfig");
  if (value == nullptr) return;
  Fields tls(source, *value, extender.path_of("tlsConfig"));
  ExtenderTls& read = out.emplace();
  tls.read("insecure", read.insecure);
  tls.read("serverName", read.server_name);
  tls.read("certFile", read.cert_file);
  tls.read("keyFile", read.key_file);
  tls.read("caFile", read.ca_file);
  read_pem(tls, "certData", source, read.cert_data);
  read_pem(tls, "keyData", source, read.key_data);
  read_pem(tls, "caData", source, read.ca_data);
  if (read.insecure && !(read.ca_file.empty() && read.ca_data.empty()))
    source.report(tls.place_of("insecure"), "specifying a root certificates file with the insecure flag is not allowed",
                  "leave out one of them");
  const bool has_certificate = !read.cert_file.empty() || !read.cert_data.empty();
  if (has_certificate == (read.key_file.empty() && read.key_data.empty()))
    source.report(tls.place(), has_certificate ? "has a certificate, but no key" : "has a key, but no certificate",
                  "a client certificate needs both");
}

void read_managed_resources(Fields& extender, const Source& source, Seen& seen, std::vector<ManagedResource>& out) {
  const text::Value* list = extender.sequence("managedResources");
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    Fields fields(source, list->elements()[i], fmt::format("{}[{}]", extender.path_of("managedResources"), i));
    ManagedResource resource;
    fields.read("name", resource.name);
    fields.read("ignoredByScheduler", resource.ignored_by_scheduler);
    if (const Status valid = is_extended_resource(resource.name); !valid.ok())
      source.report(fields.place_of("name"),
                    fmt::format("Invalid value: {}: {}", quoted(resource.name), valid.error().message),
                    "such as example.com/gpu");
    else if (!seen.resources.insert(resource.name).second)
      source.report(fields.place_of("name"),
                    fmt::format("Invalid value: {}: duplicate extender managed resource name", quoted(resource.name)),
                    "one extender manages a resource");
    out.push_back(std::move(resource));
  }
}

void read_timeout(Fields& fields, const Source& source, std::int64_t& out_ns) {
  std::int64_t ns = 0;
  if (!fields.read_duration("httpTimeout", ns) || ns == 0) return;  // zero is unset
  if (ns < 0)
    source.report(fields.place_of("httpTimeout"),
                  fmt::format("Invalid value: {}: must not be negative", quoted(format_duration(ns))),
                  "the scheduling thread waits that long at most");
  out_ns = ns;
}

Extender read_extender(const text::Value& value, std::string path, const Source& source, Seen& seen) {
  Fields fields(source, value, std::move(path));
  Extender out;
  out.where = source.where(fields.place());
  fields.read("urlPrefix", out.url_prefix);
  fields.read("filterVerb", out.filter_verb);
  fields.read("prioritizeVerb", out.prioritize_verb);
  fields.read("preemptVerb", out.preempt_verb);
  fields.read("bindVerb", out.bind_verb);
  fields.read("weight", out.weight);
  fields.read("enableHTTPS", out.enable_https);
  fields.read("nodeCacheCapable", out.node_cache_capable);
  fields.read("ignorable", out.ignorable);
  read_timeout(fields, source, out.http_timeout_ns);
  read_tls(fields, source, out.tls);
  read_managed_resources(fields, source, seen, out.managed_resources);

  if (out.url_prefix.empty())
    source.report(fields.place_of("urlPrefix"), "Required value", "the URL of the extender");
  else if (!out.url_prefix.starts_with("http://") && !out.url_prefix.starts_with("https://"))
    source.report(
        fields.place_of("urlPrefix"),
        fmt::format("Invalid value: {}: neither http:// nor https://", quoted(url_without_password(out.url_prefix))),
        "such as http://127.0.0.1:8888/scheduler");
  if (!out.prioritize_verb.empty() && out.weight <= 0)
    source.report(fields.place_of("weight"),
                  fmt::format("Invalid value: {}: must have a positive weight applied to it", out.weight),
                  "prioritizeVerb is set");
  if (!out.bind_verb.empty() && ++seen.binders > 1)
    source.report(fields.place_of("bindVerb"), "found several extenders that implement bind",
                  "only one extender can implement bind");
  return out;
}

}  // namespace

std::vector<Extender> read_extenders(Fields& root, const Source& source) {
  std::vector<Extender> extenders;
  const text::Value* list = root.sequence("extenders");
  if (list == nullptr) return extenders;
  Seen seen;
  for (std::size_t i = 0; i < list->elements().size(); ++i)
    extenders.push_back(
        read_extender(list->elements()[i], fmt::format("{}[{}]", root.path_of("extenders"), i), source, seen));
  return extenders;
}

}  // namespace berth::config
