"use strict";
// Text, tables and charts from the DOM alone: nothing here can turn a word into markup.

/** Makes an element; `attributes` are set as they are, and children may be text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function draw(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const sum = (values) => (values || []).reduce((left, right) => left + right, 0);
const plain = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const number = (value) => (Math.abs(value) < 10000 ? plain : compact).format(value);
/** A number with what it counts: 1 key, 2 keys. */
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

/** 12.3, 1.23, 0.12: three digits, as many as mean anything. */
function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 10000) return `${plain.format(Math.round(value / 100) / 10)} s`;
  return `${Number(value.toPrecision(3))} ms`;
}

function percent(part, whole) {
  if (!whole) return "–";
  const share = (100 * part) / whole;
  if (part > 0 && share < 0.1) return "< 0.1%";
  if (part < whole && share > 99.9) return "> 99.9%";
  return `${Number(share.toFixed(share < 10 || share > 90 ? 1 : 0))}%`;
}

function duration(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const index = Math.max(0, units.findIndex(([size]) => seconds >= size));
  const [size, name] = seconds < 1 ? units[3] : units[index];
  const rest = index < 2 && seconds >= 60 ? Math.floor((seconds % size) / units[index + 1][0]) : 0;
  return `${Math.floor(seconds / size)} ${name}` + (rest ? ` ${rest} ${units[index + 1][1]}` : "");
}

function clock(time, withSeconds = false) {
  const options = { hour: "2-digit", minute: "2-digit", hour12: false };
  if (withSeconds) options.second = "2-digit";
  return new Date(time).toLocaleTimeString("en-GB", options);
}

function table(heads, rows, empty) {
  if (!rows.length) return make("p", { class: "empty" }, empty);
  const cell = (name, head, content) => {
    const attributes = { class: head.class || null };
    if (name === "th") attributes.scope = "col";
    return make(name, attributes, ...(Array.isArray(content) ? content : [content]));
  };
  const head = make("tr", {}, ...heads.map((head) => cell("th", head, head.title)));
  const body = rows.map((row) => {
    if (row.group) {
      return make("tr", { class: "group" }, make("td", { colspan: heads.length }, row.group));
    }
    return make("tr", {}, ...heads.map((head, index) => cell("td", head, row[index])));
  });
  return make("div", { class: "scroll" },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

/** One bar of shares: what each part is to the whole. */
function shareBar(parts, label) {
  const whole = sum(parts.map((part) => part.value));
  const svg = draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img" });
  svg.setAttribute("aria-label", label);
  svg.append(draw("rect", { class: "fill-track", width: 100, height: 10 }));
  let left = 0;
  for (const part of parts) {
    if (!part.value) continue;
    // What is there must be seen, however little it is.
    const width = Math.max(0.8, (100 * part.value) / whole);
    svg.append(draw("rect", { class: `fill-${part.name}`, x: left, width, height: 10 }));
    left += width;
  }
  return svg;
}

/** A round number that is not less than `value`, and the steps to it. */
function scale(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));
  const top = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= value);
  return { top, ticks: [0, 0.5, 1].map((share) => share * top) };
}

/**
 * A chart of slots in time that mouse, finger and arrow keys can read. `show` gets the data that
 * `paint` draws; the line below the chart says what the chosen slot holds.
 */
class Chart {
  constructor(paint, describe) {
    this.paint = paint;
    this.describe = describe;
    this.cursor = null;
    this.readout = make("p", { class: "readout" });
    this.box = make("div", { class: "chart", tabindex: 0, role: "group" });
    this.element = make("figure", {}, this.box, this.readout);
    this.box.addEventListener("pointermove", (event) => this.point(event));
    this.box.addEventListener("pointerdown", (event) => this.point(event));
    this.box.addEventListener("pointerleave", () => this.move(null));
    this.box.addEventListener("blur", () => this.move(null));
    this.box.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.render()).observe(this.box);
  }

  show(data) {
    this.data = data;
    this.box.setAttribute("aria-label", `${data.title}. Arrow keys go through the times.`);
    this.render();
  }

  point(event) {
    if (!this.area) return;
    const x = event.clientX - this.box.getBoundingClientRect().left - this.area.left;
    const slot = Math.floor((x / this.area.width) * this.data.slotsMax) - this.area.offset;
    this.move(slot >= 0 && slot < this.data.slots ? slot : null);
  }

  press(event) {
    const last = this.data ? this.data.slots - 1 : -1;
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    let next = null;
    if (event.key in steps) next = (this.cursor === null ? last + 1 : this.cursor) + steps[event.key];
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = last;
    else if (event.key !== "Escape") return;
    event.preventDefault();
    this.move(next === null || last < 0 ? null : Math.min(last, Math.max(0, next)));
  }

  move(slot) {
    if (slot === this.cursor) return;
    this.cursor = slot;
    this.render();
  }

  render() {
    const data = this.data;
    const width = Math.floor(this.box.clientWidth);
    if (!data || !width) return;
    const height = width < 500 ? 170 : 220;
    const left = data.left || 46;
    const area = { left, top: 8, width: width - left - 8, height: height - 32 };
    // What was before the start is left empty: the newest is always at the right.
    area.offset = data.slotsMax - data.slots;
    this.area = area;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    if (this.cursor !== null && this.cursor < data.slots) {
      const step = area.width / data.slotsMax;
      svg.append(draw("rect", { class: "cursor", y: area.top, height: area.height,
        x: area.left + (this.cursor + area.offset) * step, width: step }));
    }
    this.paint(svg, area, data);
    this.times(svg, area, data);
    this.box.replaceChildren(svg);
    const at = this.cursor;
    const start = at === null ? null : data.start + at * data.step * 1000;
    const text = at === null || at >= data.slots ? data.summary
      : `${clock(start)}–${clock(start + data.step * 1000)}: ${this.describe(data, at)}`;
    // Read aloud if the reader asks for it, and not again with every answer of the gateway.
    this.readout.setAttribute("aria-live", at === null ? "off" : "polite");
    if (this.readout.textContent !== text) this.readout.textContent = text;
  }

  /** Round times below the chart. */
  times(svg, area, data) {
    const slots = data.step === 60 ? 10 : 16;
    const period = slots * data.step * 1000 * (area.width < 420 ? 2 : 1);
    const begin = data.start - area.offset * data.step * 1000;
    const end = begin + data.slotsMax * data.step * 1000;
    const zone = new Date(end).getTimezoneOffset() * 60000;
    for (let time = Math.ceil((begin - zone) / period) * period + zone; time < end; time += period) {
      const x = area.left + ((time - begin) / (end - begin)) * area.width;
      if (x < area.left + 14 || x > area.left + area.width - 14) continue;
      svg.append(draw("text", { x, y: area.top + area.height + 17, "text-anchor": "middle" },
        clock(time)));
    }
  }
}

function paintScale(svg, area, top, text) {
  const { ticks, top: limit } = scale(top);
  for (const tick of ticks) {
    const y = area.top + area.height * (1 - tick / limit);
    svg.append(draw("line", { class: "grid", x1: area.left, x2: area.left + area.width, y1: y, y2: y }));
    svg.append(draw("text", { x: area.left - 7, y: y + 4, "text-anchor": "end" }, text(tick)));
  }
  return limit;
}

/** Columns whose parts lie on one another, the first at the bottom. */
function paintColumns(svg, area, data) {
  const wholes = Array.from({ length: data.slots },
    (_, slot) => sum(data.series.map((series) => series.values[slot] || 0)));
  const limit = paintScale(svg, area, Math.max(2, ...wholes), number);
  const step = area.width / data.slotsMax;
  for (let slot = 0; slot < data.slots; slot += 1) {
    let y = area.top + area.height;
    for (const series of data.series) {
      const height = (area.height * (series.values[slot] || 0)) / limit;
      if (!height) continue;
      y -= height;
      svg.append(draw("rect", { class: `fill-${series.name}`, y, height,
        x: area.left + (slot + area.offset) * step + step * 0.1, width: step * 0.8 }));
    }
  }
}

/** Lines with gaps for the slots of which nothing is known. */
function paintLines(svg, area, data) {
  const known = data.series.flatMap((series) => series.values).filter((value) => value !== null);
  const limit = paintScale(svg, area, known.length ? Math.max(0.001, ...known) : 1, (tick) => milliseconds(tick));
  const step = area.width / data.slotsMax;
  for (const series of data.series) {
    const points = series.values.map((value, slot) => (value === null ? null
      : [area.left + (slot + area.offset + 0.5) * step,
        area.top + area.height * (1 - value / limit)]));
    let path = "";
    points.forEach((point, slot) => {
      if (!point) return;
      path += `${points[slot - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
      if (!points[slot - 1] && !points[slot + 1]) {
        svg.append(draw("circle", { class: `line-${series.name}`, cx: point[0], cy: point[1], r: 2.5 }));
      }
    });
    svg.append(draw("path", { class: `line line-${series.name}`, d: path, fill: "none" }));
  }
}

function legend(series, value, shape = "fill") {
  return make("ul", { class: "legend" }, ...series.map((each) => {
    const sample = draw("svg", { viewBox: "0 0 14 12", "aria-hidden": "true" });
    sample.append(shape === "fill"
      ? draw("rect", { class: `fill-${each.name}`, width: 14, height: 12, rx: 2 })
      : draw("path", { class: `line-${each.name}`, d: "M0 6H14", "stroke-width": 2.5 }));
    return make("li", {}, sample, `${each.label} `, make("b", {}, value(each)));
  }));
}
