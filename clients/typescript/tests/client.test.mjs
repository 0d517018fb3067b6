import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  advisesUpdate, AttestClient, expoAppIntegrity, InvalidRequest, KeyError, MemoryStore,
  protectedFetch, StateError, TryLater, Unsupported,
} from "../build/index.js";
import { World } from "./support/world.mjs";

const URL_X = "https://gateway.example/api/x";

function count(world, action) {
  return world.actions.filter((other) => other === action).length;
}

describe("a client", () => {
  for (const platform of ["apple", "android"]) {
    it(`${platform}: enrols once for many requests, and one failure is everyone's`, async () => {
      const world = new World(platform);
      const client = world.client();
      const send = () => client.fetch(URL_X);
      const answers = await Promise.all(Array.from({ length: 20 }, send));
      assert.ok(answers.every(({ status }) => status === 200));
      assert.equal(count(world, "make key"), 1);
      assert.equal(count(world, "send signed"), 20);
      const other = new World(platform);
      other.keys.failures.make = ["transient"];
      const failing = other.client();
      await Promise.all(Array.from({ length: 20 }, () => failing.fetch(URL_X)));
      assert.equal(count(other, "make key"), 1);
      assert.equal(count(other, "send unproved"), 20);
    });

    it(`${platform}: goes on with its state after a launch`, async () => {
      const world = new World(platform);
      await world.client().enrol();
      world.actions.length = 0;
      await world.client().fetch(URL_X);
      assert.deepEqual(world.actions, ["GET /assert/challenge", "sign", "send signed"]);
      const unknown = { format: 1, stage: { name: "made" } };
      for (const text of ["", "[]", "{\"format\":2}", JSON.stringify(unknown)]) {
        world.store = new MemoryStore(text);
        assert.equal(await world.client().keyId(), null);
        await world.client().enrol();
        assert.notEqual(await world.client().keyId(), null);
      }
    });

    it(`${platform}: sends its ticket, and keeps the next one`, async () => {
      const world = new World(platform);
      await world.client().enrol();
      const ticket = await world.tickets.load();
      world.store = new MemoryStore();
      await world.client().enrol();
      const [first, second] = world.gateway.requests
        .filter(({ path }) => path === "/attest/verify").map(({ body }) => JSON.parse(body));
      assert.equal(first.installation, undefined);
      assert.equal(second.installation, ticket);
      assert.equal(second.platform, platform === "android" ? "android" : undefined);
      assert.notEqual(await world.tickets.load(), ticket);
      world.tickets.load = () => Promise.reject(new Error("locked"));
      world.tickets.save = world.tickets.load;
      world.store = new MemoryStore();
      await world.client().enrol();
    });
  }

  it("keeps the order of counters on Apple's platforms, and not on Android", async () => {
    for (const [platform, settings, expected] of [
      ["apple", {}, 1], ["apple", { window: 3 }, 3], ["android", {}, 6],
    ]) {
      const world = new World(platform, settings);
      const client = world.client();
      await client.enrol();
      let [underWay, most] = [0, 0];
      const plain = world.gateway.fetch;
      world.gateway.fetch = undefined;
      const slow = new AttestClient(world.settings, {
        keys: world.keys, store: world.store, clock: world.clock,
        fetch: async (url, init) => {
          if (!url.endsWith("/api/x")) return plain(url, init);
          most = Math.max(most, ++underWay);
          // The others get as far as they may.
          for (let turn = 0; turn < 500; turn++) await null;
          underWay--;
          return plain(url, init);
        },
      });
      await Promise.all(Array.from({ length: 6 }, () => slow.fetch(URL_X)));
      assert.equal(most, expected, `${platform} ${JSON.stringify(settings)}`);
    }
  });

  it("keeps at most 64 challenges, each for one request", async () => {
    const world = new World("android");
    const client = world.client();
    await client.enrol();
    for (let number = 0; number < 100; number++) {
      const headers = { "X-App-Attest-Challenge": `c${number}` };
      assert.equal(await client.receive(new Response("", { headers })), null);
    }
    const used = new Set();
    for (let number = 0; number < 65; number++) {
      const [, { headers }] = await client.sign(URL_X);
      const text = Buffer.from(headers["X-App-Attest-Client-Data"], "base64").toString();
      used.add(JSON.parse(text).challenge);
    }
    assert.equal(used.size, 65);
    assert.equal(count(world, "GET /assert/challenge"), 1);
    assert.ok(!used.has("c35") && used.has("c36") && used.has("c99"));
  });

  it("acts on no state that was not saved", async () => {
    const world = new World("apple", { whenUnproved: "fail" });
    world.store.save = () => Promise.reject(new Error("full"));
    await assert.rejects(world.client().enrol(), StateError);
    assert.deepEqual(world.actions, ["make key"]);
    world.store.load = () => Promise.reject(new Error("locked"));
    await assert.rejects(world.client().fetch(URL_X), StateError);
  });

  it("sends a request without a proof if its state cannot be read", async () => {
    const world = new World();
    world.store.load = () => Promise.reject(new Error("locked"));
    assert.equal((await world.client().fetch(URL_X)).status, 200);
    assert.deepEqual(world.actions, ["send unproved"]);
    world.gateway.answers = {
      "/api/x": [{ status: 401, code: "assertion_required", action: "sign_again" }],
    };
    await assert.rejects(world.client().fetch(URL_X), StateError);
  });

  it("waits after a state that was not saved, longer each time", async () => {
    const world = new World();
    const { save } = world.store;
    world.store.save = () => Promise.reject(new Error("full"));
    const client = world.client();
    const send = async () => {
      for (let number = 0; number < 5; number++) await client.fetch(URL_X);
    };
    await send();
    assert.equal(count(world, "make key"), 1);
    assert.equal(count(world, "send unproved"), 5);
    world.clock.advance(1);
    await send();
    world.clock.advance(1);
    await send();
    assert.equal(count(world, "make key"), 2);
    world.store.save = save;
    await assert.rejects(client.enrol(), TryLater);
    world.clock.advance(1);
    await client.enrol();
    assert.equal(count(world, "make key"), 3);
  });

  it("proves nothing to another server", async () => {
    const world = new World();
    const client = world.client();
    for (const url of ["https://other.example/api/x", "http://gateway.example/api/x", "/api/x"]) {
      await assert.rejects(client.fetch(url), InvalidRequest, url);
      await assert.rejects(client.fetch(url, {}, "token"), InvalidRequest, url);
      await assert.rejects(client.sign(url), InvalidRequest, url);
    }
    assert.deepEqual(world.actions, []);
  });

  it("makes no key for a request that cannot be signed", async () => {
    const world = new World();
    await assert.rejects(world.client().fetch("https://gateway.example/\u00e9"), InvalidRequest);
    assert.deepEqual(world.actions, []);
    const form = { method: "POST", body: new FormData() };
    await assert.rejects(world.client().fetch(URL_X, form), InvalidRequest);
  });

  it("sends nothing unproved if it is not to", async () => {
    const world = new World("apple", { whenUnproved: "fail" });
    world.keys.failures.make = ["transient"];
    await assert.rejects(world.client().fetch(URL_X), KeyError);
    await assert.rejects(world.client().fetch(URL_X), TryLater);
    assert.equal(count(world, "send unproved"), 0);
  });

  it("sends a developer token on a device that cannot attest", async () => {
    const world = new World("android", { developerToken: "developer" });
    world.keys.isAvailable = false;
    await world.client().fetch(URL_X);
    world.keys.isAvailable = true;
    world.keys.failures.make = ["unsupported"];
    await world.client().fetch(URL_X);
    const sent = world.gateway.requests.filter(({ path }) => path === "/api/x");
    assert.deepEqual(sent.map(({ headers }) => headers.get("X-App-Attest-Token")),
      ["developer", "developer"]);
    const other = new World();
    other.keys.isAvailable = false;
    await assert.rejects(other.client().enrol(), Unsupported);
    await assert.rejects(other.client().sign(URL_X), Unsupported);
    await assert.rejects(other.client().sessionToken(), Unsupported);
  });

  it("signs the body itself where the operator wants that", async () => {
    const world = new World("apple", {
      challengeMember: "challenge", headers: { assertion: "X-Proof", keyId: "X-Key" },
    });
    await world.client().fetch(URL_X, { method: "POST", body: "{\"level\":7}" });
    const { body, headers } = world.gateway.requests.at(-1);
    assert.match(body, /^\{"challenge":"challenge-\d+","level":7\}$/);
    assert.ok(headers.has("X-Proof") && headers.has("X-Key"));
    assert.ok(!headers.has("X-App-Attest-Client-Data"));
  });

  it("reports a failure once, and none if it is not to", async () => {
    const world = new World("android");
    world.keys.failures.make = ["unknown"];
    const client = world.client();
    await client.fetch(URL_X);
    await client.fetch(URL_X);
    const reports = world.gateway.requests
      .map(({ headers }) => headers.get("X-App-Attest-Failure")).filter((text) => text !== null);
    assert.deepEqual(reports, [
      "phase=key;code=simulated;os=18.2;try=1;platform=android;app=com.example.app;version=410",
    ]);
    const silent = new World("android", { reportsFailures: false });
    silent.keys.failures.make = ["unknown"];
    await silent.client().fetch(URL_X);
    assert.equal(count(silent, "POST /attest/failure"), 0);
  });

  it("reports a failure again if the answer to its report was lost", async () => {
    const world = new World();
    const client = world.client();
    await client.enrol();
    world.keys.failures.sign = ["unknown"];
    world.gateway.answers = { "/api/x": ["lost"] };
    await assert.rejects(client.fetch(URL_X), TypeError);
    await client.fetch(URL_X);
    await client.fetch(URL_X);
    const report = "phase=assert;code=simulated;os=18.2;try=1;app=com.example.app;version=410";
    const reports = world.gateway.requests
      .map(({ headers }) => headers.get("X-App-Attest-Failure")).filter((text) => text !== null);
    assert.deepEqual(reports, [report, report]);
  });

  it("binds a token to the value of a header, and fetches one for each", async () => {
    const world = new World("android", { sessionTokenHeader: "Authorization" });
    const client = world.client();
    const send = (value) => client.fetch(URL_X, { headers: { authorization: value } }, "token");
    await Promise.all([send("a"), send("a"), send("a")]);
    await send("b");
    const asked = world.gateway.requests.filter(({ path }) => path === "/assert/token");
    assert.deepEqual(asked.map(({ headers }) => headers.get("Authorization")), ["a", "b"]);
  });

  it("follows the refusal of a request that another sender sent", async () => {
    const world = new World();
    const client = world.client();
    const refusal = async (code, action) => client.receive(new Response(
      JSON.stringify({ code, action }),
      { status: 401, headers: { "Content-Type": "application/problem+json" } },
    ));
    const signed = await client.sign(URL_X);
    const gone = await refusal("key_unknown", "attest_again");
    assert.equal(await client.follow(gone, signed, 3), false);
    assert.equal(await client.follow(gone, [URL_X, {}], 1), false);
    await assert.rejects(client.follow(gone, ["https://other.example/", {}], 1), InvalidRequest);
    assert.notEqual(await client.keyId(), null);
    assert.equal(await client.follow(gone, signed, 1), true);
    assert.equal(await client.keyId(), null);
    const again = await client.sign(URL_X);
    assert.equal(count(world, "make key"), 2);
    assert.equal(await client.follow(gone, again, 2), false);
    assert.equal(await client.follow(await refusal("x", "sign_again"), again, 1), true);
    const token = await client.sessionToken();
    const sent = [URL_X, { headers: { "x-app-attest-token": token.text } }];
    assert.equal(await client.follow(await refusal("token_invalid", "sign_again"), sent, 1), true);
    assert.notEqual(await client.sessionToken(), token);
  });

  it("forgets a session token that another sender says was refused", async () => {
    const world = new World();
    const client = world.client();
    const token = await client.sessionToken();
    assert.equal(await client.sessionToken(null, { insteadOf: "another" }), token);
    assert.notEqual(await client.sessionToken(null, { insteadOf: token.text }), token);
    assert.equal(count(world, "POST /assert/token"), 2);
  });

  it("keeps no session token of a key that was given up meanwhile", async () => {
    const world = new World();
    let isFirst = true;
    const client = new AttestClient(world.settings, {
      keys: world.keys, store: world.store, clock: world.clock,
      fetch: async (url, init) => {
        const response = await world.gateway.fetch(url, init);
        if (url.endsWith("/assert/token") && isFirst) {
          isFirst = false;
          await client.reset();
        }
        return response;
      },
    });
    for (let number = 0; number < 3; number++) await client.sessionToken();
    assert.equal(count(world, "POST /assert/token"), 2);
    assert.equal(count(world, "make key"), 2);
  });

  it("follows no redirection, and says which answers advise to update", async () => {
    const world = new World();
    const headers = { "X-App-Attest-Action": "update_app" };
    world.gateway.answers = { "/api/x": [{ status: 200, headers }] };
    assert.ok(advisesUpdate(await world.client().fetch(URL_X)));
    assert.ok(world.gateway.requests.every(({ redirect }) => redirect === "manual"));
  });

  it("leaves a problem of the API unread", async () => {
    const world = new World();
    const headers = { "Content-Type": "application/problem+json" };
    world.gateway.answers = { "/api/x": [{ status: 404, headers }] };
    const response = await world.client().fetch(URL_X);
    assert.equal(await response.text(), "not the gateway's");
  });
});

describe("protectedFetch", () => {
  it("proves requests to the gateway alone", async () => {
    const world = new World();
    const others = [];
    const send = protectedFetch(world.client(), async (input, init) => {
      others.push([input, init]);
      return new Response("");
    });
    await send("https://Gateway.example:443/api/x", { proof: "token" });
    await send(new Request(URL_X));
    const strange = [
      "https://other.example/", "https://gateway.example.evil.example/", "http://gateway.example/",
      "https://gateway.example@evil.example/", "https://gateway.example:444/", "/api/x",
      "https://evil.example/?https://gateway.example/", "not a URL", "https://", "https:///x",
    ];
    for (const url of strange) await send(url, { proof: "token", method: "PUT" });
    assert.deepEqual(others, strange.map((url) => [url, { method: "PUT" }]));
    assert.equal(count(world, "send token"), 1);
    assert.equal(count(world, "send signed"), 1);
  });
});

describe("the adapter for @expo/app-integrity", () => {
  const codes = {
    ERR_APP_INTEGRITY_INVALID_KEY: ["lost", "invalidKey"],
    ERR_APP_INTEGRITY_INVALID_INPUT: ["input", "invalidInput"],
    ERR_APP_INTEGRITY_SERVER_UNAVAILABLE: ["transient", "serverUnavailable"],
    ERR_APP_INTEGRITY_FEATURE_UNSUPPORTED: ["unsupported", "featureUnsupported"],
    ERR_APP_INTEGRITY_SYSTEM_FAILURE: ["unknown", "unknownSystemFailure"],
    ERR_APP_INTEGRITY_UNKNOWN: ["unknown", "other"],
  };

  it("says what the module's errors mean", async () => {
    for (const [code, [kind, name]] of Object.entries(codes)) {
      const fail = () => Promise.reject(Object.assign(new Error("of Expo"), { code }));
      const keys = expoAppIntegrity({
        isSupported: true,
        generateKeyAsync: fail,
        attestKeyAsync: fail,
        generateAssertionAsync: fail,
      });
      for (const call of ["generateKey", "attestKey", "generateAssertion"]) {
        await assert.rejects(keys[call]("k", "text"), (error) => {
          return error instanceof KeyError && error.kind === kind && error.code === name;
        });
      }
    }
  });

  it("hands texts to the module, which hashes them itself", async () => {
    const keys = expoAppIntegrity({
      isSupported: false,
      generateKeyAsync: async () => "key",
      attestKeyAsync: async (...words) => words.join(" "),
      generateAssertionAsync: async (...words) => words.join(" "),
    });
    assert.equal(keys.isSupported(), false);
    assert.equal(await keys.generateKey(), "key");
    assert.equal(await keys.attestKey("k", "challenge"), "k challenge");
    assert.equal(await keys.generateAssertion("k", "{}"), "k {}");
  });
});
