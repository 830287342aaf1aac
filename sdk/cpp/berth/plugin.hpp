// SPDX-License-Identifier: Apache-2.0
/// Everything a policy in C++ includes.
///
///   namespace {
///   class NeedsRack {
///    public:
///     static constexpr berth::Identity identity{.name = "example.com/NeedsRack", .version = "1.0.0",
///                                               .summary = "Keeps pods off nodes without a rack label.",
///                                               .deps = BERTH_DEP_NODE_STATIC};
///     static constexpr berth::ReasonText reasons[] = {{"node(s) had no rack label", "NoRack"}};
///     static constexpr berth::Rejection rejection = berth::unresolvable(1);
///
///     explicit NeedsRack(berth::Setup& setup) : rack_(setup.label("example.com/rack")) {}
///     berth::Mask filter(const berth::Cycle&, berth::Rows nodes) const { return nodes[rack_] != 0u; }
///
///    private:
///     berth::IdColumn rack_;
///   };
///   }
///   BERTH_PLUGIN(NeedsRack)
///
/// Optional static members: args_schema (const char[]), reasons, rejection, normalization, services, watches, rbac
/// (arrays of const char*), interests. Optional member functions: filter.hpp, score.hpp, cycle.hpp and points.hpp list
/// them.
#pragma once
#include <berth/arithmetic.hpp>
#include <berth/describe.hpp>
#include <berth/json.hpp>
#include <berth/note.hpp>
#include <berth/parts.hpp>
#include <berth/placed_pods.hpp>
#include <berth/select.hpp>

/// Notes stand side by side in their section: Clang's address sanitizer must not put guards between them.
#if defined(__clang__)
#define BERTH_DETAIL_UNGUARDED , no_sanitize("address")
#else
#define BERTH_DETAIL_UNGUARDED
#endif
/// BERTH_PLUGIN for a library of several policies: the class of each.
#define BERTH_PLUGINS(...)                                                                                          \
  namespace {                                                                                                       \
  __attribute__((used, aligned(4),                                                                                  \
                 section(BERTH_NOTE_SECTION) BERTH_DETAIL_UNGUARDED)) constexpr ::berth::detail::Notes<__VA_ARGS__> \
      berth_identity_notes{};                                                                                       \
  }                                                                                                                 \
  extern "C" BERTH_EXPORT const berth_library_v1* berth_library_entry_v1(void) {                                    \
    return &::berth::detail::k_library<__VA_ARGS__>;                                                                \
  }

/// At file scope, outside namespaces, once per library.
#define BERTH_PLUGIN(Class) BERTH_PLUGINS(Class)

/// A library of many policies in several sources: each has BERTH_PLUGIN_PART(name, Class, ...), one of them declares the
/// parts and lists them.
///
///     BERTH_PLUGIN_PART_OF(my_disks)
///     BERTH_PLUGIN_PART_OF(my_racks)
///     BERTH_PLUGIN_PARTS(berth_part_my_disks(), berth_part_my_racks())
#define BERTH_PLUGIN_PART_OF(name) ::berth::PluginPart berth_part_##name() noexcept;
#define BERTH_PLUGIN_PART(name, ...)                                                                                \
  namespace {                                                                                                       \
  __attribute__((used, aligned(4),                                                                                  \
                 section(BERTH_NOTE_SECTION) BERTH_DETAIL_UNGUARDED)) constexpr ::berth::detail::Notes<__VA_ARGS__> \
      berth_identity_notes{};                                                                                       \
  }                                                                                                                 \
  BERTH_PLUGIN_PART_OF(name)                                                                                        \
  ::berth::PluginPart berth_part_##name() noexcept { return ::berth::plugin_part<__VA_ARGS__>(); }
#define BERTH_PLUGIN_PARTS(...)                                                  \
  extern "C" BERTH_EXPORT const berth_library_v1* berth_library_entry_v1(void) { \
    static const ::berth::JoinedLibrary library({__VA_ARGS__});                  \
    return library.raw();                                                        \
  }
