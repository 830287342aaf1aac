#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A cloud for trying the plugin: disks that can be attached to nodes.

    cloud.py [--full NODE]… --config IN OUT -- COMMAND…    writes IN with its own address in the place of CLOUD_ADDRESS to
                                                           OUT, runs the command, prints what it was asked, and ends
    cloud.py [--full NODE]… --port-file FILE               runs until it is killed; its port stands in FILE

    POST /disks/DISK/attach?node=NODE    200; 409 when it is attached elsewhere; 507 when the node takes no more disks
    POST /disks/DISK/detach?node=NODE    200, also when it is not attached there
    GET /disks                           {"DISK": "NODE"}
    GET /requests                        what was asked for, oldest first
    POST /full?node=NODE&full=0          the node takes disks again
"""
import argparse
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "http_client"))
import server_for_command  # noqa: E402


class Cloud:
    def __init__(self, full):
        self.lock, self.disks, self.full, self.requests = threading.Lock(), {}, set(full), []

    def answer(self, method, path, query):
        """(status, text)"""
        parts, node = path.strip("/").split("/"), query.get("node", "")
        with self.lock:
            if method == "GET" and parts == ["disks"]:
                return 200, json.dumps(self.disks)
            if method == "GET" and parts == ["requests"]:
                return 200, json.dumps(self.requests)
            if method == "POST" and parts == ["full"]:
                (self.full.discard if query.get("full") == "0" else self.full.add)(node)
                return 200, ""
            if method == "POST" and len(parts) == 3 and parts[0] == "disks" and parts[2] in ("attach", "detach"):
                status, text = self.attach(parts[1], node) if parts[2] == "attach" else self.detach(parts[1], node)
                self.requests.append(f"{parts[2]} {parts[1]} {node}: {status}")
                return status, text
        return 404, "not found"

    def attach(self, disk, node):
        if self.disks.get(disk, node) != node:
            return 409, f"it is attached to {self.disks[disk]}"
        if node in self.full:
            return 507, f"{node} takes no more disks"
        self.disks[disk] = node
        return 200, ""

    def detach(self, disk, node):
        if self.disks.get(disk) == node:
            del self.disks[disk]
        return 200, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="append", default=[], help="a node that takes no disk")
    server_for_command.add_options(parser)
    options = parser.parse_args()
    cloud = Cloud(options.full)
    status = server_for_command.run(parser, options, "CLOUD_ADDRESS", server_for_command.serve(cloud.answer))
    print("\nThe cloud was asked:", *cloud.requests, sep="\n  ")
    return status


if __name__ == "__main__":
    sys.exit(main())
