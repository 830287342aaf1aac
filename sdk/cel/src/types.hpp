// SPDX-License-Identifier: Apache-2.0
/// Types as the checker sees them, and how they are made one (cel-go checker/types.go).
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

enum class TypeKind : std::uint8_t {
  dyn,
  any,
  error,
  null,
  boolean,
  integer,
  uinteger,
  real,
  string,
  bytes,
  duration,
  timestamp,
  list,
  map,
  type,
  opaque,
  object,
  variable,
};

struct Type {
  TypeKind kind = TypeKind::dyn;
  std::string_view name;            ///< of opaque types and objects
  std::uint32_t variable = 0;       ///< number of a type variable
  std::uint32_t size = 1;           ///< nodes, for the bound on growth
  std::vector<const Type*> params;  ///< list: 1, map: 2, optional_type: 1, type: 0 or 1
};

inline bool is_dynamic(const Type& type) { return type.kind == TypeKind::dyn || type.kind == TypeKind::any; }
inline bool is_optional(const Type& type) { return type.kind == TypeKind::opaque && type.name == "optional_type"; }
bool same_type(const Type& left, const Type& right);
std::string type_text(const Type& type);

/// The type of a name without parameters (`int`, `kubernetes.Quantity`, `any` …); null if there is none.
const Type* named_type(std::string_view name);

/// Owner of types, and of what is known of type variables. Counts its steps: the checker looks at
/// exhausted() now and then, since types that contain each other twice grow exponentially.
class Types {
 public:
  const Type* make_list(const Type* item) { return make({TypeKind::list, {}, 0, 1, {item}}); }
  const Type* make_map(const Type* key, const Type* value) { return make({TypeKind::map, {}, 0, 1, {key, value}}); }
  const Type* make_optional(const Type* inner) { return make({TypeKind::opaque, "optional_type", 0, 1, {inner}}); }
  const Type* make_type_of(const Type* inner) { return make({TypeKind::type, {}, 0, 1, {inner}}); }
  const Type* make_variable();

  /// Replaces the variables of a declaration (numbered from 0) by `fresh`.
  const Type* instantiate(const Type* declared, const std::vector<const Type*>& fresh);
  /// Puts what is known of variables in their place; unknown ones become dyn if `close` says so.
  const Type* substitute(const Type* type, bool close);

  /// Whether a value of `from` may stand where `to` is asked for. Binds variables if so, and only then.
  bool assign(const Type* from, const Type* to);
  bool assign_all(const std::vector<const Type*>& from, const std::vector<const Type*>& to);
  /// The more general of two types that assign() has accepted.
  static const Type* most_general(const Type* left, const Type* right);

  bool exhausted() const { return steps_ == 0; }
  std::uint64_t steps() const { return k_steps_max - steps_; }
  /// About how much memory they take.
  std::size_t bytes() const {
    return types_.size() * (sizeof(Type) + 2 * sizeof(void*) + 16) + bindings_.capacity() * sizeof(bindings_[0]);
  }

 private:
  const Type* make(Type type);
  bool step() { return steps_ != 0 && --steps_ != 0; }
  bool try_assign(const Type* from, const Type* to);
  bool bind(const Type* value, const Type* variable, bool& has_binding);
  bool occurs(const Type* variable, const Type* within);
  void set(std::uint32_t variable, const Type* value);
  void undo(std::size_t mark);

  std::deque<Type> types_;
  std::vector<const Type*> bindings_;
  std::vector<std::pair<std::uint32_t, const Type*>> trail_;
  static constexpr std::uint32_t k_steps_max = 4'000'000;
  static constexpr std::size_t k_types_max = 50'000;
  std::uint32_t steps_ = k_steps_max;
};

}  // namespace berth::cel
