import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { base64, urlSafe, utf8 } from "../build/bytes.js";
import { attestationChallenge, bodyClientData, headerClientData } from "../build/clientData.js";
import { AttestClient, InvalidRequest } from "../build/index.js";
import { requestOf } from "../build/request.js";
import { sha256 } from "../build/sha256.js";
import { targetOf } from "../build/target.js";
import { World } from "./support/world.mjs";

function document(name) {
  return JSON.parse(readFileSync(new URL(`../../../docs/client/${name}`, import.meta.url)));
}

it("digests as OpenSSL does, at every length around a block", () => {
  for (const length of [...Array(200).keys(), 1000, 65_536]) {
    const bytes = randomBytes(length);
    const expected = createHash("sha256").update(bytes).digest("hex");
    assert.equal(Buffer.from(sha256(bytes)).toString("hex"), expected, `${length}`);
  }
});

it("encodes as Node.js does", () => {
  for (let length = 0; length < 10; length++) {
    const bytes = randomBytes(length);
    assert.equal(base64(bytes), bytes.toString("base64"));
    assert.equal(urlSafe(base64(bytes)), bytes.toString("base64url"));
  }
  for (const text of ["", "a", "\u00e9\u20ac", "\u{1f600}", "\ud800a", "a\udc00"]) {
    assert.deepEqual(utf8(text), new TextEncoder().encode(text));
  }
});

it("builds the client data of the test vectors", async () => {
  let count = 0;
  for (const name of ["vectors.json", "android-vectors.json"]) {
    for (const vector of document(name).vectors.filter(({ expected }) => expected === "ok")) {
      const { method, target, body, challenge, shape, client_data: clientData } = vector;
      if (shape === "header") {
        const url = `https://gateway.example${target}`;
        const plain = await requestOf(url, { method, body });
        const built = await headerClientData(plain, challenge);
        const { query, ...expected } = JSON.parse(clientData);
        const { query: found, ...rest } = JSON.parse(built);
        assert.deepEqual(rest, expected);
        assert.equal(found, query ?? "");
        count++;
      } else {
        const { challenge: token, ...rest } = JSON.parse(clientData);
        const plain = await requestOf("https://a", { method, body: JSON.stringify(rest) });
        const built = bodyClientData(plain, token, "challenge");
        assert.deepEqual(JSON.parse(built), { challenge: token, ...rest });
        count++;
      }
    }
  }
  assert.equal(count, 10);
});

it("digests by a function of the app", async () => {
  const native = async (bytes) => {
    assert.deepEqual(bytes, utf8("text"));
    return Uint8Array.from([1, 2]).buffer;
  };
  const request = await requestOf("https://a", { method: "POST", body: "text" });
  const { bodySHA256 } = JSON.parse(await headerClientData(request, "c", native));
  assert.equal(bodySHA256, "AQI=");
  const world = new World("apple");
  let count = 0;
  const client = new AttestClient(world.settings, {
    keys: world.keys, store: world.store, fetch: world.gateway.fetch, clock: world.clock,
    digest: async (bytes) => {
      count++;
      return sha256(bytes);
    },
  });
  await client.fetch("https://gateway.example/api/x");
  assert.equal(count, 1);
});

it("makes the attestation challenges of the test vectors", () => {
  const rows = document("android-vectors.json").attestation_challenges;
  assert.ok(rows.length > 2);
  for (const { challenge, attestation_challenge: bytes } of rows) {
    assert.equal(attestationChallenge(challenge), Buffer.from(bytes, "hex").toString("base64"));
  }
});

it("signs a body with its other characters as they are", async () => {
  const built = async (body) => bodyClientData(await requestOf("https://a", { body }), "t", "c");
  assert.equal(await built(" { \"a\" : 1 }"), " {\"c\":\"t\", \"a\" : 1 }");
  assert.equal(await built("{}"), "{\"c\":\"t\"}");
  for (const body of ["", "[]", "1", "{", "{\"c\":1}", "{\"toString\":1,\"c\":null}"]) {
    await assert.rejects(built(body), InvalidRequest, body);
  }
});

it("takes URLs apart, and refuses those that would be sent in another spelling", () => {
  assert.deepEqual(targetOf("HTTPS://API.example:443"), {
    origin: "https://api.example", path: "/", query: "",
  });
  assert.deepEqual(targetOf("http://a:8080/x%2fy?b=c?d#e"), {
    origin: "http://a:8080", path: "/x%2fy", query: "b=c?d",
  });
  const bad = [
    "ftp://a/", "/x", "", "https://", "https://a/\u00e9", "https://a/ ", "https://a/%2",
    "https://a/../b", "https://a/b/.", "https://a/%2E%2e/b", "https://a/?q='", "https://a/?q=[1]",
    "https://a/\\b", "https://a/\n", "https://a/b|c",
  ];
  for (const url of bad) assert.throws(() => targetOf(url), InvalidRequest, url);
});

it("reads the arguments of fetch", async () => {
  const request = await requestOf(new URL("https://a/x"), {
    method: "post", headers: new Headers({ "X-A": "1" }), body: new Uint8Array([1, 2]).buffer,
  });
  assert.equal(request.method, "POST");
  assert.deepEqual(request.headers, { "x-a": "1" });
  assert.deepEqual(request.body, new Uint8Array([1, 2]));
  const whole = new Request("https://a/y", { method: "PUT", body: "text", headers: [["b", "2"]] });
  const read = await requestOf(whole, { headers: [["c", "3"]] });
  assert.equal(Buffer.from(read.body).toString(), "text");
  assert.equal(read.method, "PUT");
  // As in fetch, the headers of the second argument replace those of the first.
  assert.deepEqual(read.headers, { c: "3" });
  assert.equal((await requestOf(whole)).headers.b, "2");
  const twice = [["X-A", "1"], ["x-a", "2"], ["Accept", "3"]];
  assert.deepEqual((await requestOf("https://a", { headers: twice })).headers, {
    "x-a": "1, 2", accept: "3",
  });
  // React Native's fetch would put a parameter into the query.
  for (const [cache, value] of [["no-store", "no-store"], ["reload", "no-cache"], ["default"]]) {
    const { headers, rest } = await requestOf("https://a/x", { cache });
    assert.deepEqual([headers["cache-control"], rest], [value, {}]);
  }
  const form = { method: "POST", body: new URLSearchParams({ a: "b c" }) };
  const sent = await requestOf("https://a", form);
  const type = "application/x-www-form-urlencoded;charset=UTF-8";
  assert.deepEqual([sent.body, sent.headers], ["a=b+c", { "content-type": type }]);
  for (const body of [new FormData(), new Blob(["a"]), new ReadableStream()]) {
    await assert.rejects(requestOf("https://a", { method: "POST", body }), InvalidRequest);
  }
});
