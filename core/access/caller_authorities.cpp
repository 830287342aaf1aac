// SPDX-License-Identifier: Apache-2.0
#include "access/caller_authorities.hpp"

#include <spdlog/fmt/fmt.h>

#include <initializer_list>
#include <tuple>
#include <utility>

#include "base/guarded.hpp"
#include "base/read_file.hpp"
#include "cluster/kube/read/api_question.hpp"
#include "observe/log.hpp"
#include "serving/peer_identity.hpp"
#include "text/parse.hpp"

namespace berth::access {
namespace {

constexpr std::int64_t k_kept_ns = 60'000'000'000;
constexpr std::chrono::seconds k_authorities_limit{10};
constexpr const char* k_config_map = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// A key of the ConfigMap; its lists are JSON in a string.
class ConfigMapData {
 public:
  explicit ConfigMapData(const text::Value& data) : data_(data) {}
  std::string text(std::string_view key) const { return std::string(data_.text_at(key)); }
  /// Fails on what is no list of texts: an empty list of names would let in all of them.
  Status read_list(std::string_view key, std::vector<std::string>& out) const {
    out.clear();
    text::Diagnostics diagnostics;
    const std::string json = text(key);
    if (json.empty()) return Unit{};
    const Error unreadable{fmt::format("{} is no list of texts in JSON", key)};
    const auto documents = text::parse_json(json, "extension-apiserver-authentication", diagnostics);
    if (documents.empty()) return unreadable;
    const text::Value& names = documents.front().root();
    if (names.is_null()) return Unit{};
    if (!names.is_sequence()) return unreadable;
    for (const text::Value& name : names.elements()) {
      if (!name.is_string()) return unreadable;
      out.emplace_back(name.text());
    }
    return Unit{};
  }

 private:
  const text::Value& data_;
};

}  // namespace

Result<CallerAuthorities> AuthorityLookup::from_flags() const {
  CallerAuthorities out;
  out.allowed_names = options_.allowed_names;
  out.username_headers = options_.username_headers;
  out.uid_headers = options_.uid_headers;
  out.group_headers = options_.group_headers;
  out.extra_header_prefixes = options_.extra_header_prefixes;
  for (const auto& [flag, path, text] :
       {std::tuple<const char*, const std::string&, std::string&>("--client-ca-file", options_.client_ca_file,
                                                                  out.client_ca),
        {"--requestheader-client-ca-file", options_.request_header_ca_file, out.request_header_ca}}) {
    if (path.empty()) continue;
    Result<std::string> read = read_file(path);
    if (!read.ok()) return Error{fmt::format("{}: {}", flag, read.error().message)};
    if (!serving::has_certificate(*read)) return Error{fmt::format("{}: {} has no certificate in PEM", flag, path)};
    text = std::move(*read);
  }
  return out;
}

Status AuthorityLookup::add_from_cluster(CallerAuthorities& known) const {
  const bool is_complete = !known.client_ca.empty() && !known.request_header_ca.empty();
  if (client_ == nullptr || !options_.looks_up || is_complete) return Unit{};

  net::Request request;
  request.target = k_config_map;
  const Result<std::string> body = cluster::kube::ask_server(*client_, std::move(request), k_authorities_limit);
  if (!body.ok()) return Error{"ConfigMap kube-system/extension-apiserver-authentication: " + body.error().message};
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(*body, "extension-apiserver-authentication", diagnostics);
  const text::Value* const map = documents.empty() ? nullptr : documents.front().root().find("data");
  if (map == nullptr) return Unit{};
  const ConfigMapData data(*map);
  if (known.client_ca.empty()) known.client_ca = data.text("client-ca-file");
  if (known.request_header_ca.empty()) {
    // Authority, names and headers belong together: they are one party's word.
    known.request_header_ca = data.text("requestheader-client-ca-file");
    for (const auto& [key, names] : std::initializer_list<std::pair<const char*, std::vector<std::string>*>>{
             {"requestheader-allowed-names", &known.allowed_names},
             {"requestheader-username-headers", &known.username_headers},
             {"requestheader-uid-headers", &known.uid_headers},
             {"requestheader-group-headers", &known.group_headers},
             {"requestheader-extra-headers-prefix", &known.extra_header_prefixes}})
      if (const Status read = data.read_list(key, *names); !read.ok())
        return Error{"ConfigMap kube-system/extension-apiserver-authentication: " + read.error().message};
  }
  return Unit{};
}

Result<CallerAuthorities> AuthorityLookup::look() const {
  Result<CallerAuthorities> out = from_flags();
  if (!out.ok()) return out;
  if (const Status asked = add_from_cluster(*out); !asked.ok()) return asked.error();
  return out;
}

void AuthorityLookup::note(Result<CallerAuthorities> found) {
  if (!found.ok()) observe::warning("Failed to refresh the client CA configuration", {{"err", found.error().message}});
  const Lock lock(mutex_);
  looked_ns_ = clock_.monotonic_ns();
  if (found.ok()) known_ = std::make_shared<const CallerAuthorities>(std::move(*found));
}

Result<std::unique_ptr<AuthorityLookup>> AuthorityLookup::make(CallerAuthorityOptions options, net::HttpClient* client,
                                                               const Clock& clock) {
  std::unique_ptr<AuthorityLookup> made(new AuthorityLookup(std::move(options), client, clock));
  Result<CallerAuthorities> flags = made->from_flags();
  if (!flags.ok()) return flags.error();
  {
    const Lock lock(made->mutex_);
    made->known_ = std::make_shared<const CallerAuthorities>(*flags);
  }
  // The cluster may be out of reach for now.
  const Status asked = made->add_from_cluster(*flags);
  if (!asked.ok() && !made->options_.tolerates_failure) return asked.error();
  made->note(asked.ok() ? std::move(flags) : asked.error());
  return made;
}

std::shared_ptr<const CallerAuthorities> AuthorityLookup::current() {
  {
    const Lock lock(mutex_);
    if (clock_.monotonic_ns() - looked_ns_ < k_kept_ns) return known_;
  }
  if (looking_.try_lock()) {
    const Lock looking(looking_, std::adopt_lock);
    note(look());
  }
  const Lock lock(mutex_);
  return known_;
}

}  // namespace berth::access
