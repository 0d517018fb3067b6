// Refusals, and the answer to: why was this request refused?

const words = (refusal) => ["request_id", "client", "route", "method", "host", "path", "user_agent",
  "app", "platform", "app_version", "environment", "key", "status", "decision", "reason", "detail", "meaning",
  "remedy", "fault_text"].map((name) => refusal[name]).filter((value) => value !== undefined)
  .join("\n").toLowerCase();

function showRefusals() {
  const wanted = page.search.toLowerCase();
  const all = page.asked && page.asked.id === page.search && page.asked.refusal
    ? [page.asked.refusal, ...page.refusals] : page.refusals;
  const found = all.filter((refusal) => words(refusal).includes(wanted));
  const list = byId("refusal-list");
  // Each keeps its element, so that what is open or has the focus stays so.
  const elements = found.map((refusal) => {
    const key = `${refusal.request_id} ${refusal.time}`;
    if (!page.open.has(key)) page.open.set(key, refusalElement(refusal));
    return page.open.get(key);
  });
  const known = new Set(all.map((refusal) => `${refusal.request_id} ${refusal.time}`));
  for (const key of page.open.keys()) if (!known.has(key)) page.open.delete(key);
  const focused = document.activeElement;
  const shown = [...list.children];
  if (shown.length !== elements.length || shown.some((each, index) => each !== elements[index])) {
    list.replaceChildren(...elements);
    if (list.contains(focused)) focused.focus({ preventScroll: true });
  }
  list.hidden = !found.length;
  say(searchNote(found.length));
}

/** Read out only if it is news. */
function say(text) {
  const note = byId("refusal-note");
  if (note.textContent !== text) note.textContent = text;
}

function searchNote(count) {
  if (page.search && !count) {
    if (page.asked && page.asked.id === page.search) return page.asked.text;
    return "Nothing that is shown matches. Press Enter to ask the gateway for a request ID.";
  }
  if (!page.refusals.length) {
    return "Nothing was refused. Requests that fall short will be here with cause and remedy.";
  }
  if (page.search) return `${count} of ${page.refusals.length} ${count === 1 ? "matches" : "match"}.`;
  return `The last ${count === 1 ? "one" : count}, the newest first. `
    + "No flood of one kind pushes out the others.";
}

function refusalElement(refusal) {
  const request = [refusal.method, refusal.path].filter(Boolean).join(" ") || "(unreadable)";
  const level = refusal.decision === "refused" ? "error" : "warning";
  const summary = make("summary", {},
    make("span", { class: "dim" }, make("time", { datetime: refusal.time },
      clock(refusal.time, true))),
    make("span", { class: `badge ${level}` }, String(refusal.status)),
    make("code", {}, refusal.reason),
    make("span", {}, request, level === "error" ? "" : make("span", { class: "badge" }, "let pass")),
    make("span", { class: "why" }, refusal.meaning || ""));
  const facts = [["Request ID", make("code", {}, refusal.request_id)],
    ["Time", new Date(refusal.time).toLocaleString("en-GB")],
    ["Decision", refusal.decision === "refused" ? "refused"
      : `${refusal.decision}: it passed all the same`],
    ["Detail", refusal.detail && make("code", {}, refusal.detail)],
    ["Most often due to", refusal.fault_text], ["Route", refusal.route],
    ["Host", refusal.host], ["Client", refusal.client], ["App", refusal.app],
    ["Platform", refusal.platform && platformName(refusal.platform)],
    ["App version", refusal.app_version], ["Environment", refusal.environment],
    ["Key", refusal.key && make("code", {}, refusal.key)], ["User agent", refusal.user_agent],
    ["The app was told to", refusal.action && refusal.action !== "none"
      ? refusal.action.replaceAll("_", " ") : undefined],
    ["Took", milliseconds(refusal.duration_ms)]].filter(([, value]) => value);
  const more = make("div", { class: "more" });
  if (refusal.meaning) {
    more.append(make("div", { class: "cause" }, make("p", {}, refusal.meaning), make("p", {},
      make("b", {}, "What to do: "), refusal.remedy)));
  }
  more.append(pairs(facts));
  return make("details", {}, summary, more);
}

/** Asks for one that is not in the list: each worker keeps more than is shown. */
async function findRequest() {
  const id = page.search;
  if (!id || page.refusals.some((refusal) => words(refusal).includes(id.toLowerCase()))) return;
  try {
    const answer = await fetch(`refusals.json?id=${encodeURIComponent(id)}`, { cache: "no-store" });
    const document = await answer.json();
    page.asked = { id, refusal: document.refusal, text: document.detail };
  } catch (error) {
    page.asked = { id, text: "The gateway does not answer." };
  }
  showRefusals();
}

build();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(page.timer);
  else poll();
});
poll();
