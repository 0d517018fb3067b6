
function slots(history) {
  return { slots: history.slots, slotsMax: history.slots_max, step: history.step_s,
    start: history.start_ms };
}

/** The newest version first, and names that are no versions last. */
function byVersion(left, right) {
  const isWord = (each) => (/^\d/.test(each.version) ? 0 : 1);
  return left.app.localeCompare(right.app) || isWord(left) - isWord(right)
    || right.version.localeCompare(left.version, "en", { numeric: true });
}

const platformNames = { apple: "Apple", android: "Android" };
const platformName = (platform) => platformNames[platform] || platform;

/** An app with its platform. */
function appName(status, app) {
  const { platform } = status.history.versions.find((each) => each.app === app);
  return `${app} (${platformName(platform)})`;
}

function subjects(status) {
  const asking = status.routes.filter((route) => isOwn(route) && Object.keys(route.buckets).length);
  const apps = [...new Set(status.history.versions.map((each) => each.app))];
  return [
    ["", [["", "All routes"]]],
    ["Routes", asking.map((route) => [`route ${route.name}`, route.name])],
    ...apps.map((app) => [appName(status, app), status.history.versions.filter((each) => each.app === app)
      .sort(byVersion).map((each) => [`version ${app} ${each.version}`, `version ${each.version}`])]),
  ].filter(([, entries]) => entries.length);
}

function showProofs(status) {
  const { history } = status;
  if (!options(byId("subject"), subjects(status), page.subject)) {
    page.subject = "";
    byId("subject").value = "";
  }
  const found = page.subject.startsWith("route ")
    ? history.routes.filter((route) => `route ${route.name}` === page.subject)
    : page.subject ? history.versions.filter(
      (each) => `version ${each.app} ${each.version}` === page.subject) : history.routes;
  const counts = sums(found.map((each) => each.buckets));
  const series = buckets.filter(([name]) => sum(counts[name]))
    .map(([name, label]) => ({ name, label, values: counts[name] }));
  const all = sum(series.map((each) => sum(each.values)));
  page.proofs.show({ ...slots(history), series,
    title: `What requests proved in the last ${page.range}`,
    summary: all ? `${counted(all, "request")} to routes that ask for a proof`
      : "No request to a route that asks for a proof yet." });
  byId("proof-legend").replaceChildren(legend(series,
    (each) => `${number(sum(each.values))} (${percent(sum(each.values), all)})`));
}

function shares(counts) {
  const parts = buckets.map(([name, label]) => ({ name, label, value: sum(counts[name]) }));
  const all = sum(parts.map((part) => part.value));
  if (!all) return null;
  return shareBar(parts, parts.filter((part) => part.value)
    .map((part) => `${part.label} ${percent(part.value, all)}`).join(", "));
}

function chooser(value, text) {
  const button = make("button", { type: "button", class: "link" }, text);
  button.addEventListener("click", () => {
    page.subject = value;
    show();
    byId("subject").scrollIntoView({ block: "nearest" });
  });
  return button;
}

/** Buttons are kept while nothing but numbers changes, so that the keyboard stays where it is. */
function refill(place, content) {
  const focused = place.contains(document.activeElement)
    ? [...place.querySelectorAll("button")].indexOf(document.activeElement) : -1;
  place.replaceChildren(content);
  if (focused >= 0) place.querySelectorAll("button")[focused]?.focus();
}

function showRoutes(status) {
  const modes = new Map(status.routes.map((route) => [route.name, route]));
  const isShown = (route) => {
    const known = modes.get(route.name) || {};
    if (known.kind === "none") return sum(route.refused) > 0;
    return isOwn(known) && (sum(route.requests) > 0 || known.kind === "route");
  };
  const rows = status.history.routes.filter(isShown).map((route) => {
    const { mode, kind } = modes.get(route.name);
    if (kind === "none") {
      return ["no route matched", make("span", { class: "dim" }, "no proof asked"),
        number(sum(route.requests)), "–", "–", number(sum(route.refused))];
    }
    const all = total(route.buckets, judged);
    const asks = mode === "observe" || mode === "enforce";
    const would = sum(route.would_be_refused);
    return [
      [all ? chooser(`route ${route.name}`, route.name) : route.name, " ",
        make("span", { class: "badge" }, mode || kind)],
      shares(route.buckets)
        || make("span", { class: "dim" }, asks ? "no requests to judge" : "no proof asked"),
      number(sum(route.requests)), all ? percent(sum(route.buckets.verified), all) : "–",
      would ? `${percent(would, all)}` : "–", number(sum(route.refused)),
    ];
  });
  refill(byId("routes"), table([{ title: "Route" }, { title: "Proofs", class: "shares" },
    { title: "Requests", class: "n" }, { title: "Verified", class: "n" },
    { title: "Would refuse", class: "n" }, { title: "Refused", class: "n" }], rows,
  "No requests yet. Routes appear with their first one."));
}

function showVersions(status) {
  const rows = [];
  let app = null;
  const versions = status.history.versions.filter((each) => total(each.buckets, Object.keys(each.buckets)))
    .sort(byVersion);
  for (const each of versions) {
    if (each.app !== app) rows.push({ group: appName(status, (app = each.app)) });
    const all = total(each.buckets, judged);
    const good = sum(each.buckets.verified);
    // As the problem version_refused and its alarm have it.
    const every = total(each.buckets, Object.keys(each.buckets));
    const bad = total(each.buckets, ["invalid", "replayed"]);
    const isFailing = each.version !== "unknown" && every >= 50 && bad / every > 0.2;
    rows.push([
      [chooser(`version ${each.app} ${each.version}`, each.version), " ",
        isFailing ? make("span", { class: "badge error" }, "fails") : ""],
      shares(each.buckets), number(all), percent(good, all)]);
  }
  refill(byId("versions"), table([{ title: "Version" }, { title: "Proofs", class: "shares" },
    { title: "Requests", class: "n" }, { title: "Verified", class: "n" }], rows,
  "No app has named itself yet. Versions appear with the first request of an enrolled key."));
}

function showLatency(status) {
  const { history } = status;
  const found = new Map([["verification", history.verification],
    ...history.stores.map((each) => [`store ${each.name}`, each.duration]),
    ...history.upstreams.map((each) => [`upstream ${each.name}`, each.duration]),
    ...history.routes.map((each) => [`route ${each.name}`, each.duration])]);
  const names = (kind) => [...found.keys()].filter((name) => name.startsWith(`${kind} `))
    .map((name) => [name, name.slice(kind.length + 1)]);
  const groups = [["", [["verification", "Verification of a signature"]]],
    ["Stores", names("store")], ["Upstreams", names("upstream")],
    ["Whole requests, by route", names("route").filter(([, name]) => name !== "none")]]
    .filter(([, entries]) => entries.length);
  if (!options(byId("latency"), groups, page.latency)) {
    page.latency = "verification";
    byId("latency").value = page.latency;
  }
  const data = found.get(page.latency);
  const series = [["p50_ms", "half within"], ["p90_ms", "90% within"], ["p99_ms", "99% within"]]
    .map(([name, label]) => ({ name, label, values: data[name] }));
  const all = sum(data.count);
  page.times.show({ ...slots(history), series, left: 58, title: `Latency in the last ${page.range}`,
    summary: all ? `${number(all)} measured` : "Nothing was measured yet." });
  const newest = (values) => values.findLast((value) => value !== null);
  byId("latency-legend").replaceChildren(
    legend(series, (each) => milliseconds(newest(each.values)), "line"));
}

function showFunnel(status) {
  const { funnel } = status.history;
  const steps = [["challenges", "Challenges", "for an attestation"],
    ["attested", "Attested", "keys enrolled"],
    ["first_assertions", "First assertion", "keys that then proved a request"],
    ["verified", "Verified", "requests, of all keys"]];
  const counts = steps.map(([name]) => sum(funnel[name]));
  const most = Math.max(1, ...counts.slice(0, 3));
  const { platforms } = funnel;
  // Not every platform's keys tell which assertion is their first.
  const byPlatform = (name) => platforms.map((each) => `${platformName(each.platform)} `
    + (each[name] ? number(sum(each[name])) : "not counted")).join(", ");
  const rows = steps.map(([name, title, note], index) => {
    const before = index === 1 || index === 2 ? counts[index - 1] : 0;
    const parts = [{ name: index < 3 ? "requests" : "verified",
      value: index < 3 ? counts[index] : 0 }, { name: "track",
      value: index < 3 ? most - counts[index] : 1 }];
    return make("div", { class: "step" }, make("span", {}, title),
      make("b", {}, number(counts[index])),
      index < 3 ? shareBar(parts, `${title}: ${counts[index]}`) : null,
      make("small", {}, before ? `${note}: ${percent(counts[index], before)} of those above`
        : note),
      platforms.length > 1 && index ? make("small", {}, byPlatform(name)) : null);
  });
  byId("funnel").replaceChildren(...rows);
}

/** Reported by apps and not proved: the most frequent ones by step, system and version. */
function showFailures(status) {
  const { causes, versions } = status.history.client_failures;
  const all = sum(causes.map((each) => each.count));
  const rows = (group, list, name) => {
    const counts = new Map();
    for (const each of list) counts.set(name(each), (counts.get(name(each)) || 0) + each.count);
    const entries = [...counts].sort(([, left], [, right]) => right - left).slice(0, 8);
    return entries.length ? [{ group },
      ...entries.map(([label, count]) => [label, number(count), percent(count, all)])] : [];
  };
  byId("failures").replaceChildren(table([{ title: "What apps report" },
    { title: "Reports", class: "n" }, { title: "Share", class: "n" }],
  [...rows("Step and code", causes, (each) => `${each.phase}: ${each.code}`),
    ...rows("System", causes, (each) => each.os),
    ...rows("Version", versions, (each) => `${each.app} ${each.version}`)],
  "No app has reported a failure of its own side."));
}

const badge = (level, text) => make("span", { class: `badge ${level}` }, text);

/** A state that only a request changes is as old as the last one. */
function stateOf(server) {
  const shown = badge(server.state === "up" ? "ok" : "error", server.state);
  if (!server.unasked) return shown;
  const text = server.asked ? ` not asked since ${clock(server.asked)}` : " not asked yet";
  return make("span", {}, shown, make("span", { class: "dim" }, text));
}

function showServers(status) {
  const rows = status.stores.map((store) => [store.name, "",
    badge(store.up ? "ok" : "error", store.up ? "up" : "down"), "", "",
    latencyOf(status.history.stores, store.name)]);
  for (const upstream of status.upstreams) {
    for (const [index, server] of upstream.servers.entries()) {
      rows.push([index ? "" : upstream.name, server.server,
        stateOf(server), number(server.requests),
        number(server.failures), index ? "" : latencyOf(status.history.upstreams, upstream.name)]);
    }
  }
  byId("servers").replaceChildren(table([{ title: "Name" }, { title: "Server" },
    { title: "State" }, { title: "Requests", class: "n" }, { title: "Failures", class: "n" },
    { title: "99% within", class: "n" }], rows, ""));
}

/** The newest that is known. */
function latencyOf(list, name) {
  const found = list.find((each) => each.name === name);
  return milliseconds(found && found.duration.p99_ms.findLast((value) => value !== null));
}

function showRollouts(status) {
  const rows = status.rollouts.map((rollout) => {
    const route = status.history.routes.find((each) => each.name === rollout.name);
    const all = route ? total(route.buckets, judged) : 0;
    const would = route ? sum(route.would_be_refused) : 0;
    const held = rollout.status === "held_by_guard";
    const share = rollout.percent === null ? "unknown" : `${rollout.percent}%`;
    return [rollout.name, share,
      held ? badge("warning", "held by guard") : rollout.status.replaceAll("_", " "),
      would ? `${number(would)} (${percent(would, all)})` : "–",
      rollout.changed ? `${rollout.change}; ${new Date(rollout.changed).toLocaleString("en-GB")}`
        : "by the configuration"];
  });
  byId("rollouts").replaceChildren(table([{ title: "Rollout" }, { title: "Share", class: "n" },
    { title: "Status" }, { title: "Would refuse", class: "n" }, { title: "Last change" }], rows,
  "No route enforces yet: nothing is refused."));
}

function showIssuers(status) {
  const rows = status.proofs.map((proof) => {
    const isFetched = proof.keys === "fetched";
    const alone = (range) => number(sum(proof.passed_by_it_alone.map((each) => each[range])));
    const age = isFetched && proof.age_s !== null ? `${duration(proof.age_s)} ago` : "–";
    return [
      [proof.name, " ", make("span", { class: "badge" }, proof.tier)],
      !isFetched ? "pinned" : proof.key_count ? number(proof.key_count) : badge("error", "none"),
      proof.failure && proof.key_count ? badge("warning", age) : age,
      !isFetched ? "–" : proof.next_s ? `in ${duration(proof.next_s)}` : "now",
      number(proof.accepted), number(proof.refused), alone("hour"), alone("day"),
    ];
  });
  byId("issuers").replaceChildren(table([{ title: "Issuer" }, { title: "Keys", class: "n" },
    { title: "Fetched", class: "n" }, { title: "Asked again", class: "n" },
    { title: "Tokens accepted", class: "n" }, { title: "Refused", class: "n" },
    { title: "By them alone, last hour", class: "n" }, { title: "Last day", class: "n" }], rows,
  "No route takes tokens of other issuers."));
}

function showQuotas(status) {
  const measure = (of) => (of.json ? `of ${of.json}`
    : of === "requests" ? "requests" : "bytes of answers");
  const rows = status.quotas.map((quota) => {
    const hour = quota.last_hour;
    const bad = (count, level) => (count ? badge(level, number(count)) : "–");
    return [[quota.quota, " ", make("span", { class: "badge" }, `by ${quota.by}`)],
      `${number(quota.limit)} ${measure(quota.of)} per ${quota.per}`, number(hour.charged),
      number(hour.refused), bad(hour.numbers_missing, "warning"), bad(hour.uncounted, "warning")];
  });
  byId("quotas").replaceChildren(table([{ title: "Quota" }, { title: "Limit" },
    { title: "Charged, last hour", class: "n" }, { title: "Refused", class: "n" },
    { title: "Without the number", class: "n" }, { title: "Not counted", class: "n" }], rows,
  "No quota is configured."));
}

function pairs(entries) {
  return make("dl", { class: "pairs" }, ...entries.flatMap(([name, value]) => [
    make("dt", {}, name), make("dd", {}, value)]));
}

function showRest(status) {
  byId("certificates").replaceChildren(table([{ title: "Listener" }, { title: "Name" },
    { title: "Ends" }, { title: "Days left", class: "n" }], status.certificates.map((each) => [
    each.listener, each.name, each.not_after.slice(0, 10), each.days_left < 0
      ? badge("error", "expired") : each.ending ? badge("warning", number(each.days_left))
        : number(each.days_left)]), "No listener has a certificate: clients connect without TLS."));
  const { receipts, gateway } = status;
  const renewal = !receipts.renewed ? "are not renewed"
    : !receipts.by_this_gateway ? "are renewed by another gateway"
      : `are renewed here, ${number(receipts.due)} due`
        + (receipts.due ? `, the oldest for ${duration(receipts.overdue_s)}` : "")
        + (receipts.paused ? `, paused: ${receipts.paused.replaceAll("_", " ")}` : "");
  byId("keys").replaceChildren(table([{ title: "App" }, { title: "Platform" },
    { title: "Environment" }, { title: "Status" }, { title: "Keys", class: "n" }],
  status.keys.map((each) => [each.app, platformName(each.platform), each.environment, each.status,
    number(each.count)]),
  status.keys_counted_at ? "No key is enrolled." : "Not counted yet."),
  make("p", { class: "note" }, `Receipts ${renewal}.`));
  byId("gateway").replaceChildren(pairs([
    ["Version", `${gateway.version} with OpenSSL ${gateway.openssl}`],
    ["Running", `${duration(gateway.uptime_s || 0)}, with ${counted(gateway.workers, "worker")}`],
    ["Memory", `${number(Math.round((gateway.memory_bytes || 0) / 1048576))} MiB`],
    ["Descriptors", `${number(gateway.descriptors || 0)} of ${number(gateway.descriptors_max)}`],
    ["Connections", `${number(gateway.connections)} open, ${counted(gateway.tunnels, "WebSocket")}`],
    ["Configuration", `generation ${gateway.generation}, taken `
      + new Date(status.reload.taken).toLocaleString("en-GB")],
    ["Last reload", status.reload.failure ? `failed: ${status.reload.failure}` : "in order"],
    ["Log lines lost", number(gateway.log_lines_lost)]]));
  byId("events").replaceChildren(table([{ title: "Event" }, { title: "Count", class: "n" }],
    status.events.map((each) => [make("code", {}, each.event), number(each.count)]), "None."));
}
