# SPDX-License-Identifier: Apache-2.0
"""`berth ui` as a process, and what strangers to its page get."""
import http.client
import signal
import subprocess
import urllib.parse

END_S = 60


class Served:
    """Runs it until the block ends; `url` is what it prints, `status` how it ended."""

    def __init__(self, command):
        self.command, self.status = command, None

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit(f"{self.command} ended with {self.process.wait(END_S)} and served nothing")
        parts = urllib.parse.urlsplit(self.url)
        self.port, self.path = parts.port, parts.path
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.status = self.process.wait(END_S)
        self.process.stdout.close()

    def ask(self, method="GET", path=None, **headers):
        """(status, header fields, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=END_S)
        connection.request(method, self.path if path is None else path,
                           headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        out = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        connection.close()
        return out


def check_strangers(served, check):
    """Only a GET with the secret, for the loopback's own name, is answered with the page; and that is for nothing else."""
    status, fields, body = served.ask()
    check("the address that is printed is that of the page", status == 200 and "<title>berth</title>" in body, status)
    wanted = {"cache-control": "no-store", "referrer-policy": "no-referrer", "x-frame-options": "DENY",
              "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin"}
    check("the answer is for this page alone", wanted.items() <= fields.items(), fields)
    policy = fields.get("content-security-policy", "")
    check("its policy of content is strict", "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and
          "unsafe" not in policy, policy)
    wrong = served.path[:-2] + ("0" if served.path[-2] != "0" else "1") + "/"
    for path in ("/", "/favicon.ico", wrong, served.path + "more", served.path[:-1]):
        status, _, body = served.ask(path=path)
        check(f"no page without the secret: {path[:14]}", status == 404 and "<title>" not in body, status)
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", f"127.0.0.1:{served.port}.evil.example"):
        check(f"no page for another name: {host}", served.ask(Host=host)[0] == 421)
    check("the loopback has a name", served.ask(Host=f"localhost:{served.port}")[0] == 200)
    for method in ("HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        check(f"no answer to {method}", served.ask(method)[0] == 405)
    check("no page within other sites", served.ask(Sec_Fetch_Site="cross-site")[0] == 403)
