// SPDX-License-Identifier: Apache-2.0
#include "config/read/tree.hpp"

#include <algorithm>

#include "config/read/yaml_writer.hpp"
#include "text/builder.hpp"

namespace berth::config {
namespace {

Tree scalar(text::Kind kind, std::string_view text, text::Position position) {
  Tree tree;
  tree.kind = kind;
  tree.text = text;
  tree.position = position;
  return tree;
}

text::Value value_of(const Tree& tree, text::Builder& builder) {
  switch (tree.kind) {
    case text::Kind::mapping: {
      std::vector<text::Member> members;
      for (const TreeMember& member : tree.members)
        members.push_back({builder.keep(member.key), member.key_position, value_of(member.value, builder)});
      return builder.mapping(tree.position, members);
    }
    case text::Kind::sequence: {
      std::vector<text::Value> elements;
      for (const Tree& element : tree.elements) elements.push_back(value_of(element, builder));
      return builder.sequence(tree.position, elements);
    }
    default:
      return text::Builder::scalar(tree.kind, tree.position, builder.keep(tree.text));
  }
}

bool is_block(const Tree& tree) { return !tree.members.empty() || !tree.elements.empty(); }

std::string scalar_text(const Tree& tree) {
  switch (tree.kind) {
    case text::Kind::string:
      return yaml_string(tree.text);
    case text::Kind::mapping:
      return "{}";
    case text::Kind::sequence:
      return "[]";
    case text::Kind::null:
      return "null";
    default:
      return tree.text;
  }
}

void append(std::string& out, const Tree& tree, std::size_t indent) {
  const std::string pad(indent, ' ');
  const auto append_comments = [&](const Tree& value) {
    for (const std::string& comment : value.comments) out += pad + "# " + comment + '\n';
  };
  for (const TreeMember& member : tree.members) {
    append_comments(member.value);
    out += pad + yaml_string(member.key) + ':';
    if (is_block(member.value)) {
      out += '\n';
      append(out, member.value, indent + 2);
    } else {
      out += ' ' + scalar_text(member.value) + '\n';
    }
  }
  for (const Tree& element : tree.elements) {
    append_comments(element);
    if (!is_block(element)) {
      out += pad + "- " + scalar_text(element) + '\n';
      continue;
    }
    // The dash takes the place of the first line's indentation, which a comment must not have.
    Tree bare = element;
    std::vector<std::string> inner;
    if (!bare.members.empty()) inner = std::exchange(bare.members.front().value.comments, {});
    for (const std::string& comment : inner) out += pad + "# " + comment + '\n';
    std::string block;
    append(block, bare, indent + 2);
    block[indent] = '-';
    out += block;
  }
}

}  // namespace

Tree Tree::copy_of(const text::Value& value) {
  Tree tree = scalar(value.kind(), value.text(), value.position());
  for (const text::Member& member : value.members())
    tree.members.push_back({std::string(member.key), member.key_position, copy_of(member.value)});
  for (const text::Value& element : value.elements()) tree.elements.push_back(copy_of(element));
  return tree;
}

Tree Tree::string(std::string_view text, text::Position position) { return scalar(text::Kind::string, text, position); }
Tree Tree::number(std::int64_t number, text::Position position) {
  return scalar(text::Kind::number, std::to_string(number), position);
}
Tree Tree::boolean(bool value, text::Position position) {
  return scalar(text::Kind::boolean, value ? "true" : "false", position);
}
Tree Tree::mapping(text::Position position) { return scalar(text::Kind::mapping, {}, position); }
Tree Tree::sequence(text::Position position) { return scalar(text::Kind::sequence, {}, position); }

const Tree* Tree::find(std::string_view key) const noexcept {
  const auto found = std::find_if(members.rbegin(), members.rend(), [&](const TreeMember& m) { return m.key == key; });
  return found == members.rend() ? nullptr : &found->value;
}

Tree* Tree::find(std::string_view key) noexcept {
  const auto found = std::find_if(members.rbegin(), members.rend(), [&](const TreeMember& m) { return m.key == key; });
  return found == members.rend() ? nullptr : &found->value;
}

std::optional<Tree> Tree::take(std::string_view key) {
  std::optional<Tree> taken;
  for (auto it = members.begin(); it != members.end();) {
    if (it->key != key) {
      ++it;
      continue;
    }
    if (!it->value.is_null()) taken = std::move(it->value);
    it = members.erase(it);
  }
  return taken;
}

Tree& Tree::put(std::string_view key, Tree value) {
  if (Tree* there = find(key)) return *there = std::move(value);
  const text::Position at = value.position;
  members.push_back({std::string(key), at, std::move(value)});
  return members.back().value;
}

Tree& Tree::mapping_at(std::string_view key) {
  Tree* there = find(key);
  return there != nullptr && !there->is_null() ? *there : put(key, mapping(position));
}

Tree& Tree::sequence_at(std::string_view key) {
  Tree* there = find(key);
  return there != nullptr && !there->is_null() ? *there : put(key, sequence(position));
}

bool Tree::rename(std::string_view key, std::string_view to) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const TreeMember& m) { return m.key == key; });
  if (found == members.end()) return false;
  found->key = to;
  return true;
}

text::Document to_document(const Tree& tree, std::string file) {
  text::Builder builder;
  const text::Value root = value_of(tree, builder);
  return builder.finish(root, std::move(file));
}

std::string to_yaml(const Tree& tree) {
  std::string out;
  for (const std::string& comment : tree.comments) out += "# " + comment + '\n';
  append(out, tree, 0);
  return out;
}

}  // namespace berth::config
