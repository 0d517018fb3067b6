// The client at a real gateway, with keys of a simulated device:
//     node --test gateway.mjs
// SALLYPORT_SITE: JSON with the members url, platform and device, whose words trial.mjs has.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { it } from "node:test";
import {
  AttestClient, interceptor, KeyError, MemoryStore, protectedFetch, Refused,
} from "../build/index.js";
import { labKeys } from "./support/lab.mjs";

const { url, platform, device, program, configuration } = JSON.parse(process.env.SALLYPORT_SITE);
let count = 0;

class Phone {
  constructor() {
    const [lab, files, ...rest] = device;
    this.keys = labKeys(platform, lab, `${files}-${++count}`, ...rest);
    this.tickets = new MemoryStore();
  }

  /** A client as after an installation, which keeps the ticket and not the state. */
  installed(settings = {}) {
    const { keys, tickets } = this;
    return new AttestClient({ gateway: url, ...settings }, {
      keys, tickets, store: new MemoryStore(),
    });
  }
}

/** What the API says of a request: result, tier, platform, key and installation. */
async function words(response) {
  assert.equal(response.status, 200);
  return (await response.text()).split(" ");
}

it(`${platform}: a request is verified, with its body and query`, async () => {
  const client = new Phone().installed();
  const body = "{\"amount\":1,\"to\":\"\u00e9\u{1f600}\"}";
  const response = await client.fetch(`${url}/api/x?a=%20b&c=1`, {
    method: "post", body, headers: { "Content-Type": "application/json" },
  });
  const [result, , found, key, , sent] = await words(response);
  assert.deepEqual([result, found, sent], ["verified", platform, body]);
  assert.equal(key.length > 0, true);
  const bytes = new TextEncoder().encode("bytes");
  const put = await client.fetch(`${url}/api/x`, { method: "PUT", body: bytes });
  assert.equal((await words(put))[5], "bytes");
});

it(`${platform}: requests at once share one enrolment`, async () => {
  const phone = new Phone();
  const client = phone.installed();
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) => client.fetch(`${url}/api/${index}`)));
  for (const answer of answers) assert.equal((await words(answer))[0], "verified");
  assert.equal(phone.keys.count, 1);
});

it(`${platform}: a ticket lets a reinstalled app remain one installation`, async () => {
  const phone = new Phone();
  const first = (await words(await phone.installed().fetch(`${url}/api/x`)))[4];
  assert.equal((await words(await phone.installed().fetch(`${url}/api/x`)))[4], first);
  assert.notEqual((await words(await new Phone().installed().fetch(`${url}/api/x`)))[4], first);
});

it(`${platform}: a session token covers requests of a chatty route`, async () => {
  const client = new Phone().installed();
  const send = protectedFetch(client);
  for (let number = 0; number < 3; number++) {
    const response = await send(`${url}/chatty/x`, { proof: "token" });
    assert.equal((await words(response))[0], "verified");
  }
});

it(`${platform}: an instance like that of Axios sends through the client`, async () => {
  const client = new Phone().installed();
  const http = { getUri: ({ url: target, params }) => `${url}${target}?n=${params.n}` };
  const config = interceptor(client, http)({
    url: "/api/x", params: { n: 7 }, method: "post", data: "{\"a\":1}",
    headers: { toJSON: () => ({ "Content-Type": "application/json", Accept: undefined }) },
    validateStatus: (status) => status < 300, timeout: 60_000,
  });
  const answer = await config.adapter(config);
  assert.equal(answer.status, 200);
  assert.match(answer.data, /^verified .*\{"a":1\}$/);
});

it(`${platform}: a revoked key is not replaced`, async () => {
  const phone = new Phone();
  const client = phone.installed();
  await words(await client.fetch(`${url}/api/x`));
  const keyId = await client.keyId();
  execFileSync(program, ["keys", "revoke", "-c", configuration, keyId]);
  // The gateway hears of it within a second.
  let code = null;
  while (code === null) {
    try {
      await words(await client.fetch(`${url}/api/x`));
    } catch (error) {
      assert.ok(error instanceof Refused, `${error}`);
      code = error.refusal.code;
    }
  }
  assert.equal(code, "key_revoked");
  assert.equal(phone.keys.count, 1);
});

it(`${platform}: a key that the device has lost is replaced`, async () => {
  const phone = new Phone();
  const client = phone.installed();
  await words(await client.fetch(`${url}/api/x`));
  const { keys } = phone;
  const name = platform === "apple" ? "generateAssertion" : "sign";
  const sign = keys[name].bind(keys);
  keys[name] = async () => {
    keys[name] = sign;
    throw new KeyError("lost", platform === "apple" ? "invalidKey" : "keyMissing");
  };
  assert.equal((await words(await client.fetch(`${url}/api/x`)))[0], "verified");
  assert.equal(keys.count, 2);
});
