/* SPDX-License-Identifier: Apache-2.0
 * Has a name in a domain that is Kubernetes'. */
#define ZOO_NAME "scheduling.k8s.io/Animal"
#include "zoo_plugin.h"
