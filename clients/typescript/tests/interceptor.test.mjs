import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { InvalidRequest, interceptor, Refused } from "../build/index.js";
import { World } from "./support/world.mjs";

const URL_X = "https://gateway.example/api/x";
const OTHER = "https://other.example/";

/** An instance of Axios whose URLs are those of their requests. */
const http = { getUri: ({ url = URL_X }) => url };

/** Sends a request as Axios does, after the interceptor. */
async function send(world, config) {
  const changed = interceptor(world.client(), http)(config);
  return changed.adapter(changed);
}

function sent(world) {
  return world.gateway.requests.filter(({ path }) => path === "/api/x");
}

describe("the interceptor", () => {
  it("leaves other requests alone", () => {
    const config = { adapter: "xhr", url: OTHER };
    assert.equal(interceptor(new World().client(), http)(config), config);
    assert.equal(config.adapter, "xhr");
  });

  it("takes the URL when a request is sent", async () => {
    const world = new World();
    const adapter = async ({ url }) => `plain ${url}`;
    const getAdapter = (name, { url }) => {
      assert.deepEqual([name, url], [["xhr"], OTHER]);
      return adapter;
    };
    const client = world.client();
    const own = interceptor(client, http)({ url: URL_X, adapter });
    assert.equal(await own.adapter({ ...own, url: OTHER }), `plain ${OTHER}`);
    const named = interceptor(client, http, getAdapter)({ url: OTHER, adapter: ["xhr"] });
    assert.equal(await named.adapter(named), `plain ${OTHER}`);
    assert.equal((await named.adapter({ ...named, url: URL_X })).status, 200);
    assert.equal(sent(world).length, 1);
    const alone = interceptor(client, http)({ url: URL_X });
    await assert.rejects(alone.adapter({ ...alone, url: OTHER }), InvalidRequest);
  });

  it("refuses to give a stream, which it does not have", async () => {
    const world = new World();
    await assert.rejects(send(world, { responseType: "stream" }), InvalidRequest);
    assert.deepEqual(world.actions, []);
  });

  it("encodes what Axios leaves in a query", async () => {
    const world = new World();
    await send(world, { url: `${URL_X}?a[]=1&b='c'` });
    assert.equal(sent(world)[0].url, `${URL_X}?a%5B%5D=1&b=%27c%27`);
  });

  it("sends the credentials that a request names", async () => {
    const world = new World();
    const auth = { username: "\u00e9", password: "p" };
    await send(world, { auth, headers: { authorization: "Bearer x" }, withCredentials: true });
    await send(world, { withCredentials: false });
    await send(world, { auth: undefined, headers: { Authorization: "Bearer x" } });
    const seen = sent(world).map(({ headers, credentials }) => {
      return [headers.get("Authorization"), credentials];
    });
    const basic = `Basic ${Buffer.from("\u00e9:p").toString("base64")}`;
    assert.deepEqual(seen, [
      [basic, "include"], [null, "same-origin"], ["Bearer x", undefined],
    ]);
  });

  it("throws what Axios throws for a status that the app does not accept", async () => {
    const world = new World();
    world.gateway.answers = { "/api/x": [{ status: 503 }] };
    const validateStatus = (status) => status < 300;
    await assert.rejects(send(world, { validateStatus, responseType: "arraybuffer" }), (error) => {
      assert.equal(error.isAxiosError, true);
      assert.equal(error.code, "ERR_BAD_RESPONSE");
      assert.equal(error.response.status, 503);
      assert.ok(error.response.data instanceof ArrayBuffer);
      return true;
    });
  });

  it("passes refusals on", async () => {
    const world = new World();
    world.gateway.answers = {
      "/api/x": [{ status: 403, code: "app_outdated", action: "update_app" }],
    };
    await assert.rejects(send(world, { proof: "assertion" }), Refused);
  });

  it("ends a request as Axios does, by its signal, its token or its time", async (test) => {
    const world = new World();
    const controller = new AbortController();
    const { signal } = controller;
    const plain = world.gateway.fetch;
    let asked;
    world.gateway.fetch = (url, init) => {
      if (url !== URL_X) return plain(url, init);
      asked?.();
      return new Promise((_, reject) => {
        init.signal.addEventListener("abort", () => reject(init.signal.reason));
      });
    };
    const begun = () => new Promise((resolve) => (asked = resolve));
    const canceled = { name: "CanceledError", code: "ERR_CANCELED", __CANCEL__: true };
    let start = begun();
    const aborted = assert.rejects(send(world, { signal }), canceled);
    await start;
    controller.abort();
    await aborted;
    await assert.rejects(send(world, { signal }), canceled);

    const listeners = new Set();
    const cancelToken = {
      reason: undefined,
      subscribe: (listener) => listeners.add(listener),
      unsubscribe: (listener) => listeners.delete(listener),
    };
    start = begun();
    const cancelled = assert.rejects(send(world, { cancelToken }), /enough/);
    await start;
    cancelToken.reason = new Error("enough");
    listeners.forEach((listener) => listener());
    await cancelled;
    assert.equal(listeners.size, 0);
    await assert.rejects(send(world, { cancelToken }), /enough/);

    test.mock.timers.enable({ apis: ["setTimeout"] });
    for (const [transitional, code] of [
      [undefined, "ECONNABORTED"], [{ clarifyTimeoutError: true }, "ETIMEDOUT"],
    ]) {
      start = begun();
      const late = assert.rejects(send(world, { timeout: 700, transitional }), {
        name: "AxiosError", isAxiosError: true, code, message: "timeout of 700ms exceeded",
      });
      await start;
      test.mock.timers.tick(700);
      await late;
    }
  });
});
