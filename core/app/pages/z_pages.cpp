// SPDX-License-Identifier: Apache-2.0
#include "app/pages/z_pages.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <string_view>

#include "app/pages/accept_header.hpp"
#include "base/check.hpp"
#include "config/read/yaml_writer.hpp"
#include "text/cbor.hpp"
#include "text/json_object.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

using text::JsonObject;

constexpr std::string_view k_group = "config.k8s.io";
constexpr const char* k_accepted = "application/json, application/yaml, text/plain, application/cbor";

/// In the order in which the first that a clause covers is taken.
enum class Encoding : std::uint8_t { json, yaml, text, cbor };
struct Offer {
  Encoding encoding;
  std::string_view type, subtype;
};
constexpr std::array k_offers = std::to_array<Offer>({{Encoding::json, "application", "json"},
                                                      {Encoding::yaml, "application", "yaml"},
                                                      {Encoding::text, "text", "plain"},
                                                      {Encoding::cbor, "application", "cbor"}});

struct Form {
  Encoding encoding = Encoding::text;
  std::string_view version = {};  // "v1beta1"; of text none
};

/// Text is for callers who name no kind, everything else for those who name this one whole.
bool suits(const MediaRange& range, const Offer& offer, std::string_view kind) {
  const std::string_view as = range.parameter("as"), group = range.parameter("g"), version = range.parameter("v");
  if (offer.encoding == Encoding::text) return as.empty() && group.empty() && version.empty();
  return as == kind && group == k_group && (version == "v1beta1" || version == "v1alpha1");
}

/// Nothing: no form suits the caller.
std::optional<Form> negotiate(std::string_view accept, std::string_view kind) {
  if (accept.find_first_not_of(' ') == std::string_view::npos) return Form{};
  for (const MediaRange& range : parse_accept(accept))
    for (const Offer& offer : k_offers)
      if (range.covers(offer.type, offer.subtype) && suits(range, offer, kind))
        return Form{offer.encoding, range.parameter("v")};
  return std::nullopt;
}

serving::HttpResponse not_acceptable() {
  JsonObject status;
  status.text("kind", "Status").text("apiVersion", "v1").json("metadata", "{}").text("status", "Failure");
  status.text("message", fmt::format("only the following media types are accepted: {}", k_accepted));
  status.text("reason", "NotAcceptable").number("code", 406);
  return {406, status.done(), "application/json", {}};
}

/// The beginning of an object.
JsonObject begin_object(const ZPagesParts& parts, std::string_view kind, std::string_view version) {
  JsonObject metadata, out;
  out.text("kind", kind).text("apiVersion", fmt::format("{}/{}", k_group, version));
  out.json("metadata", metadata.text("name", parts.component).done());
  return out;
}

std::string encoded(const std::string& json, Encoding encoding) {
  if (encoding == Encoding::json) return json + "\n";
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(json, "page", diagnostics);
  BERTH_CHECK(diagnostics.empty() && documents.size() == 1, "a page is not JSON: {}", diagnostics.render());
  if (encoding == Encoding::cbor) return text::to_cbor(documents.front().root());
  std::string yaml;
  config::append_yaml(yaml, documents.front().root(), 0);
  return yaml;
}

serving::HttpResponse object_reply(const std::string& json, const Form& form, std::string_view kind,
                                   std::string_view page) {
  const auto offer =
      std::find_if(k_offers.begin(), k_offers.end(), [&](const Offer& o) { return o.encoding == form.encoding; });
  serving::HttpResponse out{
      200,
      encoded(json, form.encoding),
      fmt::format("{}/{};g={};v={};as={}", offer->type, offer->subtype, k_group, form.version, kind),
      {}};
  if (form.version == "v1alpha1")
    out.headers.emplace_back(
        "Warning",
        fmt::format("299 - \"This version of the {} endpoint is deprecated. Please use a newer version.\"", page));
  return out;
}

std::string text_head(const ZPagesParts& parts, std::string_view page) {
  return fmt::format(
      "\n{} {}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
      "guarantees "
      "and is for debugging purposes only.\n",
      parts.component, page);
}

/// In UTC: "Mon Nov 23 18:10:09 UTC 2026" or, as the API writes times, "2026-11-23T18:10:09Z".
std::string utc(std::int64_t wall_ns, const char* format) {
  const std::time_t seconds = wall_ns / 1'000'000'000;
  std::tm fields{};
  ::gmtime_r(&seconds, &fields);
  std::array<char, 64> out{};
  return {out.data(), std::strftime(out.data(), out.size(), format, &fields)};
}

serving::HttpResponse flagz(const ZPagesParts& parts, const Form& form) {
  if (form.encoding == Encoding::text) {
    std::string out = text_head(parts, "flagz");
    for (const auto& [name, value] : parts.flags) out += fmt::format("{}={}\n", name, value);
    return {200, std::move(out)};
  }
  JsonObject flags;
  for (const auto& [name, value] : parts.flags) flags.text(name, value);
  return object_reply(begin_object(parts, "Flagz", form.version).json("flags", flags.done()).done(), form, "Flagz",
                      "flagz");
}

serving::HttpResponse statusz(const ZPagesParts& parts, const Form& form) {
  const std::int64_t up_s = std::max<std::int64_t>(0, (parts.clock.wall_ns() - parts.started_wall_ns) / 1'000'000'000);
  if (form.encoding == Encoding::text)
    return {200, text_head(parts, "statusz") +
                     fmt::format("\nStarted: {}\nUp: {} hr {:02} min {:02} sec\nGo version: {}\nBinary version: {}\n"
                                 "Emulation version: {}\nPaths: {}\n",
                                 utc(parts.started_wall_ns, "%a %b %e %H:%M:%S UTC %Y"), up_s / 3600, up_s / 60 % 60,
                                 up_s % 60, parts.compiler, parts.binary_version, parts.emulation_version,
                                 fmt::join(parts.paths, " "))};
  JsonObject out = begin_object(parts, "Statusz", form.version);
  out.text("startTime", utc(parts.started_wall_ns, "%Y-%m-%dT%H:%M:%SZ")).number("uptimeSeconds", up_s);
  out.text("goVersion", parts.compiler).text("binaryVersion", parts.binary_version);
  out.text("emulationVersion", parts.emulation_version).json("paths", text::list_json(parts.paths));
  return object_reply(out.done(), form, "Statusz", "statusz");
}

serving::Route route(const ZPagesParts& parts, const char* path, std::string_view kind,
                     serving::HttpResponse (*answer)(const ZPagesParts&, const Form&)) {
  return {path, [parts, kind, answer](const serving::HttpRequest& ask) {
            const std::optional<Form> form = negotiate(ask.header("accept"), kind);
            return form ? answer(parts, *form) : not_acceptable();
          }};
}

}  // namespace

std::vector<serving::Route> z_routes(const ZPagesParts& parts) {
  std::vector<serving::Route> out;
  if (parts.has_statusz) out.push_back(route(parts, "/statusz", "Statusz", &statusz));
  if (parts.has_flagz) out.push_back(route(parts, "/flagz", "Flagz", &flagz));
  return out;
}

}  // namespace berth::app
