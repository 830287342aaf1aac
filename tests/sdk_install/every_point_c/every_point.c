/* SPDX-License-Identifier: Apache-2.0
 * Two plugins that implement every extension point of the C ABI, answer as the pod's annotations say and write each call
 * into a trace, so that a test can hold order, codes and texts against what was asked for.
 *
 * Plugins:     berth.test/First and berth.test/Second, from the same functions.
 * Args:        {"trace": "FILE"}; lines are appended: "First reserve default/a slot=1". pre_filter says at which second
 *              since its creation it was called.
 * Annotations: "First/<point>: <answer>". An answer is a code, by name or number, with an argument where it needs one:
 *                ok skip unschedulable unresolvable pending error async too_old bad_args 77
 *                wait:<ms>          permit
 *                narrow:<slot>      pre_filter: only this node
 *                reject:<slot>      filter: not this node (eviction may help)
 *                <number>           score: the raw score of every node
 *                set:<slot>         post_filter: nominates and names the pod's own uid as a victim
 *                clear              post_filter: clears the nomination
 *                async:<code>       pre_bind, bind: completes later with this code
 *                write              bind: through the writes service, asynchronously
 *              "First/decides: allow|reject|allow_later <uid>" decides about a waiting pod from post_bind. */
#include <berth/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum point {
  P_PRE_ENQUEUE, P_PRE_FILTER, P_POD_ADDED, P_POD_REMOVED, P_FILTER, P_POST_FILTER, P_PRE_SCORE, P_SCORE, P_NORMALIZE,
  P_RESERVE, P_PERMIT, P_PRE_BIND_CHECK, P_PRE_BIND, P_BIND, P_HINT, P_DECIDES, P_COUNT
};
static const char* const point_names[P_COUNT] = {
    "pre_enqueue", "pre_filter", "pod_added", "pod_removed", "filter",   "post_filter", "pre_score", "score",
    "normalize",   "reserve",    "permit",    "pre_bind_check", "pre_bind", "bind",     "hint",      "decides"};

typedef struct self {
  const char* name;
  FILE* trace;
  void* ctx;
  const berth_intern_v1* intern;
  const berth_waiting_v1* waiting;
  const berth_clock_v1* clock;
  int64_t created_ns;
  const berth_executor_v1* executor;
  const berth_dry_run_v1* dry_run;
  const berth_writes_v1* writes;
  berth_id keys[P_COUNT];
} self_t;

/* What pre_filter leaves: how many pods were imagined on and away. */
typedef struct state {
  int32_t added;
  int32_t removed;
} state_t;

typedef struct answer {
  berth_code code;
  long number;
  char text[64]; /* the annotation as it stands */
} answer_t;

/* --- words ----------------------------------------------------------------------------------------------------- */

static const struct { const char* word; berth_code code; } words[] = {
    {"ok", BERTH_OK}, {"error", BERTH_ERROR}, {"unschedulable", BERTH_UNSCHEDULABLE}, {"unresolvable", BERTH_UNRESOLVABLE},
    {"wait", BERTH_WAIT}, {"skip", BERTH_SKIP}, {"pending", BERTH_PENDING}, {"async", BERTH_ASYNC},
    {"too_old", BERTH_TOO_OLD}, {"bad_args", BERTH_BAD_ARGS}};

static berth_code code_of(const char* word, size_t length, berth_code otherwise) {
  size_t i;
  for (i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0) return words[i].code;
  return length > 0 && word[0] >= '0' && word[0] <= '9' ? (berth_code)strtoul(word, NULL, 10) : otherwise;
}

static berth_str str(const char* text) {
  berth_str s;
  s.ptr = text;
  s.len = strlen(text);
  return s;
}

/* What the pod's annotation says about a point; `otherwise` without one. */
static answer_t ask(const self_t* self, enum point point, const berth_pod_v1* pod, berth_code otherwise) {
  answer_t answer = {0, 0, ""};
  uint32_t i;
  answer.code = otherwise;
  for (i = 0; i < pod->annotation_count; i++) {
    if (pod->annotations[i].key == self->keys[point]) {
      berth_str text;
      size_t length;
      const char* argument;
      self->intern->text(self->ctx, pod->annotations[i].value, &text);
      length = text.len < sizeof answer.text - 1 ? (size_t)text.len : sizeof answer.text - 1;
      memcpy(answer.text, text.ptr, length);
      answer.text[length] = '\0';
      argument = strchr(answer.text, ':');
      answer.code = code_of(answer.text, argument ? (size_t)(argument - answer.text) : length, otherwise);
      answer.number = strtol(argument ? argument + 1 : answer.text, NULL, 10);
      return answer;
    }
  }
  return answer;
}

static int is(const answer_t* answer, const char* word) { return strncmp(answer->text, word, strlen(word)) == 0; }

/* Says why: a table row for rejections, a sentence for errors. */
static berth_code explain(const self_t* self, enum point point, berth_code code, berth_note_v1* note) {
  char text[96];
  int length;
  if (code == BERTH_UNSCHEDULABLE || code == BERTH_UNRESOLVABLE || code == BERTH_PENDING) {
    note->reason = 1;
  } else if (code == BERTH_ERROR) {
    length = snprintf(text, sizeof text, "%s broke at %s", self->name, point_names[point]);
    note->text_len = (uint64_t)length;
    memcpy(note->text, text, (uint64_t)length < note->text_cap ? (size_t)length : (size_t)note->text_cap);
  }
  return code;
}

/* One line per call; a short write to a file opened for appending stays in one piece. */
static void trace(const self_t* self, const char* what, const berth_pod_v1* pod, const char* more) {
  berth_str ns;
  self->intern->text(self->ctx, pod->ns, &ns);
  fprintf(self->trace, "%s %s %.*s/%.*s%s\n", self->name, what, (int)ns.len, ns.ptr, (int)pod->name.len, pod->name.ptr, more);
}

static void trace_slot(const self_t* self, const char* what, const berth_pod_v1* pod, berth_slot slot) {
  char more[32];
  snprintf(more, sizeof more, " slot=%u", slot);
  trace(self, what, pod, more);
}

/* --- load ------------------------------------------------------------------------------------------------------ */

/* The file name in {"trace": "FILE"}; args passed the schema, so it is there and has no escapes that matter here. */
static int trace_file(berth_str args, char* out, size_t size) {
  static const char key[] = "\"trace\"";
  uint64_t i, n = 0;
  for (i = 0; i + sizeof key <= args.len && memcmp(args.ptr + i, key, sizeof key - 1) != 0; i++) {}
  i += sizeof key - 1;
  while (i < args.len && args.ptr[i] != '"') i++;
  for (i++; i < args.len && args.ptr[i] != '"' && n + 1 < size; i++) out[n++] = args.ptr[i];
  out[n] = '\0';
  return n > 0;
}

static berth_code create(const char* name, const berth_host_v1* host, const berth_binder_v1* binder, berth_str args,
                         void** out, berth_note_v1* note) {
  self_t* self = (self_t*)calloc(1, sizeof *self);
  char text[512];
  int i;
  if (!self) return BERTH_ERROR;
  if (!trace_file(args, text, sizeof text) || !(self->trace = fopen(text, "a"))) {
    static const char why[] = "cannot open the trace file";
    free(self);
    note->text_len = sizeof why - 1;
    memcpy(note->text, why, sizeof why - 1 < note->text_cap ? sizeof why - 1 : (size_t)note->text_cap);
    return BERTH_BAD_ARGS;
  }
  setvbuf(self->trace, NULL, _IOLBF, BUFSIZ);
  self->name = name;
  self->ctx = host->ctx;
  self->intern = (const berth_intern_v1*)host->service(host->ctx, "berth.intern/1");
  self->waiting = (const berth_waiting_v1*)host->service(host->ctx, "berth.waiting/1");
  self->clock = (const berth_clock_v1*)host->service(host->ctx, "berth.clock/1");
  self->created_ns = self->clock->monotonic_ns(self->ctx);
  self->executor = (const berth_executor_v1*)host->service(host->ctx, "berth.executor/1");
  self->dry_run = (const berth_dry_run_v1*)host->service(host->ctx, "berth.dry_run/1");
  self->writes = (const berth_writes_v1*)host->service(host->ctx, "berth.writes/1");
  for (i = 0; i < P_COUNT; i++) {
    snprintf(text, sizeof text, "%s/%s", name, point_names[i]);
    self->keys[i] = self->intern->intern(self->ctx, str(text));
  }
  binder->pod_fields(binder->ctx, BERTH_POD_ANNOTATIONS | BERTH_POD_IDENTITY | BERTH_POD_NAMESPACE | BERTH_POD_PRIORITY);
  fprintf(self->trace, "%s create\n", name);
  *out = self;
  return BERTH_OK;
}

static berth_code create_first(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** out,
                               berth_note_v1* note) {
  return create("First", host, binder, args, out, note);
}
static berth_code create_second(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** out,
                                berth_note_v1* note) {
  return create("Second", host, binder, args, out, note);
}

static void destroy(void* p) {
  self_t* self = (self_t*)p;
  fprintf(self->trace, "%s destroy\n", self->name);
  fclose(self->trace);
  free(self);
}

/* --- queue: highest priority first, then first come -------------------------------------------------------------- */

static berth_code key(void* p, const berth_queue_pod_v1* pod, uint64_t* words_out, berth_note_v1* note) {
  (void)p;
  (void)note;
  words_out[0] = ~((uint64_t)pod->pod->priority + (UINT64_C(1) << 63));
  words_out[1] = (uint64_t)pod->enqueued_ns;
  return BERTH_OK;
}

static berth_code pre_enqueue(void* p, const berth_queue_pod_v1* pod, berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  trace(self, "pre_enqueue", pod->pod, "");
  return explain(self, P_PRE_ENQUEUE, ask(self, P_PRE_ENQUEUE, pod->pod, BERTH_OK).code, note);
}

/* --- prepare ----------------------------------------------------------------------------------------------------- */

static berth_code pre_filter(void* p, berth_cycle_v1* cycle, berth_prepare_out_v1* out, berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  answer_t answer = ask(self, P_PRE_FILTER, cycle->pod, BERTH_OK);
  char more[32];
  uint64_t word;
  snprintf(more, sizeof more, " second=%lld",
           (long long)((self->clock->monotonic_ns(self->ctx) - self->created_ns) / INT64_C(1000000000)));
  trace(self, "pre_filter", cycle->pod, more);
  if (is(&answer, "narrow")) {
    out->narrowed = 1;
    for (word = 0; word < out->word_count; word++)
      out->candidates[word] &= word == (uint64_t)answer.number >> 6 ? UINT64_C(1) << (answer.number & 63) : 0;
  }
  if (answer.code == BERTH_OK) {
    cycle->state = calloc(1, sizeof(state_t));
    if (!cycle->state) return BERTH_ERROR;
  }
  return explain(self, P_PRE_FILTER, answer.code, note);
}

static berth_code pre_score(void* p, berth_cycle_v1* cycle, const berth_slot* nodes, uint32_t count, berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  char more[32];
  (void)nodes;
  snprintf(more, sizeof more, " nodes=%u", count);
  trace(self, "pre_score", cycle->pod, more);
  return explain(self, P_PRE_SCORE, ask(self, P_PRE_SCORE, cycle->pod, BERTH_OK).code, note);
}

static berth_code state_clone(void* p, const void* from, void** to, berth_note_v1* note) {
  state_t* copy = (state_t*)malloc(sizeof *copy);
  (void)p;
  (void)note;
  if (!copy) return BERTH_ERROR;
  *copy = *(const state_t*)from;
  *to = copy;
  return BERTH_OK;
}

static void state_free(void* p, void* state) {
  (void)p;
  free(state);
}

static berth_code pod_changed(void* p, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node, enum point point,
                              berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  state_t* state = (state_t*)cycle->state;
  char more[96];
  if (point == P_POD_ADDED) state->added++; else state->removed++;
  snprintf(more, sizeof more, " %.*s slot=%u", (int)other->name.len, other->name.ptr, node);
  trace(self, point_names[point], cycle->pod, more);
  return explain(self, point, ask(self, point, cycle->pod, BERTH_OK).code, note);
}
static berth_code pod_added(void* p, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node, berth_note_v1* note) {
  return pod_changed(p, cycle, other, node, P_POD_ADDED, note);
}
static berth_code pod_removed(void* p, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                              berth_note_v1* note) {
  return pod_changed(p, cycle, other, node, P_POD_REMOVED, note);
}

/* --- filter and score -------------------------------------------------------------------------------------------- */

static berth_code filter(void* p, const berth_cycle_v1* cycle, const berth_node_block_v1* block, berth_filter_out_v1* out,
                         berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  const state_t* state = (const state_t*)cycle->state;
  answer_t answer = ask(self, P_FILTER, cycle->pod, BERTH_OK);
  uint32_t row;
  char more[48];
  snprintf(more, sizeof more, "%s added=%d removed=%d", cycle->flags & BERTH_CYCLE_DRY_RUN ? " dry_run" : "",
           state ? (int)state->added : -1, state ? (int)state->removed : -1);
  trace(self, "filter", cycle->pod, more);
  for (row = 0; row < block->rows; row++) {
    uint64_t bit = UINT64_C(1) << (row & 63);
    berth_slot slot = block->slots ? block->slots[row] : block->first_slot + row;
    int all = answer.code == BERTH_UNSCHEDULABLE || answer.code == BERTH_UNRESOLVABLE || answer.code == BERTH_PENDING;
    if (!all && !(is(&answer, "reject") && slot == (berth_slot)answer.number)) continue;
    out->pass[row >> 6] &= ~bit;
    if (answer.code == BERTH_UNRESOLVABLE) out->unresolvable[row >> 6] |= bit;
    if (answer.code == BERTH_PENDING) out->pending[row >> 6] |= bit;
    if (cycle->flags & BERTH_CYCLE_WANT_REASONS) out->reasons[row] = 1;
  }
  if (answer.code == BERTH_UNSCHEDULABLE || answer.code == BERTH_UNRESOLVABLE || answer.code == BERTH_PENDING) return BERTH_OK;
  return explain(self, P_FILTER, answer.code, note);
}

static berth_code score(void* p, const berth_cycle_v1* cycle, const berth_node_block_v1* block, int64_t* raw,
                        berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  answer_t answer = ask(self, P_SCORE, cycle->pod, BERTH_OK);
  int is_number = answer.text[0] == '-' || (answer.text[0] >= '0' && answer.text[0] <= '9');
  uint32_t row;
  trace(self, "score", cycle->pod, "");
  for (row = 0; row < block->rows; row++) raw[row] = is_number ? (int64_t)answer.number : 10;
  return is_number ? BERTH_OK : explain(self, P_SCORE, answer.code, note);
}

static berth_code normalize(void* p, const berth_cycle_v1* cycle, const berth_slot* nodes, int64_t* scores, uint32_t count,
                            berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  (void)nodes;
  (void)scores;
  (void)count;
  trace(self, "normalize", cycle->pod, "");
  return explain(self, P_NORMALIZE, ask(self, P_NORMALIZE, cycle->pod, BERTH_OK).code, note);
}

/* --- post-filter -------------------------------------------------------------------------------------------------- */

typedef struct victims {
  berth_str uids[8];
  char text[8][48];
  uint32_t count;
} victims_t;

static uint32_t collect(void* arg, const berth_pod_v1* pod) {
  victims_t* victims = (victims_t*)arg;
  char* copy = victims->text[victims->count];
  uint64_t length = pod->uid.len < sizeof victims->text[0] ? pod->uid.len : sizeof victims->text[0];
  memcpy(copy, pod->uid.ptr, (size_t)length);
  victims->uids[victims->count].ptr = copy;
  victims->uids[victims->count].len = length;
  return ++victims->count < 8;
}

/* Asks the host, node by node, whether the pod would fit without any other pod; traces the answers. */
static void try_every_node(const self_t* self, const berth_cycle_v1* cycle, const berth_post_filter_in_v1* in) {
  char text[96], more[64];
  berth_slot slot;
  for (slot = 0; slot < in->word_count * 64; slot++) {
    victims_t victims;
    berth_note_v1 note;
    berth_code code;
    if (!(in->unschedulable[slot >> 6] >> (slot & 63) & 1)) continue;
    victims.count = 0;
    self->dry_run->pods_on(self->ctx, cycle, slot, collect, &victims);
    note.struct_size = sizeof note;
    note.reason = 0;
    note.text = text;
    note.text_cap = sizeof text;
    note.text_len = 0;
    code = self->dry_run->fits_without(self->ctx, cycle, slot, victims.uids, victims.count, &note);
    snprintf(more, sizeof more, " slot=%u without=%u code=%u", slot, victims.count, code);
    trace(self, "fits_without", cycle->pod, more);
  }
}

static berth_code post_filter(void* p, berth_cycle_v1* cycle, const berth_post_filter_in_v1* in,
                              berth_post_filter_out_v1* out, berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  answer_t answer = ask(self, P_POST_FILTER, cycle->pod, BERTH_UNSCHEDULABLE);
  trace(self, "post_filter", cycle->pod, "");
  if (is(&answer, "dry_run") && self->dry_run) try_every_node(self, cycle, in);
  if (is(&answer, "set")) {
    out->nominate = BERTH_NOMINATE_SET;
    out->node = (berth_slot)answer.number;
    answer.code = BERTH_OK;
  } else if (is(&answer, "clear")) {
    out->nominate = BERTH_NOMINATE_CLEAR;
    answer.code = BERTH_UNSCHEDULABLE;
  }
  return explain(self, P_POST_FILTER, answer.code, note);
}

/* --- reserve and permit -------------------------------------------------------------------------------------------- */

static berth_code reserve(void* p, berth_cycle_v1* cycle, berth_slot node, berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  trace_slot(self, "reserve", cycle->pod, node);
  return explain(self, P_RESERVE, ask(self, P_RESERVE, cycle->pod, BERTH_OK).code, note);
}

static void unreserve(void* p, berth_cycle_v1* cycle, berth_slot node) {
  trace_slot((const self_t*)p, "unreserve", cycle->pod, node);
}

static berth_code permit(void* p, const berth_cycle_v1* cycle, berth_slot node, berth_permit_out_v1* out,
                         berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  answer_t answer = ask(self, P_PERMIT, cycle->pod, BERTH_OK);
  trace_slot(self, "permit", cycle->pod, node);
  if (answer.code == BERTH_WAIT) out->timeout_ms = (uint32_t)answer.number;
  return explain(self, P_PERMIT, answer.code, note);
}

/* --- bind ------------------------------------------------------------------------------------------------------------ */

typedef struct later {
  const self_t* self;
  berth_bind_call_v1* call;
  berth_code code;
  char uid[64];
} later_t;

static later_t* make_later(const self_t* self, berth_bind_call_v1* call, berth_code code) {
  later_t* later = (later_t*)calloc(1, sizeof *later);
  if (later) {
    later->self = self;
    later->call = call;
    later->code = code;
  }
  return later;
}

static void complete_later(void* arg) {
  later_t* later = (later_t*)arg;
  later->call->complete(later->call->ctx, later->code, str(later->code == BERTH_OK ? "" : "completed later with an error"));
  free(later);
}

static void written(void* arg, berth_code code, berth_str text) {
  later_t* later = (later_t*)arg;
  later->call->complete(later->call->ctx, code, text);
  free(later);
}

static berth_code pre_bind_check(void* p, const berth_cycle_v1* cycle, berth_slot node, uint32_t* flags, berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  (void)flags;
  trace_slot(self, "pre_bind_check", cycle->pod, node);
  return explain(self, P_PRE_BIND_CHECK, ask(self, P_PRE_BIND_CHECK, cycle->pod, BERTH_OK).code, note);
}

/* A final code at once, or "async:<code>" on an executor thread. */
static berth_code finish_bind(const self_t* self, enum point point, const berth_cycle_v1* cycle, berth_bind_call_v1* call,
                              berth_code otherwise, berth_note_v1* note) {
  answer_t answer = ask(self, point, cycle->pod, otherwise);
  char more[96];
  snprintf(more, sizeof more, " node=%.*s", (int)call->node_name.len, call->node_name.ptr);
  trace(self, point_names[point], cycle->pod, more);
  if (is(&answer, "async:")) {
    const char* code = answer.text + sizeof "async:" - 1;
    later_t* later = make_later(self, call, code_of(code, strlen(code), BERTH_OK));
    return later && self->executor->submit(self->ctx, complete_later, later) == BERTH_OK ? BERTH_ASYNC : BERTH_ERROR;
  }
  if (is(&answer, "write")) {
    berth_str ns;
    later_t* later = make_later(self, call, BERTH_OK);
    berth_code code;
    self->intern->text(self->ctx, cycle->pod->ns, &ns);
    code = !later || !self->writes ? BERTH_ERROR
                          : self->writes->bind(self->ctx, ns, cycle->pod->name, cycle->pod->uid, call->node_name, written, later);
    return code == BERTH_OK ? BERTH_ASYNC : explain(self, point, BERTH_ERROR, note);
  }
  return explain(self, point, answer.code, note);
}
static berth_code pre_bind(void* p, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) {
  return finish_bind((const self_t*)p, P_PRE_BIND, cycle, call, BERTH_OK, note);
}
static berth_code bind(void* p, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) {
  return finish_bind((const self_t*)p, P_BIND, cycle, call, BERTH_SKIP, note);
}

static void allow_later(void* arg) {
  later_t* later = (later_t*)arg;
  berth_code code = later->self->waiting->allow(later->self->ctx, str(later->uid));
  fprintf(later->self->trace, "%s allow %s code=%u\n", later->self->name, later->uid, code);
  free(later);
}

/* The pod was bound: what does its annotation decide about another one that waits? */
static void post_bind(void* p, berth_cycle_v1* cycle, const berth_bind_call_v1* call) {
  const self_t* self = (const self_t*)p;
  answer_t answer = ask(self, P_DECIDES, cycle->pod, BERTH_OK);
  char* uid = strchr(answer.text, ' ');
  char more[96];
  snprintf(more, sizeof more, " node=%.*s", (int)call->node_name.len, call->node_name.ptr);
  trace(self, "post_bind", cycle->pod, more);
  if (!uid) return;
  uid++;
  if (is(&answer, "allow ")) {
    fprintf(self->trace, "%s allow %s code=%u\n", self->name, uid, self->waiting->allow(self->ctx, str(uid)));
  } else if (is(&answer, "reject ")) {
    fprintf(self->trace, "%s reject %s code=%u\n", self->name, uid,
            self->waiting->reject(self->ctx, str(uid), str("turned away")));
  } else if (is(&answer, "allow_later ")) {
    later_t* later = make_later(self, NULL, BERTH_OK);
    if (!later) return;
    snprintf(later->uid, sizeof later->uid, "%s", uid);
    if (self->executor->submit(self->ctx, allow_later, later) != BERTH_OK) free(later);
  }
}

/* --- requeue ---------------------------------------------------------------------------------------------------------- */

static berth_code hint(void* p, const berth_event_v1* event, const berth_pod_v1* const* pods, uint32_t count, uint64_t* queue,
                       berth_note_v1* note) {
  const self_t* self = (const self_t*)p;
  char more[48];
  uint32_t i;
  for (i = 0; i < count; i++) {
    answer_t answer = ask(self, P_HINT, pods[i], BERTH_OK);
    snprintf(more, sizeof more, " interest=%u", event->interest);
    trace(self, "hint", pods[i], more);
    if (answer.code == BERTH_ERROR) return explain(self, P_HINT, BERTH_ERROR, note);
    if (answer.code == BERTH_OK) queue[i >> 6] |= UINT64_C(1) << (i & 63);
  }
  return BERTH_OK;
}

/* --- tables ----------------------------------------------------------------------------------------------------------- */

static const berth_queue_ops_v1 queue_ops = {sizeof queue_ops, 2, key, NULL, pre_enqueue};
static const berth_prepare_ops_v1 prepare_ops = {sizeof prepare_ops, 0,          pre_filter, pre_score,
                                                 state_clone,        state_free, pod_added,  pod_removed};
static const berth_filter_ops_v1 filter_ops = {sizeof filter_ops, 0, filter, NULL, 0, 0};
static const berth_post_filter_ops_v1 post_filter_ops = {sizeof post_filter_ops, 0, post_filter};
static const berth_score_ops_v1 score_ops = {sizeof score_ops, BERTH_NORM_CUSTOM, score, normalize, 0, 0};
static const berth_reserve_ops_v1 reserve_ops = {sizeof reserve_ops, 0, reserve, unreserve};
static const berth_permit_ops_v1 permit_ops = {sizeof permit_ops, 0, permit};
static const berth_bind_ops_v1 bind_ops = {sizeof bind_ops, 0, pre_bind_check, pre_bind, bind, post_bind};
static const berth_interest_v1 interests[] = {{BERTH_KIND_NODE, BERTH_ACTION_ALL, 0, 1}, {BERTH_KIND_POD, BERTH_ACTION_ALL, 0, 1}};
static const berth_requeue_ops_v1 requeue_ops = {sizeof requeue_ops, 2, interests, hint};

static const berth_point_v1 points[] = {
    {"berth.queue/1", &queue_ops},   {"berth.prepare/1", &prepare_ops}, {"berth.filter/1", &filter_ops},
    {"berth.post_filter/1", &post_filter_ops}, {"berth.score/1", &score_ops}, {"berth.reserve/1", &reserve_ops},
    {"berth.permit/1", &permit_ops}, {"berth.bind/1", &bind_ops},       {"berth.requeue/1", &requeue_ops}};
#define POINTS_NOTE                                                                                                      \
  "points=berth.queue/1\0points=berth.prepare/1\0points=berth.filter/1\0points=berth.post_filter/1\0"                     \
  "points=berth.score/1\0points=berth.reserve/1\0points=berth.permit/1\0points=berth.bind/1\0points=berth.requeue/1\0"    \
  "service=berth.intern/1\0service=berth.waiting/1\0service=berth.clock/1\0service=berth.executor/1\0rbac=create core/pods/binding\0"

static const berth_reason_text_v1 reasons[] = {{"", ""}, {"the annotation says no", "AnnotationSaysNo"}};
static const char* const services[] = {"berth.intern/1", "berth.waiting/1", "berth.clock/1", "berth.executor/1"};
static const char schema[] = "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"trace\"],"
                             "\"properties\":{\"trace\":{\"type\":\"string\",\"description\":\"file to append calls to\"}}}";

#define PLUGIN(variable, full_name, create_function)                                                                     \
  static const berth_plugin_v1 variable = {                                                                              \
      .struct_size = sizeof variable, .flags = 0, .name = full_name, .version = "1.0.0",                                 \
      .summary = "Answers every extension point as annotations say.", .args_schema = schema, .points = points,            \
      .reasons = reasons, .services = services, .point_count = sizeof points / sizeof *points, .reason_count = 2,        \
      .service_count = 4, .deps = BERTH_DEP_EVERYTHING, .create = create_function, .destroy = destroy}
PLUGIN(first, "berth.test/First", create_first);
PLUGIN(second, "berth.test/Second", create_second);

static const berth_plugin_v1* const plugins[] = {&first, &second};
static const berth_library_v1 library = {sizeof library, BERTH_ABI_MINOR, BERTH_MINOR_REQUIRED, 2, 0, plugins};

BERTH_NOTE(first, "plugin=berth.test/First\0version=1.0.0\0" POINTS_NOTE)
BERTH_NOTE(second, "plugin=berth.test/Second\0version=1.0.0\0" POINTS_NOTE)

const berth_library_v1* berth_library_entry_v1(void) { return &library; }
