import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANSWER_TIME_MAX, REPORT_TIME_MAX } from "../build/abort.js";
import { World } from "./support/world.mjs";

const URL_X = "https://gateway.example/api/x";

function count(world, action) {
  return world.actions.filter((other) => other === action).length;
}

/** A promise with the function that fulfils it. */
function gate() {
  let open;
  const promise = new Promise((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describe("an aborted request", () => {
  it("stops between attempts", async () => {
    const world = new World();
    const client = world.client();
    await client.enrol();
    const controller = new AbortController();
    const refusal = { status: 503, code: "gateway_busy", action: "retry_later" };
    world.gateway.answers = { "/api/x": [refusal] };
    world.clock.sleep = async () => controller.abort();
    const { signal } = controller;
    await assert.rejects(client.fetch(URL_X, { signal }), { name: "AbortError" });
    assert.equal(count(world, "send signed"), 1);
  });

  it("does not wait for the end of a wait", async () => {
    const world = new World();
    const client = world.client();
    await client.enrol();
    const controller = new AbortController();
    const refusal = { status: 503, code: "gateway_busy", action: "retry_later" };
    world.gateway.answers = { "/api/x": [refusal] };
    world.clock.sleep = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const { signal } = controller;
    await assert.rejects(client.fetch(URL_X, { signal }), { name: "AbortError" });
  });

  it("leaves the enrolment to the others", async () => {
    const world = new World();
    const [asked, answered] = [gate(), gate()];
    const { attestKey } = world.keys;
    world.keys.attestKey = async (...words) => {
      asked.open();
      await answered.promise;
      return attestKey.apply(world.keys, words);
    };
    const client = world.client();
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = client.fetch(URL_X, { signal });
    const signing = client.sign(URL_X, { signal });
    const enrolling = client.enrol({ signal });
    const paying = client.sessionToken(null, { signal });
    const patient = client.fetch(URL_X);
    await asked.promise;
    controller.abort(new Error("changed my mind"));
    for (const call of [aborted, signing, enrolling, paying]) {
      await assert.rejects(call, /changed my mind/);
    }
    answered.open();
    assert.equal((await patient).status, 200);
    assert.deepEqual([count(world, "make key"), count(world, "send signed")], [1, 1]);
    // The client keeps the token that was being paid for.
    assert.equal((await client.fetch(URL_X, {}, "token")).status, 200);
    assert.equal(count(world, "POST /assert/token"), 1);
  });

  it("leaves the queue", async () => {
    const world = new World();
    const [asked, answered] = [gate(), gate()];
    const client = world.client();
    await client.enrol();
    const { generateAssertion } = world.keys;
    world.keys.generateAssertion = async (...words) => {
      asked.open();
      await answered.promise;
      return generateAssertion.apply(world.keys, words);
    };
    const first = client.fetch(URL_X);
    await asked.promise;
    const controller = new AbortController();
    const { signal } = controller;
    const second = client.fetch(URL_X, { signal });
    const third = client.fetch(URL_X);
    controller.abort();
    await assert.rejects(second, { name: "AbortError" });
    answered.open();
    await Promise.all([first, third]);
    assert.equal(count(world, "send signed"), 2);
    await assert.rejects(client.fetch(URL_X, { signal }), { name: "AbortError" });
  });
});

describe("an aborted call that sends no request of the app", () => {
  for (const [name, call] of [
    ["enrol", (client, signal) => client.enrol({ signal })],
    ["sessionToken", (client, signal) => client.sessionToken(null, { signal })],
  ]) {
    it(`does nothing if it was aborted before: ${name}`, async () => {
      const world = new World();
      const signal = AbortSignal.abort();
      await assert.rejects(call(world.client(), signal), { name: "AbortError" });
      assert.deepEqual(world.actions, []);
    });
  }
});

describe("an answer of the gateway", () => {
  for (const part of ["head", "body"]) {
    it(`is not awaited for ever: its ${part}`, async (test) => {
      const world = new World();
      const asked = gate();
      const { fetch } = world.gateway;
      let given;
      world.gateway.fetch = async (url, init) => {
        if (!url.includes("/attest/challenge")) return fetch(url, init);
        given = init.signal;
        asked.open();
        return part === "head" ? new Promise(() => {}) : new Response(new ReadableStream());
      };
      test.mock.timers.enable({ apis: ["setTimeout"] });
      const enrolling = assert.rejects(world.client().enrol(), { name: "TimeoutError" });
      await asked.promise;
      // Until the client reads the body.
      for (let turn = 0; turn < 20; turn++) await null;
      test.mock.timers.tick(ANSWER_TIME_MAX);
      await enrolling;
      assert.equal(given.aborted, part === "head");
      const { stage, wait } = JSON.parse(await world.store.load());
      assert.deepEqual([stage.name, wait.length], ["made", 1000]);
    });
  }

  it("is awaited for five seconds if it is about a failure report", async (test) => {
    const world = new World();
    const asked = gate();
    const { fetch } = world.gateway;
    world.gateway.fetch = async (url, init) => {
      if (!url.endsWith("/attest/failure")) return fetch(url, init);
      asked.open();
      return new Promise(() => {});
    };
    world.keys.failures.make = ["transient"];
    test.mock.timers.enable({ apis: ["setTimeout"] });
    const enrolling = assert.rejects(world.client().enrol(), { name: "KeyError" });
    await asked.promise;
    test.mock.timers.tick(REPORT_TIME_MAX);
    await enrolling;
  });

  it("does not limit requests of the app", async (test) => {
    const world = new World();
    const answered = gate();
    const { fetch } = world.gateway;
    world.gateway.fetch = async (url, init) => {
      if (url === URL_X) await answered.promise;
      return fetch(url, init);
    };
    test.mock.timers.enable({ apis: ["setTimeout"] });
    const sending = world.client().fetch(URL_X);
    for (let turn = 0; turn < 200; turn++) await null;
    test.mock.timers.tick(10 * ANSWER_TIME_MAX);
    answered.open();
    assert.equal((await sending).status, 200);
  });
});
