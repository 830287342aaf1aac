/* SPDX-License-Identifier: Apache-2.0
 * "berth.domains/1": a policy whose answer for a node follows from the topology domains that the node is in, asked once
 * per group of nodes instead of once per node.
 *
 * A policy has it together with "berth.filter/1" and "berth.score/1", never instead of them. For a pod the policy names columns: each says which
 * domain every node is in, and a value for every domain ("pods of this application in this zone"). The host keeps the nodes of
 * a class of pods in groups that have the same in every column, moves only those nodes whose value has changed since the last
 * pod of the class, and asks for a verdict and a score per group. A choice so made is the one that filter and score give:
 * where they answer for a node, the answer for its group is the same. */
#ifndef BERTH_EXT_DOMAINS_H
#define BERTH_EXT_DOMAINS_H

#include "cycle.h"

enum {
  BERTH_DOMAIN_TELL_APART = 1u /* column->flags: groups say which domain they are in, and hold nodes of one only. For few
                                  domains, such as zones: each of them is a group at least. A value that changes moves no
                                  node then. Without it nodes of all domains with equal values are together.               */
};
#define BERTH_DOMAIN_COLUMNS_MAX 16u /* of all policies of a profile together; beyond, nodes are judged one by one */

/* Valid until the next call for a pod of the class; values change only within filter_columns and score_columns. */
typedef struct berth_domain_column_v1 {
  uint32_t struct_size;
  uint32_t flags;            /* BERTH_DOMAIN_*                                                                        */
  const uint32_t* domain_of; /* by slot, slot_count entries: 1 .. domain_count - 1; 0: the node is in no domain       */
  const int64_t* values;     /* by domain; [0] means nothing                                                          */
  uint32_t domain_count;     /* entries of values, at least 1                                                         */
  uint32_t reserved;
  uint64_t version;          /* never 0. As before for a pod of the class: domain_of is as it was, and `changed` holds every domain
                                whose value has moved since. Any other number: all is new. Given once in this process. */
  uint64_t table;            /* equal numbers of one plugin: domain_of is the same array of the same content          */
  const uint32_t* changed;   /* domains whose value moved, oldest first, repeated or not; entry i has the number
                                changed_end - changed_count + i                                                       */
  uint64_t changed_end;      /* grows by one for each change since the version began                                  */
  uint32_t changed_count;    /* how many of them are still remembered                                                 */
  uint32_t reserved_2;
} berth_domain_column_v1;

typedef struct berth_domain_columns_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* Copies the column. BAD_ARGS for one that is no column, or one too many: answer ERROR then.                 [cycle] */
  berth_code (*add)(void* ctx, const berth_domain_column_v1* column);
} berth_domain_columns_v1;

/* Groups of nodes; in each, all nodes have the same in all columns that the policy named for the point. */
typedef struct berth_domain_groups_v1 {
  uint32_t struct_size;
  uint32_t count;
  uint32_t column_count;
  uint32_t reserved;
  const int64_t* const* values;   /* [column][group]; 0 where the nodes are in no domain                              */
  const uint32_t* const* domains; /* [column][group]: 0: in no domain; else the domain if it is told apart, else 1    */
  const uint32_t* nodes;          /* [group]: nodes in it, > 0. Score: each of them feasible                          */
} berth_domain_groups_v1;

typedef struct berth_domain_ops_v1 {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* After pre_filter has answered OK. OK: by these columns filter_groups judges. SKIP: not for this pod; filter is called.
   * Any failure counts as SKIP.                                                                               [cycle] */
  berth_code (*filter_columns)(void* self, berth_cycle_v1* cycle, const berth_domain_columns_v1* out, berth_note_v1* note);
  /* pass: by group, all bits set on entry; clear those of groups whose nodes filter would reject.             [worker] */
  berth_code (*filter_groups)(void* self, const berth_cycle_v1* cycle, const berth_domain_groups_v1* groups, uint64_t* pass,
                              berth_note_v1* note);
  /* In place of pre_score, with *scores = 1 on entry. OK: by these columns score_groups scores; with *scores = 0: as pre_score
   * would answer SKIP. SKIP: not for this pod; pre_score and score are called. Any failure counts as SKIP.     [cycle] */
  berth_code (*score_columns)(void* self, berth_cycle_v1* cycle, const berth_domain_columns_v1* out, uint32_t* scores,
                              berth_note_v1* note);
  /* scores: by group. NORM_CUSTOM: the final ones, which score and normalize would give to each node of the group, given that the
   * feasible nodes are those of all groups. Else what score would give; the host normalises.                  [worker] */
  berth_code (*score_groups)(void* self, const berth_cycle_v1* cycle, const berth_domain_groups_v1* groups, int64_t* scores,
                             berth_note_v1* note);
} berth_domain_ops_v1;

#endif
