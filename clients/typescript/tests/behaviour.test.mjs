import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { KeyError, Refused, TryLater, UnexpectedAnswer, Unsupported } from "../build/index.js";
import { World } from "./support/world.mjs";

const FILE = new URL("../../../docs/client/behaviour-cases.json", import.meta.url);
const { cases } = JSON.parse(readFileSync(FILE, "utf8"));

/** The stage and the rest of the wait, in whole seconds. */
async function stateOf(world) {
  const text = await world.store.load();
  if (text === null) return "none";
  const { stage, wait } = JSON.parse(text);
  const seconds = wait === null ? 0 : Math.round((wait.until - world.clock.now()) / 1000);
  return seconds > 0 ? `${stage.name} waits ${seconds}` : stage.name;
}

function resultOf(error) {
  if (error instanceof Refused) return `refused ${error.refusal.code}`;
  if (error instanceof TryLater) return "tryLater";
  if (error instanceof Unsupported) return "unsupported";
  if (error instanceof KeyError) return "key";
  if (error instanceof UnexpectedAnswer) return "unexpected";
  if (error instanceof TypeError && error.message === "fetch failed") return "network";
  throw error;
}

async function carryOut(world, client, event) {
  Object.assign(world.keys.failures, { make: [], attest: [], sign: [] }, event.device);
  world.gateway.answers = structuredClone(event.gateway ?? {});
  const { call, method = "GET", proof = "assertion" } = event;
  if (call === "wait") {
    world.clock.advance(event.seconds);
  } else if (call === "enrol") {
    await client.enrol();
  } else if (call === "reset") {
    await client.reset();
  } else {
    const url = "https://gateway.example/api/x";
    const { status } = await client.fetch(url, { method }, proof);
    return status === 200 ? "ok" : `answer ${status}`;
  }
  return "ok";
}

async function outcome(world, client, event) {
  try {
    return await carryOut(world, client, event);
  } catch (error) {
    return resultOf(error);
  }
}

describe("docs/client/behaviour-cases.json", () => {
  for (const platform of ["apple", "android"]) {
    for (const row of cases.filter((one) => (one.platform ?? platform) === platform)) {
      it(`${platform}: ${row.name}`, async () => {
        const world = new World(platform);
        world.keys.isAvailable = row.supported ?? true;
        const client = world.client();
        for (const event of structuredClone(row.given)) await outcome(world, client, event);
        assert.equal(await stateOf(world), row.state, "state");
        world.actions.length = 0;
        const result = await outcome(world, client, structuredClone(row.event));
        assert.deepEqual(world.actions, row.actions, "actions");
        assert.equal(result, row.result, "result");
        assert.equal(await stateOf(world), row.nextState, "nextState");
      });
    }
  }
  it("has cases of each kind", () => assert.ok(cases.length > 80));
});
