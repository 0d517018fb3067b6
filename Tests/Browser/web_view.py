#!/usr/bin/python3
"""Calls an API through a gateway from pages, as docs/client/web.md says, and prints what came:
web_view.py GATEWAY OTHER_ORIGIN TOKEN"""

import asyncio
import json
import sys

from browser import Browser

CALL = """(async () => {
  const call = async (fetching) => {
    try {
      const response = await fetching;
      return [response.status, await response.text()];
    } catch (error) { return [0, `${error}`]; }
  };
  const module = await import('/api.js');
  return await call(%s);
})()"""
APPLE = """window.webkit = {messageHandlers: {sallyport: {
  postMessage: async () => %s}}}; delete window.sallyport"""
# Calls at the same time share a question, because only the last listener hears an answer.
THREE = """Promise.all([1, 2, 3].map((n) => module.api(`/api/${n}`)))
  .then((all) => all.find((one) => one.status !== 200) ?? all[0])"""
LATE = """delete window.webkit; window.sallyport = {
  postMessage() { setTimeout(() => this.onmessage({data: %s}), 0); }}"""
ANDROID = """delete window.webkit; window.sallyport = {
  postMessage() { this.onmessage({data: %s}); }}"""


# The first token is refused, and the page says so.
REFUSED = """delete window.webkit; window.sallyport = {
  postMessage(refused) { this.onmessage({data: refused === %s ? %s : %s}); }}"""


async def main(gateway, other, token):
    seen = {}
    async with Browser() as page:
        await page.open(gateway + "/page")
        seen["bare"] = await page.run(CALL % "fetch('/api/x', {method: 'POST', body: '{}'})")
        for name, bridge in (("apple", APPLE), ("android", ANDROID)):
            await page.run(bridge % json.dumps(token))
            seen[name] = await page.run(
                CALL % "module.api('/api/x', {method: 'POST', body: '{}'})")
        await page.run(LATE % json.dumps(token))
        seen["three"] = await page.run(CALL % THREE)
        seen["foreign"] = await page.run(CALL % f"module.api('{other}/open/x')")
        await page.run("delete window.sallyport")
        seen["no bridge"] = await page.run(CALL % "module.api('/api/x')")
        await page.run(ANDROID % json.dumps(""))
        seen["no token"] = await page.run(CALL % "module.api('/api/x')")
        await page.run(ANDROID % json.dumps(token[:-4] + "AAAA"))
        seen["altered"] = await page.run(CALL % "module.api('/api/x')")
        bad = json.dumps(token[:-4] + "AAAA")
        await page.run(REFUSED % (bad, json.dumps(token), bad))
        seen["refused"] = await page.run(CALL % "module.api('/api/x')")
        # The gateway is another origin to this page.
        await page.open(other + "/page")
        await page.run(ANDROID % json.dumps(token))
        other_call = CALL.replace("/api.js", "/other.js")
        seen["refused origin"] = await page.run(other_call % "module.api('/api/x')")
        seen["allowed origin"] = await page.run(other_call % "module.api('/open/x')")
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
