"""A headless Chromium and one page in it, steered by the Chrome DevTools Protocol."""

import asyncio
import base64
import json
import os
import shutil
import tempfile

import websockets

PATIENCE = 60


class Page:
    """A page; `messages` is all that its console and the browser said about it."""

    def __init__(self, socket):
        self.socket = socket
        self.session = None
        self.messages = []
        self.failures = []
        self.handlers = {}
        self.number = 0
        self.replies = {}
        self.waiters = []
        self.reader = asyncio.ensure_future(self.read())

    async def read(self):
        async for text in self.socket:
            message = json.loads(text)
            if "id" in message:
                self.replies.pop(message["id"]).set_result(message)
                continue
            method, parameters = message["method"], message.get("params", {})
            if method == "Runtime.consoleAPICalled":
                self.messages.append(" ".join(str(a.get("value")) for a in parameters["args"]))
            elif method == "Runtime.exceptionThrown":
                self.messages.append(json.dumps(parameters["exceptionDetails"]))
            elif method == "Log.entryAdded":
                self.messages.append(parameters["entry"]["text"])
            elif method == "Network.loadingFailed":
                self.failures.append(parameters.get("errorText"))
            elif method in self.handlers:
                asyncio.ensure_future(self.handlers[method](parameters))
            for name, future in list(self.waiters):
                if name == method and not future.done():
                    future.set_result(parameters)

    async def call(self, method, **parameters):
        self.number += 1
        future = self.replies[self.number] = asyncio.get_running_loop().create_future()
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        await self.socket.send(json.dumps(message))
        reply = await asyncio.wait_for(future, PATIENCE)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply["result"]

    async def event(self, name, act):
        """Does `act`, and waits for the next event of this name."""
        future = asyncio.get_running_loop().create_future()
        self.waiters.append((name, future))
        await act
        return await asyncio.wait_for(future, PATIENCE)

    async def open(self, address):
        await self.event("Page.loadEventFired", self.call("Page.navigate", url=address))

    async def run(self, script):
        """The value of an expression, or of the promise that it is."""
        reply = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            raise RuntimeError(json.dumps(reply["exceptionDetails"]))
        return reply["result"].get("value")

    async def until(self, condition):
        """Waits until an expression is true; looks whenever the document changes."""
        return await self.run(
            """new Promise((resolve) => {
              const look = () => (%s) && (resolve(true), true);
              if (look()) return;
              const observer = new MutationObserver(() => look() && observer.disconnect());
              observer.observe(document, {subtree: true, childList: true, attributes: true,
                characterData: true});
            })""" % condition)

    async def polled(self):
        """Waits until the page has shown another answer of the gateway."""
        await self.until(
            "Number(document.documentElement.dataset.polls) > %d"
            % (await self.run("Number(document.documentElement.dataset.polls || 0)")))

    async def media(self, scheme, width, height, scale=1):
        await self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme},
                      {"name": "prefers-reduced-motion", "value": "reduce"}])
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=scale, mobile=width < 600)

    async def press(self, key, code=None, text=None):
        parameters = {"key": key, "code": code or key}
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, " ": 32}
        if key in codes:
            parameters["windowsVirtualKeyCode"] = codes[key]
        if text:
            parameters["text"] = text
        await self.call("Input.dispatchKeyEvent", type="keyDown", **parameters)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    async def picture(self, path, clip=None):
        parameters = {"format": "png"}
        if clip:
            parameters.update(clip=clip, captureBeyondViewport=True)
        reply = await self.call("Page.captureScreenshot", **parameters)
        with open(path, "wb") as file:
            file.write(base64.b64decode(reply["data"]))


class Browser:
    """`async with Browser() as page`: ended with all that it wrote."""

    @staticmethod
    def program():
        for name in ("chromium", "chromium-browser", "google-chrome"):
            if shutil.which(name):
                return name
        return None

    async def __aenter__(self):
        self.folder = tempfile.mkdtemp(prefix="sallyport-browser-")
        options = ["--headless=new", "--remote-debugging-port=0", "--no-first-run",
                   f"--user-data-dir={self.folder}", "--disable-gpu", "--disable-extensions",
                   "--disable-background-networking", "--disable-component-update",
                   "--no-proxy-server", "--hide-scrollbars", "--force-color-profile=srgb"]
        # Chromium refuses to be root's in its sandbox; nothing foreign is loaded.
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        self.process = await asyncio.create_subprocess_exec(
            self.program(), *options, "about:blank", stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE, env={**os.environ, "HOME": self.folder, "TZ": "UTC"})
        address = await asyncio.wait_for(self.address(), PATIENCE)
        self.drain = asyncio.ensure_future(self.process.stderr.read())
        self.socket = await websockets.connect(address, max_size=None)
        page = Page(self.socket)
        targets = await page.call("Target.getTargets")
        target = next(t for t in targets["targetInfos"] if t["type"] == "page")
        attached = await page.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.call(f"{domain}.enable")
        return page

    async def address(self):
        async for line in self.process.stderr:
            if b"DevTools listening on " in line:
                return line.split(b" on ")[1].strip().decode()
        raise RuntimeError("the browser did not start")

    async def __aexit__(self, *_):
        await self.socket.close()
        self.process.terminate()
        await self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
