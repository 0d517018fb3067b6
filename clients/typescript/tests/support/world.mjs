import { AttestClient, KeyError, MemoryStore } from "../../build/index.js";

/** A clock that stands still but for those who sleep. */
export class TestClock {
  #now = 1_800_000_000_000;

  constructor(note = () => {}) {
    this.note = note;
  }

  now() {
    return this.#now;
  }

  advance(seconds) {
    this.#now += seconds * 1000;
  }

  async sleep(milliseconds) {
    this.note(`wait ${milliseconds / 1000}`);
    this.#now += milliseconds;
  }

  chance() {
    return 0;
  }
}

/** The keys of a simulated device, which fail as a test says. */
export class TestKeys {
  isAvailable = true;
  count = 0;
  /** The kinds of the next failures, by the step. */
  failures = { make: [], attest: [], sign: [] };
  deleted = [];

  constructor(platform, note = () => {}) {
    this.platform = platform;
    this.note = note;
  }

  #take(step, action) {
    this.note(action);
    const kind = this.failures[step].shift();
    if (kind !== undefined) throw new KeyError(kind, "simulated");
  }

  isSupported() {
    return this.isAvailable;
  }

  async generateKey() {
    this.#take("make", "make key");
    return `k+${++this.count}/=`;
  }

  async attestKey(keyId, challenge) {
    this.#take("attest", "attest key");
    return `${keyId} ${challenge}`;
  }

  async generateAssertion(keyId, clientData) {
    this.#take("sign", "sign");
    return `${keyId} ${clientData.length}`;
  }

  async create(alias, challenge) {
    this.#take("make", "make key");
    this.count++;
    return { keyId: `k+${this.count}/=`, chain: [challenge] };
  }

  async sign(alias, clientData) {
    this.#take("sign", "sign");
    return `${alias} ${clientData.length}`;
  }

  async delete(alias) {
    this.deleted.push(alias);
  }
}

const PROBLEM = { "Content-Type": "application/problem+json" };

/** A gateway that serves everything, but for the answers that a test puts before. */
export class TestGateway {
  requests = [];
  /** The next answers, by path. */
  answers = {};
  #count = 0;

  constructor(note = () => {}) {
    this.note = note;
  }

  fetch = async (url, init) => {
    const path = new URL(url).pathname;
    const headers = new Headers(init.headers);
    this.requests.push({ url, path, ...init, headers });
    this.note(path.startsWith("/api/") ? `send ${proofOf(headers)}` : `${init.method} ${path}`);
    const answer = this.answers[path]?.shift() ?? { status: 200 };
    if (answer === "lost") throw new TypeError("fetch failed");
    return this.#response(path, answer);
  };

  #response(path, answer) {
    const headers = new Headers(answer.headers);
    if (answer.challenge !== false) headers.set("X-App-Attest-Challenge", this.#token());
    const { status, code, action, retry, assertion, retryAfter } = answer;
    if (retryAfter !== undefined) headers.set("Retry-After", `${retryAfter}`);
    if (answer.header) headers.set("WWW-Authenticate", `AppAttest error="${answer.header}"`);
    if (code === undefined) return new Response(this.#body(path, status), { status, headers });
    headers.set("Content-Type", PROBLEM["Content-Type"]);
    return new Response(JSON.stringify({ code, action, retry, assertion }), { status, headers });
  }

  #token() {
    return `challenge-${++this.#count}`;
  }

  #body(path, status) {
    if (status !== 200) return "not the gateway's";
    if (path.endsWith("/challenge")) {
      return JSON.stringify({ challenge: this.#token(), expires_in: 120 });
    }
    if (path === "/assert/token") return JSON.stringify({ token: "token", expires_in: 300 });
    return JSON.stringify({ installation: `ticket-${this.#count}` });
  }
}

function proofOf(headers) {
  if (headers.has("X-App-Attest-Token")) return "token";
  return headers.has("X-App-Attest-Assertion") ? "signed" : "unproved";
}

/** What makes up a client. */
export class World {
  actions = [];
  store = new MemoryStore();
  tickets = new MemoryStore();

  constructor(platform = "apple", settings = {}) {
    const note = (action) => this.actions.push(action);
    this.clock = new TestClock(note);
    this.keys = new TestKeys(platform, note);
    this.gateway = new TestGateway(note);
    this.settings = { gateway: "https://gateway.example", ...settings };
  }

  /** A client as at a launch of the app. */
  client() {
    return new AttestClient(this.settings, {
      keys: this.keys,
      store: this.store,
      tickets: this.tickets,
      fetch: this.gateway.fetch,
      clock: this.clock,
      app: { name: "com.example.app", version: "410", system: "18.2" },
    });
  }
}
