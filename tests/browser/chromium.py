# SPDX-License-Identifier: MIT
"""A headless Chromium that tests drive over a pipe (the Chrome DevTools Protocol): pages, what they
log and request, input, media settings and pictures. The standard library is enough for it."""

import base64
import collections
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

SECONDS = 60  # for one answer: a browser on a busy machine, not one that hangs

# Nothing of its own may use the network or wait for hardware that is not there.
OPTIONS = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # root has no other way, and the pages are ours
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
    "--no-first-run",
    "--no-default-browser-check",
    "--mute-audio",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--lang=en",
]


# Contrast of each text with what is behind it, as WCAG 2 defines it: [ratio, least, text].
CONTRAST = r"""(() => {
    const parse = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(v => v / 255).map(
            v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const ratio = (a, b) => {
        const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
        return (x + 0.05) / (y + 0.05);
    };
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = parse(getComputedStyle(element).backgroundColor);
            if (colour.length < 4 || colour[3] == 1)
                return colour;
        }
        return [255, 255, 255];
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
        if (!text || element.closest('script, title, button:disabled') || !element.getClientRects().length)
            continue;
        const style = getComputedStyle(element), size = parseFloat(style.fontSize);
        const inSvg = element.closest('svg');
        let ground = behind(element);
        if (inSvg && element.classList.contains('in')) {
            const bar = element.previousElementSibling;
            ground = parse(getComputedStyle(bar).fill);
        }
        const isLarge = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
        found.push([ratio(parse(inSvg ? style.fill : style.color), ground), isLarge ? 3 : 4.5,
            text.slice(0, 40)]);
    }
    // Curves and what is written on a canvas have the same colours as in the pictures.
    const probe = document.body.appendChild(document.createElement('i'));
    for (const [name, least] of [['dim', 4.5], ['bad', 4.5],
            ...[0, 1, 2, 3, 4, 5, 6, 7].map(i => ['c' + i, 3])]) {
        probe.style.color = 'var(--' + name + ')';
        found.push([ratio(parse(getComputedStyle(probe).color), behind(document.body)), least, name]);
    }
    return found;
})()"""


class Failed(Exception):
    """The browser ended, does not answer, or refused a command."""


class Browser:
    """One browser with a profile of its own, gone after close()."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="toll-chromium-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        # The browser has them as descriptors 3 and 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", "chromium",
             *OPTIONS, f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HOME": self.profile, "XDG_CONFIG_HOME": self.profile,
                 "XDG_CACHE_HOME": self.profile, "LC_ALL": "C.UTF-8"},
        )
        for fd in (to_browser, from_browser):
            os.close(fd)
        self.buffer = b""
        self.number = 0
        self.answers = {}
        self.events = collections.defaultdict(list)  # of each session

    def close(self):
        os.close(self.output)
        os.close(self.input)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            pass
        try:  # it and what it has started
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        """Reads one message: an answer or an event."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise Failed("chromium does not answer")
            data = os.read(self.input, 1 << 20)
            if not data:
                raise Failed("chromium has ended")
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.events[message.get("sessionId")].append(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        deadline = time.monotonic() + SECONDS
        while number not in self.answers:
            self.receive(deadline)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def page(self, **settings):
        return Page(self, **settings)


class Page:
    """A tab. What went wrong in it is in errors(), what it asked for in requests()."""

    def __init__(self, browser, width=1280, height=800, scheme="light", has_script=True):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.scheme(scheme)
        self.has_script = has_script
        if not has_script:
            self.call("Emulation.setScriptExecutionDisabled", value=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def events(self, *methods):
        return [e["params"] for e in self.browser.events[self.session] if e["method"] in methods]

    def wait(self, method):
        deadline = time.monotonic() + SECONDS
        while not self.events(method):
            self.browser.receive(deadline)

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=width < 600)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, path):
        """A file, loaded as a whole."""
        self.browser.events[self.session].clear()
        answer = self.call("Page.navigate", url=path.resolve().as_uri())
        if answer.get("errorText"):
            raise Failed(answer["errorText"])
        self.wait("Page.loadEventFired")
        return self

    def run(self, script):
        """The value of an expression in the page; of a promise, what it is resolved with."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(json.dumps(answer["exceptionDetails"].get("exception", {}).get(
                "description", answer["exceptionDetails"]["text"])))
        return answer["result"].get("value")

    def drawn(self):
        """Returns when what was changed is on the screen. Without scripts a page has no way to report
        that, and nothing changes after it was loaded."""
        if not self.has_script:
            return
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r())))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x, y, to_x):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for i in range(1, 4):
            self.mouse("mouseMoved", x + (to_x - x) * i / 3, y, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, y, button="left", clickCount=1)
        self.drawn()

    def double_click(self, x, y):
        for count in (1, 2):
            self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=count)
            self.mouse("mouseReleased", x, y, button="left", clickCount=count)
        self.drawn()

    def key(self, name, text=""):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowRight": 39}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text,
                  windowsVirtualKeyCode=codes.get(name, 0))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name,
                  windowsVirtualKeyCode=codes.get(name, 0))

    def errors(self):
        """What the console has, exceptions, and what the security policy has stopped."""
        self.run("0")  # events up to now have arrived then
        found = [e["exceptionDetails"] for e in self.events("Runtime.exceptionThrown")]
        found += [e["entry"] for e in self.events("Log.entryAdded")]
        found += [e for e in self.events("Runtime.consoleAPICalled")]
        found += [e["issue"] for e in self.events("Audits.issueAdded")]
        return found

    def requests(self):
        """URLs that were asked for, but for the page itself."""
        asked = [e["request"]["url"] for e in self.events("Network.requestWillBeSent")
                 if e.get("type") != "Document"]
        return asked

    def contrasts(self):
        """[ratio, least that it must be, text] of each text and colour."""
        return self.run(CONTRAST)

    def picture(self, path, height=None):
        """The page as a PNG: all of it, or the first part."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"],
                "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))
