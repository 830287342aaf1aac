// SPDX-License-Identifier: Apache-2.0
#include "types.hpp"

#include <algorithm>

namespace berth::cel {
namespace {

constexpr std::uint32_t k_type_size_max = 10'000;

struct Named {
  std::string_view name;
  Type type;
};

const Named* named_types(std::size_t& count) {
  static const Named k_named[] = {
      {"dyn", {TypeKind::dyn, {}, 0, 1, {}}},
      {"any", {TypeKind::any, {}, 0, 1, {}}},
      {"error", {TypeKind::error, {}, 0, 1, {}}},
      {"null_type", {TypeKind::null, {}, 0, 1, {}}},
      {"bool", {TypeKind::boolean, {}, 0, 1, {}}},
      {"int", {TypeKind::integer, {}, 0, 1, {}}},
      {"uint", {TypeKind::uinteger, {}, 0, 1, {}}},
      {"double", {TypeKind::real, {}, 0, 1, {}}},
      {"string", {TypeKind::string, {}, 0, 1, {}}},
      {"bytes", {TypeKind::bytes, {}, 0, 1, {}}},
      {"type", {TypeKind::type, {}, 0, 1, {}}},
      {"google.protobuf.Duration", {TypeKind::duration, {}, 0, 1, {}}},
      {"google.protobuf.Timestamp", {TypeKind::timestamp, {}, 0, 1, {}}},
      {"kubernetes.Quantity", {TypeKind::opaque, "kubernetes.Quantity", 0, 1, {}}},
      {"kubernetes.Semver", {TypeKind::opaque, "kubernetes.Semver", 0, 1, {}}},
      {"kubernetes.URL", {TypeKind::opaque, "kubernetes.URL", 0, 1, {}}},
      {"kubernetes.NamedFormat", {TypeKind::opaque, "kubernetes.NamedFormat", 0, 1, {}}},
      {"net.IP", {TypeKind::opaque, "net.IP", 0, 1, {}}},
      {"net.CIDR", {TypeKind::opaque, "net.CIDR", 0, 1, {}}},
      {"kubernetes.DRADevice", {TypeKind::object, "kubernetes.DRADevice", 0, 1, {}}},
  };
  count = std::size(k_named);
  return k_named;
}

bool is_unresolved(const Type& type) { return is_dynamic(type) || type.kind == TypeKind::variable; }

bool is_equal_or_less_specific(const Type& left, const Type& right) {
  if (is_unresolved(left)) return true;
  if (is_unresolved(right)) return false;
  if (left.kind != right.kind || left.name != right.name || left.params.size() != right.params.size())
    return left.kind == TypeKind::type && right.kind == TypeKind::type;
  if (left.kind == TypeKind::type) return true;
  for (std::size_t i = 0; i < left.params.size(); ++i)
    if (!is_equal_or_less_specific(*left.params[i], *right.params[i])) return false;
  return true;
}

bool is_nullable(TypeKind kind) {
  return kind == TypeKind::opaque || kind == TypeKind::object || kind == TypeKind::any || kind == TypeKind::duration ||
         kind == TypeKind::timestamp || kind == TypeKind::null;
}

}  // namespace

const Type* named_type(std::string_view name) {
  std::size_t count = 0;
  const Named* named = named_types(count);
  for (std::size_t i = 0; i < count; ++i)
    if (named[i].name == name) return &named[i].type;
  return nullptr;
}

bool same_type(const Type& left, const Type& right) {
  if (&left == &right) return true;
  if (left.kind != right.kind || left.name != right.name || left.params.size() != right.params.size() ||
      left.variable != right.variable)
    return false;
  for (std::size_t i = 0; i < left.params.size(); ++i)
    if (!same_type(*left.params[i], *right.params[i])) return false;
  return true;
}

std::string type_text(const Type& type) {
  std::string text;
  if (type.kind == TypeKind::list)
    text = "list";
  else if (type.kind == TypeKind::map)
    text = "map";
  else if (type.kind == TypeKind::type)
    text = "type";
  else if (type.kind == TypeKind::variable)
    return "dyn";
  else if (!type.name.empty())
    text = type.name;
  std::size_t count = 0;
  const Named* named = named_types(count);
  for (std::size_t i = 0; i < count && text.empty(); ++i)
    if (named[i].type.kind == type.kind) text = named[i].name;
  if (type.params.empty()) return text;
  text += '(';
  for (const Type* param : type.params) {
    if (param != type.params.front()) text += ", ";
    if (text.size() > 1000) return text += "…)";
    text += type_text(*param);
  }
  return text += ')';
}

const Type* Types::make(Type type) {
  for (const Type* param : type.params) type.size = std::min(type.size + param->size, k_type_size_max + 1);
  if (type.size > k_type_size_max || types_.size() >= k_types_max) {
    steps_ = 0;
    return named_type("error");
  }
  return &types_.emplace_back(std::move(type));
}

const Type* Types::make_variable() {
  bindings_.push_back(nullptr);
  return make({TypeKind::variable, {}, static_cast<std::uint32_t>(bindings_.size() - 1), 1, {}});
}

const Type* Types::instantiate(const Type* declared, const std::vector<const Type*>& fresh) {
  if (declared->kind == TypeKind::variable) return fresh[declared->variable];
  if (declared->params.empty()) return declared;
  std::vector<const Type*> params;
  for (const Type* param : declared->params) params.push_back(instantiate(param, fresh));
  if (params == declared->params) return declared;
  return make({declared->kind, declared->name, 0, 1, std::move(params)});
}

const Type* Types::substitute(const Type* type, bool close) {
  if (!step()) return named_type("error");
  if (type->kind == TypeKind::variable) {
    if (const Type* bound = bindings_[type->variable]) return substitute(bound, close);
    return close ? named_type("dyn") : type;
  }
  if (type->params.empty()) return type;
  std::vector<const Type*> params;
  for (const Type* param : type->params) params.push_back(substitute(param, close));
  if (params == type->params) return type;
  return make({type->kind, type->name, 0, 1, std::move(params)});
}

void Types::set(std::uint32_t variable, const Type* value) {
  trail_.emplace_back(variable, bindings_[variable]);
  bindings_[variable] = value;
}

void Types::undo(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) bindings_[trail_.back().first] = trail_.back().second;
}

bool Types::assign(const Type* from, const Type* to) {
  trail_.clear();
  if (try_assign(from, to)) return true;
  undo(0);
  return false;
}

bool Types::assign_all(const std::vector<const Type*>& from, const std::vector<const Type*>& to) {
  if (from.size() != to.size()) return false;
  trail_.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (try_assign(from[i], to[i])) continue;
    undo(0);
    return false;
  }
  return true;
}

const Type* Types::most_general(const Type* left, const Type* right) {
  return is_equal_or_less_specific(*left, *right) ? left : right;
}

bool Types::occurs(const Type* variable, const Type* within) {
  if (!step()) return true;
  if (within->kind == TypeKind::variable) {
    if (within->variable == variable->variable) return true;
    const Type* bound = bindings_[within->variable];
    return bound != nullptr && occurs(variable, bound);
  }
  return std::any_of(within->params.begin(), within->params.end(),
                     [&](const Type* param) { return occurs(variable, param); });
}

/// Whether `value` may be what `variable` stands for.
bool Types::bind(const Type* value, const Type* variable, bool& has_binding) {
  has_binding = true;
  if (same_type(*value, *variable)) return true;
  if (const Type* bound = bindings_[variable->variable]) {
    if (same_type(*value, *bound)) return true;
    if (!try_assign(value, bound)) return false;
    const Type* general = most_general(value, bound);
    if (!occurs(variable, general)) set(variable->variable, general);
    return true;
  }
  has_binding = false;
  if (occurs(variable, value)) return false;
  set(variable->variable, value);
  return true;
}

bool Types::try_assign(const Type* from, const Type* to) {
  if (!step()) return false;
  bool has_binding = false;
  if (to->kind == TypeKind::variable) {
    if (bind(from, to, has_binding)) return true;
    if (has_binding) return false;
  }
  if (from->kind == TypeKind::variable) return bind(to, from, has_binding);
  if (is_dynamic(*from) || is_dynamic(*to) || from->kind == TypeKind::error || to->kind == TypeKind::error) return true;
  if (from->kind == TypeKind::null) return is_nullable(to->kind);
  if (to->kind == TypeKind::null) return is_nullable(from->kind);
  if (from->kind == TypeKind::type) return to->kind == TypeKind::type;
  if (from->kind != to->kind || from->name != to->name || from->params.size() != to->params.size()) return false;
  for (std::size_t i = 0; i < from->params.size(); ++i)
    if (!try_assign(from->params[i], to->params[i])) return false;
  return true;
}

}  // namespace berth::cel
