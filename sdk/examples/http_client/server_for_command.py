# SPDX-License-Identifier: Apache-2.0
"""For scripts that run something next to a command: a small HTTP server, and the options that such scripts share.

    --config IN OUT… -- COMMAND…   writes IN, with the address in the place of a word, to OUT, and runs the command
    --port-file FILE               runs until it is killed; the port stands in FILE
"""
import http.server
import os
import pathlib
import subprocess
import sys
import threading
import urllib.parse


def serve(answer):
    """Serves answer(method, path, query) -> (status, text) on a port of its own, which is returned."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def handle_any(self):
            url = urllib.parse.urlsplit(self.path)
            status, text = answer(self.command, urllib.parse.unquote(url.path), dict(urllib.parse.parse_qsl(url.query)))
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = handle_any

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def add_options(parser):
    parser.add_argument("--port-file", type=pathlib.Path)
    parser.add_argument("--config", nargs=2, type=pathlib.Path, metavar=("IN", "OUT"), action="append", default=[])
    parser.add_argument("command", nargs="*")


def run(parser, options, word, port):
    """What the options say. Returns the command's exit status."""
    if options.port_file:
        # A reader that waits for the file sees all of it.
        partial = options.port_file.with_suffix(".partial")
        partial.write_text(str(port))
        os.replace(partial, options.port_file)
        threading.Event().wait()
    if not options.config or not options.command:
        parser.error("say --port-file, or --config and a command")
    for source, target in options.config:
        target.write_text(source.read_text().replace(word, f"http://127.0.0.1:{port}"))
    status = subprocess.run(options.command).returncode
    sys.stdout.flush()
    return status
