// SPDX-License-Identifier: Apache-2.0
#include "library/functions.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace berth::cel {
namespace {

constexpr std::uint32_t k_all_kinds = 0xFFFFFFFFu;
constexpr std::uint32_t bit(Kind kind) { return 1u << static_cast<unsigned>(kind); }

std::uint32_t kinds_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::null:
      return bit(Kind::null);
    case TypeKind::boolean:
      return bit(Kind::boolean);
    case TypeKind::integer:
      return bit(Kind::integer);
    case TypeKind::uinteger:
      return bit(Kind::uinteger);
    case TypeKind::real:
      return bit(Kind::real);
    case TypeKind::string:
      return bit(Kind::string);
    case TypeKind::bytes:
      return bit(Kind::bytes);
    case TypeKind::duration:
      return bit(Kind::duration);
    case TypeKind::timestamp:
      return bit(Kind::timestamp);
    case TypeKind::list:
      return bit(Kind::list);
    case TypeKind::map:
      return bit(Kind::map);
    case TypeKind::type:
      return bit(Kind::type);
    case TypeKind::object:
      return bit(Kind::device);
    case TypeKind::opaque:
      break;
    default:
      return k_all_kinds;
  }
  if (type.name == "kubernetes.Quantity") return bit(Kind::quantity);
  if (type.name == "kubernetes.Semver") return bit(Kind::semver);
  if (type.name == "kubernetes.URL") return bit(Kind::url);
  if (type.name == "kubernetes.NamedFormat") return bit(Kind::format);
  if (type.name == "net.IP") return bit(Kind::ip);
  if (type.name == "net.CIDR") return bit(Kind::cidr);
  return bit(Kind::optional);
}

/// Reads signatures. They are ours, so what is wrong in one is not handled but seen by every test.
class Signature {
 public:
  Signature(std::string_view text, std::deque<Type>& types) : text_(text), types_(types) {}

  void read(Overload& overload) {
    if (text_.front() != '(') {
      overload.is_method = true;
      overload.args.push_back(read_type());
      skip(".");
    }
    skip("(");
    while (!skip(")")) {
      overload.args.push_back(read_type());
      skip(", ");
    }
    skip(" -> ");
    overload.result = read_type();
    overload.variables = variables_;
    for (const Type* arg : overload.args) overload.kinds.at(overload.count++) = kinds_of(*arg);
  }

 private:
  bool skip(std::string_view prefix) {
    if (text_.substr(0, prefix.size()) != prefix) return false;
    text_.remove_prefix(prefix.size());
    return true;
  }

  const Type* read_type() {
    if (text_[0] >= 'A' && text_[0] <= 'C' &&
        (text_.size() == 1 || std::string_view(",).").find(text_[1]) != text_.npos)) {
      const auto number = static_cast<std::uint32_t>(text_[0] - 'A');
      variables_ = std::max(variables_, number + 1);
      text_.remove_prefix(1);
      return &types_.emplace_back(Type{TypeKind::variable, {}, number, 1, {}});
    }
    static constexpr std::pair<std::string_view, TypeKind> k_generic[] = {{"list(", TypeKind::list},
                                                                          {"map(", TypeKind::map},
                                                                          {"optional_type(", TypeKind::opaque},
                                                                          {"type(", TypeKind::type}};
    for (const auto& [prefix, kind] : k_generic) {
      if (!skip(prefix)) continue;
      Type type{kind, kind == TypeKind::opaque ? std::string_view("optional_type") : std::string_view(), 0, 1, {}};
      while (!skip(")")) {
        type.params.push_back(read_type());
        type.size += type.params.back()->size;
        skip(", ");
      }
      return &types_.emplace_back(std::move(type));
    }
    // A method's target ends with `.(`; names of types have dots too.
    std::size_t end = 0;
    while (end < text_.size() && std::string_view("(),").find(text_[end]) == text_.npos &&
           !(text_[end] == '.' && end + 1 < text_.size() && text_[end + 1] == '('))
      ++end;
    const Type* type = named_type(text_.substr(0, end));
    text_.remove_prefix(end);
    return type;
  }

  std::string_view text_;
  std::deque<Type>& types_;
  std::uint32_t variables_ = 0;
};

struct Library {
  std::deque<Type> types;
  std::deque<Overload> overloads;
  std::unordered_map<std::string_view, Function> functions;

  void add(std::span<const FunctionRow> rows) {
    for (const FunctionRow& row : rows) {
      Overload& overload = overloads.emplace_back();
      overload.name = row.name;
      overload.cost = row.cost;
      overload.run = row.run;
      Signature(row.signature, types).read(overload);
      Function& function = functions[row.name];
      function.name = row.name;
      function.overloads.push_back(&overload);
    }
  }

  Library() {
    add(operator_functions());
    add(conversion_functions());
    add(text_functions());
    add(regex_functions());
    add(list_functions());
    add(optional_functions());
    add(time_functions());
    add(kubernetes_functions());
    add(network_functions());
    add(url_functions());
    add(named_format_functions());
  }
};

}  // namespace

const Function* find_function(std::string_view name) {
  static const Library library;
  const auto found = library.functions.find(name);
  return found == library.functions.end() ? nullptr : &found->second;
}

Value Call::error(std::string_view text) const {
  const std::string_view kept = arena.copy(text);
  return of_error(kept.empty() ? "no memory is left for the error" : kept);
}

Value Call::text(std::string_view text, Kind kind) const {
  const std::string_view kept = arena.copy(text);
  if (kept.size() != text.size()) return of_error(k_no_memory);
  return of_text(kept, kind);
}

Value Call::optional_of(const Value& value) const {
  const Value* kept = arena.make(value);
  return kept == nullptr ? of_error(k_no_memory) : of_optional(kept);
}

Value Call::list_of(const std::vector<Value>& values) const {
  auto* items = arena.make_array<Value>(values.size());
  if (items == nullptr) return of_error(k_no_memory);
  std::copy(values.begin(), values.end(), items);
  return of_list(items, values.size());
}

Value itself(const Call& call) { return call.args[0]; }

}  // namespace berth::cel
