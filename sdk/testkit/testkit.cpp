// SPDX-License-Identifier: Apache-2.0
// The definitions of the test kit, once for all tests of this tree.
#if !defined(BERTH_TESTKIT_COMPILED)
#error "everything that links this is to have declarations only"
#endif
#include <berth/testkit/impl/bind_call.ipp>
#include <berth/testkit/impl/cluster.ipp>
#include <berth/testkit/impl/host.ipp>
#include <berth/testkit/impl/nodes.ipp>
#include <berth/testkit/impl/placed_pods.ipp>
#include <berth/testkit/impl/pods.ipp>
#include <berth/testkit/impl/policy.ipp>
#include <berth/testkit/impl/what_if.ipp>
