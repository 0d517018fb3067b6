// The status page: asks /status.json and /refusals.json again and again, and shows what they say.
// Everything that operators or strangers chose is text, never markup.

const pollMilliseconds = 5000;
const buckets = [
  ["verified", "verified"], ["foreign", "another issuer"], ["outdated_client", "outdated app"],
  ["unknown_origin", "unknown origin"], ["lower_tier", "lower tier"], ["invalid", "invalid"],
  ["replayed", "replayed"], ["stale", "stale challenge"], ["unjudged", "not judged"],
];
const judged = ["verified", "foreign", "outdated_client", "unknown_origin", "lower_tier", "invalid",
  "replayed"];
const marks = { note: "i", warning: "!", error: "✕", ok: "✓" };
const page = { range: "hour", subject: "", latency: "verification", status: null, before: null,
  refusals: [], search: "", open: new Map(), pollCount: 0 };

const byId = (name) => document.getElementById(name);
const isOwn = (route) => route.kind === "route" || route.kind === "endpoint" || route.kind === "former";

function card(title, className, ...children) {
  return make("section", { class: `card ${className}`, "aria-label": title }, ...children);
}

function select(name, label, changed) {
  const element = make("select", { id: name, "aria-label": label });
  element.addEventListener("change", () => changed(element.value));
  return element;
}

/** Replaces the options only if they differ, so that an open list stays open. */
function options(element, groups, chosen) {
  const wanted = JSON.stringify(groups);
  if (element.dataset.options !== wanted) {
    element.dataset.options = wanted;
    element.replaceChildren(...groups.map(([title, entries]) => {
      const list = entries.map(([value, text]) => make("option", { value }, text));
      return title ? make("optgroup", { label: title }, ...list) : list[0];
    }));
  }
  element.value = chosen;
  return element.value === chosen;
}

function build() {
  const main = byId("main");
  document.documentElement.classList.remove("static");
  const ranges = make("div", { class: "ranges", role: "group", "aria-label": "Time shown" },
    ...["hour", "day"].map((range) => {
      const button = make("button", { type: "button", "data-range": range }, `Last ${range}`);
      button.addEventListener("click", () => { page.range = range; poll(); });
      return button;
    }));
  document.querySelector("header").append(ranges);
  page.proofs = new Chart(paintColumns, (data, slot) => data.series
    .filter((series) => series.values[slot])
    .map((series) => `${number(series.values[slot])} ${series.label}`).join(", ") || "no requests");
  page.times = new Chart(paintLines, (data, slot) => data.series
    .map((series) => `${series.label} ${milliseconds(series.values[slot])}`).join(", "));
  const search = make("input", { type: "search", id: "search", autocomplete: "off",
    spellcheck: "false", placeholder: "Request ID, path, reason, version, client …",
    "aria-label": "Search refusals" });
  search.addEventListener("input", () => { page.search = search.value.trim(); showRefusals(); });
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") findRequest(); });
  const place = (name) => make("div", { id: name });
  main.replaceChildren(
    make("section", { id: "verdict", class: "verdict", role: "status", "aria-label": "Verdict" }),
    make("dl", { id: "tiles", class: "tiles" }),
    card("What requests proved", "", make("div", { class: "head" },
      make("h2", {}, "What requests proved"),
      select("subject", "Routes, apps and versions", (value) => { page.subject = value; show(); })),
    page.proofs.element, place("proof-legend")),
    card("By route", "half", make("h2", {}, "By route"), place("routes")),
    card("By app and version", "half", make("h2", {}, "By app and version"), place("versions")),
    card("Latency", "wide", make("div", { class: "head" }, make("h2", {}, "Latency"),
      select("latency", "What takes time", (value) => { page.latency = value; show(); })),
    page.times.element, place("latency-legend")),
    card("From challenge to request", "third", make("h2", {}, "From challenge to request"),
      place("funnel")),
    card("Failures in apps", "", make("h2", {}, "Failures in apps"), place("failures")),
    card("Refusals", "", make("div", { class: "head" },
      make("h2", {}, "Why was it refused?"), search),
      make("div", { id: "refusals" }, make("p", { id: "refusal-note", class: "note", role: "status" }),
        make("div", { id: "refusal-list", class: "refusals" }))),
    card("Stores and upstreams", "half", make("h2", {}, "Stores and upstreams"), place("servers")),
    card("Rollouts", "half", make("h2", {}, "Rollouts"), place("rollouts")),
    card("Other issuers", "", make("h2", {}, "Other issuers"), place("issuers")),
    card("Quotas", "", make("h2", {}, "Quotas"), place("quotas")),
    card("Certificates", "half", make("h2", {}, "Certificates"), place("certificates")),
    card("Keys and receipts", "half", make("h2", {}, "Keys and receipts"), place("keys")),
    card("Gateway", "half", make("h2", {}, "Gateway"), place("gateway")),
    card("Events since the start", "half", make("h2", {}, "Events since the start"),
      place("events")),
    make("footer", { class: "dim" }, make("a", { href: "metrics" }, "metrics"), " · ",
      make("a", { href: "status.json" }, "status.json"), " · ",
      make("a", { href: "refusals.json" }, "refusals.json"),
      " · documentation in the Debian package: ",
      make("code", {}, "/usr/share/doc/sallyport/html")));
}

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(10000) });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

async function poll() {
  clearTimeout(page.timer);
  const turn = (page.turn = (page.turn || 0) + 1);
  try {
    const [status, refusals] = await Promise.all(
      [ask(`status.json?history=${page.range}`), ask("refusals.json")]);
    // The reader has chosen another range meanwhile.
    if (turn !== page.turn) return;
    page.before = page.status;
    page.status = status;
    page.refusals = refusals.refusals;
    page.answeredAt = Date.now();
    page.silent = false;
    show();
  } catch (error) {
    if (turn !== page.turn) return;
    page.silent = true;
    showLife();
  }
  page.pollCount += 1;
  document.documentElement.dataset.polls = page.pollCount;
  page.timer = setTimeout(poll, pollMilliseconds);
}

function show() {
  const { status } = page;
  if (!status) return;
  for (const button of document.querySelectorAll("[data-range]")) {
    button.setAttribute("aria-pressed", String(button.dataset.range === page.range));
  }
  showLife();
  showVerdict(status);
  showTiles(status);
  showProofs(status);
  showRoutes(status);
  showVersions(status);
  showLatency(status);
  showFunnel(status);
  showFailures(status);
  showServers(status);
  showRollouts(status);
  showIssuers(status);
  showQuotas(status);
  showRest(status);
  showRefusals();
}

function showLife() {
  const live = byId("live");
  live.className = `live ${page.silent ? "off" : "on"}`;
  const since = page.answeredAt ? ` since ${clock(page.answeredAt, true)}` : "";
  live.textContent = page.silent ? `The gateway has not answered${since}; what is below is old.`
    : `live, ${clock(page.answeredAt, true)}`;
}

function showVerdict(status) {
  const box = byId("verdict");
  // Spoken anew only if it has changed.
  const wanted = JSON.stringify([status.level, status.sentence, status.problems]);
  if (box.dataset.shown === wanted) return;
  box.dataset.shown = wanted;
  document.title = status.level === "ok" ? "Sallyport" : `${marks[status.level]} Sallyport`;
  box.className = `verdict ${status.level}`;
  const { problems } = status;
  const headline = problems.find((problem) => problem.level !== "note");
  const first = headline ? headline.text : status.sentence;
  box.replaceChildren(make("p", { class: "sentence" },
    make("span", { class: "mark", "aria-hidden": "true" }, marks[status.level]),
    make("strong", {}, first), status.sentence.slice(first.length)));
  const others = problems.filter((problem) => problem !== headline);
  if (!others.length) return;
  box.append(make("ul", {}, ...others.map((problem) => make("li",
    { class: problem.level }, `${problem.text} ${problem.remedy}`))));
}

const total = (counts, names) => sum(names.map((name) => sum(counts[name])));
const sums = (list) => list.reduce((all, each) => {
  for (const [name, values] of Object.entries(each)) {
    all[name] = values.map((value, index) => value + ((all[name] || [])[index] || 0));
  }
  return all;
}, {});

function showTiles(status) {
  const { history } = status;
  const own = new Set(status.routes.filter(isOwn).map((route) => route.name));
  const routes = history.routes.filter((route) => own.has(route.name));
  const counts = sums(routes.map((route) => route.buckets));
  const all = total(counts, judged);
  // What no route matched was refused as well.
  const refused = sum(history.routes.map((route) => sum(route.refused)));
  const would = sum(routes.map((route) => sum(route.would_be_refused)));
  const requests = sum(routes.map((route) => sum(route.requests)));
  const last = [...history.verification.count.keys()].reverse()
    .find((slot) => history.verification.count[slot]);
  const keys = sum(status.keys.filter((each) => each.status === "active").map((each) => each.count));
  const enrolled = status.keys_counted_at
    ? `${counted(keys, "key")} enrolled at ${clock(status.keys_counted_at)}` : "keys not counted yet";
  const tile = (title, value, note) => make("div", { class: "tile" }, make("dt", {}, title),
    make("dd", {}, value, make("small", {}, note)));
  byId("tiles").replaceChildren(
    tile("Requests", rate(status), `${number(requests)} in the last ${page.range}`),
    tile("Verified", percent(sum(counts.verified), all), `of ${number(all)} that were judged`),
    tile("Refused", number(refused), `by the gateway in the last ${page.range}`),
    tile("Would be refused", number(would), "if every route enforced"),
    tile("Verification", milliseconds(last === undefined ? null : history.verification.p50_ms[last]),
      last === undefined ? "no signature checked yet"
        : `99% within ${milliseconds(history.verification.p99_ms[last])}`),
    tile("Connections", number(status.gateway.connections), enrolled));
}

/** Between the last two answers; the status page itself does not count. */
function rate(status) {
  const count = (document) => sum(document.routes.filter(isOwn).map((route) => route.requests));
  const { before } = page;
  const seconds = before ? (status.time_ms - before.time_ms) / 1000 : 0;
  if (seconds < 0.5) return "…";
  const value = Math.max(0, count(status) - count(before)) / seconds;
  return `${value >= 100 ? number(Math.round(value)) : Number(value.toPrecision(2))}/s`;
}
