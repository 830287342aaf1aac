/* SPDX-License-Identifier: Apache-2.0
 * Answers a pre-bind call when it has been destroyed, from a thread that it leaves behind. */
#define ZOO_OWN_DESTROY
#include <berth/plugin.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t destroyed_once = PTHREAD_COND_INITIALIZER;
static int destroyed;

static void* answer_after_destroy(void* call) {
  const berth_bind_call_v1* const pre_bind_call = call;
  const berth_str text = {"", 0};
  pthread_mutex_lock(&mutex);
  while (!destroyed) pthread_cond_wait(&destroyed_once, &mutex);
  pthread_mutex_unlock(&mutex);
  pre_bind_call->complete(pre_bind_call->ctx, BERTH_OK, text);
  while (pause() != 0) {
  }
  return 0;
}
static berth_code pre_bind(berth_bind_call_v1* call) {
  pthread_t thread;
  if (pthread_create(&thread, 0, answer_after_destroy, call) != 0) return BERTH_ERROR;
  pthread_detach(thread);
  return BERTH_ASYNC;
}
static void zoo_destroy(void* self) {
  (void)self;
  pthread_mutex_lock(&mutex);
  destroyed = 1;
  pthread_cond_broadcast(&destroyed_once);
  pthread_mutex_unlock(&mutex);
}
#define ZOO_BINDER
#include "zoo_plugin.h"
