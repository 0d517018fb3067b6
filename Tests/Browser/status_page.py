#!/usr/bin/python3
"""Uses a status page as an operator does, and prints what was seen as JSON:
status_page.py http://ADMIN REQUEST_ID"""

import asyncio
import json
import sys

from browser import Browser

# What the keyboard must reach.
STOPS = "a[href], button, select, input, summary, [tabindex='0']"


async def tab_stops(page):
    """How many of the places that can have the focus the Tab key does not reach."""
    await page.run("document.activeElement.blur()")
    count = await page.run(f"document.querySelectorAll(`{STOPS}`).length")
    await page.run("window.reached = new Set(); document.addEventListener('focusin', (event) => "
                   "window.reached.add(event.target))")
    for _ in range(count + 3):
        await page.press("Tab")
    return await page.run(
        f"[...document.querySelectorAll(`{STOPS}`)].filter((each) => !window.reached.has(each))"
        ".map((each) => each.outerHTML)")


async def overflow(page):
    """What is wider than the screen, by scheme and width."""
    found = []
    for scheme in ("light", "dark"):
        for width in (1280, 768, 360):
            await page.media(scheme, width, 800)
            wide = await page.run("""(() => {
              const root = document.documentElement;
              const inside = (each) => each.closest('.scroll, .why');
              const wide = [...document.querySelectorAll('main *')].filter((each) => !inside(each)
                && each.getBoundingClientRect().right > innerWidth + 1)
                .map((each) => each.outerHTML.slice(0, 120));
              return root.scrollWidth > innerWidth || wide.length ? [root.scrollWidth, ...wide] : [];
            })()""")
            if wide:
                found.append([scheme, width, *wide])
    return found


async def contrast(page):
    """The least contrast of text and its background in hundredths (WCAG 2.2, 1.4.3)."""
    least = {}
    for scheme in ("light", "dark"):
        await page.media(scheme, 1280, 800)
        least[scheme] = await page.run("""(() => {
          const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
          const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
            .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
            .reduce((all, each, index) => all + each * [0.2126, 0.7152, 0.0722][index], 0);
          const back = (each) => {
            for (let at = each; at; at = at.parentElement) {
              const colour = rgb(getComputedStyle(at).backgroundColor);
              if (colour.length === 3 || colour[3] === 1) return colour;
            }
            return [255, 255, 255];
          };
          let least = 21;
          for (const each of document.querySelectorAll('body *')) {
            const own = [...each.childNodes].some((node) => node.nodeType === 3
              && node.data.trim());
            if (!own || !each.getClientRects().length || each instanceof SVGElement) continue;
            const [a, b] = [light(rgb(getComputedStyle(each).color)), light(back(each))];
            least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
          }
          return Math.floor(least * 100);
        })()""")
    return least


async def search(page, words):
    """Types into the search box, and opens the first refusal by the keyboard."""
    await page.run("document.getElementById('search').focus()")
    await page.run("document.getElementById('search').select()")
    await page.call("Input.insertText", text=words)
    note = await page.run("document.querySelector('#refusals .note').innerText")
    if not await page.run("document.querySelectorAll('.refusals details').length"):
        return {"note": note, "text": ""}
    await page.press("Tab")
    await page.press("Enter", text="\r")
    shown = "document.querySelector('.refusals details[open]')"
    await page.until(shown)
    text = await page.run(f"{shown}.innerText")
    await page.press("Enter", text="\r")
    return {"note": note, "text": text}


async def main(address, request_id):
    seen = {}
    async with Browser() as page:
        await page.media("light", 1280, 800)
        await page.call("Emulation.setScriptExecutionDisabled", value=True)
        await page.open(address + "/")
        seen["plain"] = await page.run("document.body.innerText")
        seen["plain_overflow"] = await overflow(page)
        await page.call("Emulation.setScriptExecutionDisabled", value=False)
        await page.open(address + "/")
        await page.polled()
        await page.media("light", 1280, 800)
        seen["text"] = await page.run("document.body.innerText")
        seen["unreached"] = await tab_stops(page)
        seen["found"] = await search(page, request_id)
        seen["hostile"] = await search(page, "<img src=x")
        seen["nothing"] = await search(page, "no such request")
        await page.run("document.getElementById('search').focus()")
        await page.press("Enter", text="\r")
        await page.until("document.querySelector('#refusals .note').innerText.includes('kept')")
        seen["asked"] = await page.run("document.querySelector('#refusals .note').innerText")
        await page.run("document.querySelector('.chart').focus()")
        await page.press("ArrowLeft")
        seen["readout"] = await page.run("document.querySelector('.readout').innerText")
        await page.run("document.querySelector('[data-range=day]').click()")
        await page.until("document.querySelector('#tiles').innerText.includes('last day')")
        seen["overflow"] = await overflow(page)
        seen["contrast"] = await contrast(page)
        seen["made"] = await page.run(
            "[typeof window.pwned, document.querySelectorAll('img, main script').length].join()")
        # A 404 that was asked for is the browser's to mention.
        seen["messages"] = [text for text in page.messages if "404" not in text]
        await page.call("Network.emulateNetworkConditions", offline=True, latency=0,
                        downloadThroughput=-1, uploadThroughput=-1)
        await page.run("document.dispatchEvent(new Event('visibilitychange'))")
        await page.until("document.querySelector('.live.off')")
        seen["silent"] = await page.run("document.getElementById('live').innerText")
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
