/* SPDX-License-Identifier: Apache-2.0
 * A small filter plugin that lets every node pass. Each animal of the zoo defines one of the macros below before it
 * includes this file, and so breaks one thing. */
#ifndef ZOO_PLUGIN_H
#define ZOO_PLUGIN_H

#include <berth/plugin.h>

/* ZOO_BINDER: pre-bind in the place of filter. The animal has defined pre_bind(call), and post_bind() where it defines
 * ZOO_HAS_POST_BIND. */
#ifdef ZOO_BINDER
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.bind/1\0"
#define ZOO_OWN_FILTER
#define ZOO_OWN_FILTER_OPS

static berth_code zoo_pre_bind(void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  return pre_bind(call);
}
#ifdef ZOO_HAS_POST_BIND
static void zoo_post_bind(void* self, berth_cycle_v1* cycle, const berth_bind_call_v1* call) {
  (void)self, (void)cycle, (void)call;
  post_bind();
}
#else
#define zoo_post_bind 0
#endif
static const berth_bind_ops_v1 zoo_bind_ops = {sizeof(berth_bind_ops_v1), 0, 0, zoo_pre_bind, 0, zoo_post_bind};
#define ZOO_POINTS                    \
  {                                   \
    { "berth.bind/1", &zoo_bind_ops } \
  }
#endif

#ifndef ZOO_NAME
#define ZOO_NAME "zoo.example.com/Animal"
#endif
#ifndef ZOO_VERSION
#define ZOO_VERSION "1.2.0"
#endif
#ifndef ZOO_POINTS
#define ZOO_POINTS                        \
  {                                       \
    { "berth.filter/1", &zoo_filter_ops } \
  }
#endif
#ifndef ZOO_NOTE_TEXT
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.filter/1\0"
#endif
#ifndef ZOO_ARGS_SCHEMA
#define ZOO_ARGS_SCHEMA (const char*)0
#endif
#ifndef ZOO_DEPS
#define ZOO_DEPS BERTH_DEP_EVERYTHING
#endif
#ifndef ZOO_LIBRARY_SIZE
#define ZOO_LIBRARY_SIZE sizeof(berth_library_v1)
#endif
#ifndef ZOO_MINOR
#define ZOO_MINOR BERTH_ABI_MINOR
#endif
#ifndef ZOO_MINOR_REQUIRED
#define ZOO_MINOR_REQUIRED BERTH_MINOR_REQUIRED
#endif
#ifndef ZOO_PLUGIN_FLAGS
#define ZOO_PLUGIN_FLAGS 0u
#endif
#ifndef ZOO_REASON_COUNT
#define ZOO_REASON_COUNT 2u
#endif
#ifndef ZOO_ENTRY
#define ZOO_ENTRY berth_library_entry_v1
#endif

#ifdef __cplusplus
#define ZOO_C extern "C"
#else
#define ZOO_C
#endif

#ifndef ZOO_OWN_FILTER
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  return BERTH_OK;
}
#endif
#ifndef ZOO_OWN_FILTER_OPS
static const berth_filter_ops_v1 zoo_filter_ops = {sizeof(berth_filter_ops_v1), 0, zoo_filter, 0, 0, 0};
#endif
#ifdef ZOO_OTHER_OPS
ZOO_OTHER_OPS
#endif

#ifndef ZOO_OWN_CREATE
static berth_code zoo_create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** self,
                             berth_note_v1* note) {
  (void)host, (void)binder, (void)args, (void)note;
  *self = (void*)0;
  return BERTH_OK;
}
#endif
#ifndef ZOO_OWN_DESTROY
static void zoo_destroy(void* self) { (void)self; }
#endif

static const berth_point_v1 zoo_points[] = ZOO_POINTS;
#ifdef ZOO_SERVICES
static const char* const zoo_services[] = ZOO_SERVICES;
#define ZOO_SERVICE_LIST zoo_services
#define ZOO_SERVICE_COUNT ((uint32_t)(sizeof zoo_services / sizeof *zoo_services))
#else
#define ZOO_SERVICE_LIST (const char* const*)0
#define ZOO_SERVICE_COUNT 0u
#endif

static const berth_reason_text_v1 zoo_reasons[] = {{"", ""}, {"it does not suit", "Unsuitable"}};

static const berth_plugin_v1 zoo_plugin = {(uint32_t)sizeof(berth_plugin_v1),
                                           ZOO_PLUGIN_FLAGS,
                                           ZOO_NAME,
                                           ZOO_VERSION,
                                           "Lets every node pass.",
                                           ZOO_ARGS_SCHEMA,
                                           zoo_points,
                                           zoo_reasons,
                                           ZOO_SERVICE_LIST,
                                           (uint32_t)(sizeof zoo_points / sizeof *zoo_points),
                                           ZOO_REASON_COUNT,
                                           ZOO_SERVICE_COUNT,
                                           ZOO_DEPS,
                                           zoo_create,
                                           zoo_destroy};
#ifndef ZOO_PLUGIN_LIST
#define ZOO_PLUGIN_LIST \
  { &zoo_plugin }
#endif
static const berth_plugin_v1* const zoo_plugins[] = ZOO_PLUGIN_LIST;
static const berth_library_v1 zoo_library = {(uint32_t)(ZOO_LIBRARY_SIZE),
                                             ZOO_MINOR,
                                             ZOO_MINOR_REQUIRED,
                                             (uint32_t)(sizeof zoo_plugins / sizeof *zoo_plugins),
                                             0u,
                                             zoo_plugins};

#ifndef ZOO_OWN_ENTRY
ZOO_C BERTH_EXPORT const berth_library_v1* ZOO_ENTRY(void);
ZOO_C BERTH_EXPORT const berth_library_v1* ZOO_ENTRY(void) {
  (void)zoo_plugin;
  return &zoo_library;
}
#endif

#ifndef ZOO_NO_NOTE
BERTH_NOTE(zoo, ZOO_NOTE_TEXT)
#endif

#endif
