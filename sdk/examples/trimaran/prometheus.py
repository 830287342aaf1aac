#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small server that answers Prometheus' instant queries about the load of nodes.

    prometheus.py --load NAME=CPU[:DEVIATION[:MEMORY[:DEVIATION]]]… --config IN OUT… -- COMMAND…

Loads are percentages. The server's address stands in the copies of the configurations; the command runs as long as the server does. With
--port-file FILE it runs until it is killed.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "http_client"))
from server_for_command import add_options, run, serve  # noqa: E402


def answer_of(loads):
    def answer(_, path, query):
        if path != "/api/v1/query":
            return 404, "no such page"
        text = query.get("query", "")
        place = 2 * ("memory" in text) + ("stddev" in text)
        series = [{"metric": {"instance": name}, "value": [1769945400.1, str(values[place] / 100)]}
                  for name, values in loads.items() if place < len(values)]
        return 200, json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}})
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--load", action="append", default=[], metavar="NAME=CPU[:DEVIATION[:MEMORY[:DEVIATION]]]")
    add_options(parser)
    options = parser.parse_args()
    loads = {name: [float(value) for value in values.split(":")] for name, values in (each.split("=") for each in options.load)}
    return run(parser, options, "http://prometheus.monitoring:9090", serve(answer_of(loads)))


if __name__ == "__main__":
    sys.exit(main())
