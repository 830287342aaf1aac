// SPDX-License-Identifier: Apache-2.0
#include "recording/object_fields.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "text/parse.hpp"

namespace berth::recording {
namespace {

bool is_private(std::string_view key) noexcept {
  return key == "env" || key == "envFrom" || key == "command" || key == "args";
}
bool holds_containers(std::string_view key) noexcept {
  return key == "containers" || key == "initContainers" || key == "ephemeralContainers";
}

void write(std::string& out, const text::Value& value, bool is_container) {
  if (value.is_mapping()) {
    out += '{';
    const char* comma = "";
    for (const text::Member& member : value.members()) {
      if (is_container && is_private(member.key)) continue;
      out += comma;
      comma = ",";
      text::append_json_string(out, member.key);
      out += ':';
      if (holds_containers(member.key) && member.value.is_sequence()) {
        out += '[';
        for (std::size_t i = 0; i < member.value.elements().size(); ++i) {
          if (i != 0) out += ',';
          write(out, member.value.elements()[i], true);
        }
        out += ']';
      } else {
        write(out, member.value, false);
      }
    }
    out += '}';
  } else if (value.is_sequence()) {
    out += '[';
    for (std::size_t i = 0; i < value.elements().size(); ++i) {
      if (i != 0) out += ',';
      write(out, value.elements()[i], is_container);
    }
    out += ']';
  } else {
    out += text::to_json(value);
  }
}

/// Paths as a tree, so that fields with a common beginning stand in one object.
struct Branch {
  std::map<std::string, Branch, std::less<>> parts;
  bool is_whole = false;
};

void write_branch(std::string& out, const text::Value& value, const Branch& branch) {
  out += '{';
  const char* comma = "";
  for (const auto& [key, part] : branch.parts) {
    const text::Value* const found = value.find(key);
    if (found == nullptr || (!part.is_whole && !found->is_mapping())) continue;
    out += comma;
    comma = ",";
    text::append_json_string(out, key);
    out += ':';
    if (!part.is_whole) {
      write_branch(out, *found, part);
    } else if (holds_containers(key) && found->is_sequence()) {
      write(out, *found, true);
    } else {
      write(out, *found, false);
    }
  }
  out += '}';
}

}  // namespace

bool is_recordable(std::string_view resource) noexcept { return !resource.ends_with("/secrets"); }

std::string fields_of(const std::string& json, const std::vector<std::string>& paths) {
  text::Diagnostics ignored;
  const std::vector<text::Document> documents = text::parse_json(json, "object", ignored);
  if (documents.empty() || !documents.front().root().is_mapping()) return "{}";
  Branch root;
  for (const std::string& path : paths) {
    Branch* at = &root;
    for (std::size_t first = 0; first <= path.size();) {
      const std::size_t end = std::min(path.find('.', first), path.size());
      at = &at->parts[path.substr(first, end - first)];
      first = end + 1;
    }
    at->is_whole = true;
  }
  std::string out;
  write_branch(out, documents.front().root(), root);
  return out;
}

}  // namespace berth::recording
