"""Drive headless Chromium by its debugging protocol over two pipes: open a page, run JavaScript, press keys, look."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
    "--remote-debugging-pipe",
)


class Browser:
    """A page in a browser. `requests` are the addresses that it asked for, `errors` what scripts threw or logged."""

    def __init__(self, to: int, back: int) -> None:
        self.to = to
        self.back = back
        self.waiting = b""
        self.count = 0
        self.session: str | None = None
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> Any:
        """Return the answer to a command."""
        self.count += 1
        told = {"id": self.count, "method": method, "params": params}
        if self.session:
            told["sessionId"] = self.session
        os.write(self.to, json.dumps(told).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        """Return the next message, and note what events tell."""
        while b"\0" not in self.waiting:
            read = os.read(self.back, 1 << 20)
            assert read, "the browser ended"
            self.waiting += read
        text, _, self.waiting = self.waiting.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        params = found.get("params", {})
        match found.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(params["entry"]["text"])
        return found

    def size(self, width: int, height: int, **more: Any) -> None:
        """Set the size of the window, and whether it is a phone's."""
        told = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False, **more}
        self.ask("Emulation.setDeviceMetricsOverride", **told)

    def open(self, path: Path | str) -> None:
        """Open a file and wait until it is drawn."""
        self.requests.clear()
        self.ask("Page.navigate", url=path if isinstance(path, str) else path.as_uri())
        self.run(
            "new Promise(done => { const look = () => document.readyState === 'complete' ? done(1)"
            " : setTimeout(look, 5); look(); })"
        )
        self.frame()

    def run(self, script: str) -> Any:
        """Return the value of an expression of JavaScript."""
        told = {"expression": script, "returnByValue": True, "awaitPromise": True, "userGesture": True}
        answer = self.ask("Runtime.evaluate", **told)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def frame(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def point(self, selector: str, index: int = 0, *, click: bool = False) -> None:
        """Move the pointer to the middle of an element, and click there."""
        box = self.run(
            f"(() => {{ const e = document.querySelectorAll({json.dumps(selector)})[{index}]; "
            "const r = e.getBoundingClientRect(); return [r.x + Math.min(r.width / 2, 60), r.y + r.height / 2]; })()"
        )
        where = {"x": box[0], "y": box[1]}
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", **where)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **where)
        self.frame()

    def click(self, selector: str, index: int = 0) -> None:
        """Click on an element."""
        self.point(selector, index, click=True)

    def press(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.frame()

    def texts(self, selector: str) -> list[str]:
        """Return the texts of elements."""
        found: list[str] = self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")
        return found

    def picture(self, path: Path) -> None:
        """Write what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser for as long as the context is open."""
    assert CHROMIUM is not None
    read, to = os.pipe()
    back, write = os.pipe()
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (read, write)]

    def give() -> None:
        os.dup2(theirs[0], 3)
        os.dup2(theirs[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, pass_fds=(3, 4), preexec_fn=give, **quiet) as process:  # noqa: PLW1509
            for end in (read, write, *theirs):
                os.close(end)
            try:
                yield Browser(to, back)
            finally:
                process.kill()
                os.close(to)
                os.close(back)
