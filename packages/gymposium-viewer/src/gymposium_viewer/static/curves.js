/* Draws the curves of one training run, or of several in the same plots, and extends them as they grow.

   Each script of the viewer is one file without imports, because browsers refuse modules from a disk. Names of metrics
   and all other text from runs are inserted as text. The plots are made by uPlot (static/uplot). */

{
  "use strict";

  const NAMES = { cold_start: "cold start", train: "training", control: "control" };
  const COLORS = ["--seat-0", "--seat-1", "--seat-2", "--seat-3", "--seat-4", "--seat-5"];
  const INCREMENTS = [0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
  const DASHES = [[], [6, 3], [2, 3]];

  const place = document.querySelector(".curves");
  const many = "many" in place.dataset;
  const words = JSON.parse(document.getElementById("words").textContent).map(([pattern, section, what, unit, apart]) => ({
    pattern: new RegExp(`^(?:${pattern})$`),
    wild: pattern.split("[^/]+").length - 1,
    section,
    what,
    unit,
    apart,
  }));
  words.forEach((one, order) => (one.order = order));
  const sparing = [...words].sort((a, b) => a.wild - b.wild);
  const sections = [...new Set(["Rewards", "Learning", ...words.map((one) => one.section), "Others"])];
  const runs = new Map(); // by name: {stages: {stage: {steps, series, each}}, evaluation}
  const cards = new Map(); // by metric
  const state = { q: "", smooth: 0, stage: "train", apart: false };

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const make = (tag, properties = {}, ...inside) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...inside);
    return made;
  };
  const figure = (value) =>
    value === null || value === undefined ? "–" : Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : value.toPrecision(4).replace(/\.?0+(?=$|e)/, "");
  const about = (name) =>
    sparing.find((one) => one.pattern.test(name)) ?? { section: "Others", what: "", unit: "", apart: false, order: words.length };
  const styleOf = (number) => ({ color: COLORS[number % COLORS.length], dash: DASHES[Math.floor(number / COLORS.length) % DASHES.length] });

  /* -- the controls */

  const search = make("input", { type: "search", placeholder: "entropy, win, tied …", ariaLabel: "Search metrics" });
  const stage = make("select", { ariaLabel: "Stage" });
  const smooth = make("input", { type: "range", min: 0, max: 0.98, step: 0.02, value: 0, ariaLabel: "Smoothing" });
  const smoothed = make("output", { textContent: "none" });
  const apart = make("input", { type: "checkbox" });
  const table = make("button", { type: "button", textContent: "As a table" });
  const shown = make("span", { className: "quiet shown" });
  const legend = make("ul", { className: "legend" });
  const bar = make(
    "div",
    { className: "bar" },
    make("label", {}, "Find ", search),
    make("label", {}, "Stage ", stage),
    make("label", { className: "smooth" }, "Smoothing ", smooth, smoothed),
    make("label", { className: "check" }, apart, " by opponent and game"),
    shown,
  );
  if (!many) bar.append(table);
  const grids = new Map(
    sections.map((section) => {
      const grid = make("div", { className: "grid" });
      const whole = make("section", { hidden: true }, make("h3", { textContent: section }), grid);
      return [section, { whole, grid }];
    }),
  );
  place.append(bar, legend, ...[...grids.values()].map(({ whole }) => whole));

  /* -- one metric */

  class Card {
    constructor(name) {
      this.name = name;
      this.about = about(name);
      this.plot = null;
      this.stale = true;
      this.seen = false;
      this.now = make("span", { className: "now" });
      this.canvas = make("div", { className: "plot", role: "img", ariaLabel: `Curve of ${name}` });
      const title = make("h4", {}, make("span", { className: "theirs", textContent: name }), this.now);
      const says = this.about.unit ? `${this.about.what} (${this.about.unit})` : this.about.what;
      this.element = make("article", { className: "metric", title: says }, title, make("p", { className: "quiet what", textContent: says }), this.canvas);
      this.element.dataset.metric = name;
      watching.observe(this.element);
    }

    /* The curves of all runs that have this metric in the selected stage, on one axis of steps. */
    data() {
      const found = [];
      for (const [run, { stages }] of runs) {
        const curve = stages[state.stage];
        const values = curve?.series[this.name];
        if (values?.some((value) => value !== null)) found.push({ run, steps: curve.steps, values });
      }
      if (found.length === 1) {
        const [{ run, steps, values }] = found;
        return { runs: [run], steps, series: [values] };
      }
      const steps = [...new Set(found.flatMap((one) => one.steps))].sort((a, b) => a - b);
      const at = new Map(steps.map((step, index) => [step, index]));
      const series = found.map((one) => {
        const values = new Array(steps.length).fill(null);
        one.steps.forEach((step, index) => (values[at.get(step)] = one.values[index]));
        return values;
      });
      return { runs: found.map((one) => one.run), steps, series };
    }

    draw() {
      if (!this.seen || this.element.hidden || place.hidden) return;
      this.stale = false;
      const { runs: names, steps, series } = this.data();
      const order = [...runs.keys()];
      const raw = state.smooth > 0;
      const columns = [steps];
      const lines = [];
      for (const [index, values] of series.entries()) {
        const { color, dash } = styleOf(order.indexOf(names[index]));
        const sparse = values.filter((value) => value !== null).length < 2;
        const few = values.filter((value) => value !== null).length <= 40;
        if (raw) {
          columns.push(values);
          lines.push({ label: names[index], stroke: css(color) + "50", width: 1, spanGaps: true, points: { show: false } });
        }
        columns.push(raw ? ema(values, state.smooth) : values);
        lines.push({ label: names[index], stroke: css(color), width: 1.8, dash, spanGaps: true, main: true, points: { show: sparse || few, size: 4 } });
      }
      this.main = lines.flatMap((line, index) => (line.main ? [{ column: index + 1, run: line.label }] : []));
      const key = JSON.stringify([lines.map((line) => [line.label, line.stroke, line.width]), css("--ink")]);
      if (this.plot && key === this.key) this.plot.setData(columns);
      else {
        this.plot?.destroy();
        this.plot = new uPlot(options(this.canvas, lines, (at) => this.say(at)), columns, this.canvas);
        this.key = key;
      }
      this.say(null);
    }

    /* Shows the values at the cursor, or the newest ones, beside the name. */
    say(at) {
      if (!this.plot) return;
      const [steps, ...columns] = this.plot.data;
      const parts = this.main.map(({ column, run }) => {
        const values = columns[column - 1];
        const index = at ?? values.findLastIndex((value) => value !== null);
        const value = make("span", { textContent: figure(values[index]) });
        if (this.main.length > 1) value.style.color = `var(${styleOf([...runs.keys()].indexOf(run)).color})`;
        return value;
      });
      const where = at === null || at === undefined ? [] : [make("span", { className: "quiet", textContent: `${steps[at]}:` })];
      this.now.replaceChildren(...where, ...parts.slice(0, 4), ...(parts.length > 4 ? ["…"] : []));
      this.canvas.ariaLabel = `${this.name}: ${this.now.textContent}`;
    }
  }

  const watching = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const card = cards.get(target.dataset.metric);
        if (!card) continue;
        card.seen = isIntersecting;
        if (isIntersecting && card.stale) card.draw();
      }
    },
    { rootMargin: "300px" },
  );

  function options(element, lines, say) {
    const axis = {
      stroke: css("--quiet"),
      font: `11px ${css("--sans")}`,
      grid: { stroke: css("--line"), width: 1 },
      ticks: { stroke: css("--line"), width: 1, size: 4 },
    };
    return {
      width: Math.max(element.clientWidth, 120),
      height: Math.max(element.clientHeight, 120),
      scales: { x: { time: false }, y: { range } },
      padding: [6, 10, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: "steps" }, points: { size: 6 }, y: false },
      axes: [
        { ...axis, size: 26, gap: 2, space: 50, incrs: INCREMENTS },
        { ...axis, size: 48, gap: 2, space: 28, values: (_, splits) => splits.map((value) => (value === null ? "" : short(value))) },
      ],
      series: [{}, ...lines],
      hooks: { setCursor: [(plot) => say(plot.cursor.idx ?? null)] },
    };
  }

  /* The axis' limits: round numbers around the data; a flat curve runs through the middle. */
  function range(_, least, most) {
    if (least === null) return [0, 1];
    const around = Math.abs(least) * 0.5 || 1;
    return least === most ? [least - around, most + around] : uPlot.rangeNum(least, most, 0.1, true);
  }

  const short = (value) => (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5) ? value.toExponential(0) : String(Number(value.toPrecision(6))));

  /* An exponential moving mean without bias at the beginning (Kingma and Ba, 2015, section 3). */
  function ema(values, share) {
    let mean = 0;
    let weight = 0;
    return values.map((value) => {
      if (value === null) return null;
      mean = share * mean + (1 - share) * value;
      weight = share * weight + (1 - share);
      return mean / weight;
    });
  }

  /* -- the learning curves */

  const worth = document.querySelector(".evaluation");
  const measured = new Map();

  function drawEvaluation() {
    if (!worth) return;
    const [{ evaluation }] = runs.values();
    const every = evaluation.flatMap((curve) => curve.points.map((point) => point.step));
    const last = Math.max(...every);
    const each = last > 0 ? INCREMENTS.find((count) => -Math.min(...every) / count <= last) : 1; // cold-start steps per unit
    for (const curve of evaluation) {
      const name = `${curve.games} ${curve.title}`;
      if (!measured.has(name)) {
        const canvas = make("div", { className: "plot", role: "img", ariaLabel: `Curve of ${name}` });
        const now = make("span", { className: "now" });
        const key = make("ul", { className: "legend" });
        const title = make("h4", {}, make("span", { className: "theirs", textContent: curve.games }), now);
        worth.append(make("article", { className: "metric tall" }, title, make("p", { className: "quiet what", textContent: curve.title }), canvas, key));
        measured.set(name, { canvas, key, now });
        document.querySelector(".nothing")?.remove();
      }
      const one = measured.get(name);
      const steps = curve.points.map((point) => point.step);
      const level = (value) => steps.map(() => value);
      const levels = Object.entries(curve.levels);
      const places = steps.map((step) => (step < 0 ? step / each : step));
      const columns = [places, ...["high", "low", "value"].map((part) => curve.points.map((point) => point[part])), ...levels.map(([, value]) => level(value))];
      const ink = css("--seat-0");
      const few = steps.length <= 40;
      const lines = [
        { stroke: "transparent", points: { show: false } },
        { stroke: "transparent", points: { show: false } },
        { stroke: ink, width: 2, points: { show: few, size: 6 } },
        ...levels.map((_, index) => ({ stroke: css(COLORS[(index + 1) % COLORS.length]), width: 1.5, dash: [6, 4], points: { show: false } })),
      ];
      one.plot?.destroy();
      const say = (at) => {
        const point = curve.points[at ?? curve.points.length - 1];
        const interval = point.low < point.high ? ` [${figure(point.low)}, ${figure(point.high)}]` : "";
        one.now.textContent = `step ${point.step}: ${figure(point.value)}${interval}`;
        one.canvas.ariaLabel = `${name}: ${one.now.textContent}`;
      };
      const given = options(one.canvas, lines, say);
      given.axes[0].values = (_, splits) => splits.map((split) => short(split < 0 ? split * each : split));
      given.bands = [{ series: [1, 2], fill: `${ink}30` }];
      one.plot = new uPlot(given, columns, one.canvas);
      say(null);
      one.key.replaceChildren(
        ...[[curve.player, "--seat-0"], ...levels.map(([name], index) => [name, COLORS[(index + 1) % COLORS.length]])].map(([name, color]) => chip(name, color)),
      );
    }
  }

  function chip(name, color, dash = []) {
    const mark = make("i", { className: dash.length ? "dashed" : "" });
    mark.style.borderColor = `var(${color})`;
    return make("li", {}, mark, make("span", { className: "theirs", textContent: name }));
  }

  /* -- all cards */

  function arrange() {
    const stages = new Set([...runs.values()].flatMap((run) => Object.keys(run.stages)));
    const there = [...stages].map((name) => make("option", { value: name, textContent: NAMES[name] ?? name }));
    if (stage.options.length !== there.length) stage.replaceChildren(...there);
    if (!stages.has(state.stage) && stages.size) state.stage = stages.has("train") ? "train" : [...stages][0];
    stage.value = state.stage;
    const names = new Set([...runs.values()].flatMap((run) => Object.keys(run.stages[state.stage]?.series ?? {})));
    const fresh = [...names].filter((name) => !cards.has(name));
    for (const name of fresh) cards.set(name, new Card(name));
    if (fresh.length) {
      const inOrder = [...cards.values()].sort((a, b) => a.about.order - b.about.order || (a.name < b.name ? -1 : 1));
      for (const card of inOrder) grids.get(card.about.section).grid.append(card.element);
    }
    const asked = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [name, card] of cards) {
      const text = `${name} ${card.about.what}`.toLowerCase();
      const matches = asked.length ? asked.every((word) => text.includes(word)) : state.apart || !card.about.apart;
      card.element.hidden = !(names.has(name) && matches);
      count += !card.element.hidden;
    }
    for (const { whole, grid } of grids.values()) whole.hidden = ![...grid.children].some((child) => !child.hidden);
    shown.textContent = `${count} of ${names.size} metrics`;
    const each = Math.max(1, ...[...runs.values()].map((run) => run.stages[state.stage]?.each ?? 1));
    if (each > 1) shown.textContent += `, each point averages ${each} steps`;
    legend.replaceChildren(...(many ? [...runs.keys()].map((name, number) => chip(name, styleOf(number).color, styleOf(number).dash)) : []));
    redraw();
  }

  function redraw() {
    for (const card of cards.values()) {
      card.stale = true;
      card.draw();
    }
  }

  function remember() {
    const given = new URLSearchParams();
    if (state.q) given.set("q", state.q);
    if (state.smooth) given.set("smooth", state.smooth);
    if (state.stage !== "train") given.set("stage", state.stage);
    if (state.apart) given.set("apart", "yes");
    if (many) for (const name of runs.keys()) given.append("run", name);
    history.replaceState(null, "", String(given) ? `#${given}` : location.pathname + location.search);
  }

  function recall() {
    const given = new URLSearchParams(location.hash.slice(1));
    state.q = given.get("q") ?? "";
    state.smooth = Math.min(0.98, Math.max(0, Number(given.get("smooth")) || 0));
    state.stage = given.get("stage") ?? "train";
    state.apart = given.get("apart") === "yes";
    search.value = state.q;
    smooth.value = state.smooth;
    smoothed.textContent = state.smooth ? state.smooth.toFixed(2) : "none";
    apart.checked = state.apart;
    return given.getAll("run");
  }

  const changed = () => {
    arrange();
    remember();
  };
  search.addEventListener("input", () => ((state.q = search.value), changed()));
  stage.addEventListener("change", () => ((state.stage = stage.value), changed()));
  apart.addEventListener("change", () => ((state.apart = apart.checked), changed()));
  smooth.addEventListener("input", () => {
    state.smooth = Number(smooth.value);
    smoothed.textContent = state.smooth ? state.smooth.toFixed(2) : "none";
    redraw();
    remember();
  });
  const figures = document.querySelector(".figures");
  table.addEventListener("click", () => {
    figures.hidden = !figures.hidden;
    table.setAttribute("aria-pressed", String(!figures.hidden));
  });

  let waiting = 0;
  const resized = new ResizeObserver(() => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      for (const { plot, canvas } of [...cards.values(), ...measured.values()]) {
        if (plot && canvas.clientWidth) plot.setSize({ width: canvas.clientWidth, height: canvas.clientHeight });
      }
    });
  });
  resized.observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (redraw(), drawEvaluation()));

  /* -- where the curves come from */

  function begin() {
    place.hidden = false;
    if (figures) figures.hidden = true;
    recall();
    const { run, ...data } = JSON.parse(document.getElementById("data").textContent);
    runs.set(run, data);
    arrange();
    drawEvaluation();
    if (place.dataset.events) follow(data);
  }

  /* Adds a step that the server sent. If the step was done again, its last values count. */
  function take(data, { stage: name, step, values }) {
    const curve = (data.stages[name] ??= { steps: [], series: {}, each: 1 });
    let index = curve.steps.length;
    while (index > 0 && curve.steps[index - 1] >= step) index -= 1;
    if (curve.steps[index] !== step) {
      curve.steps.splice(index, 0, step);
      for (const series of Object.values(curve.series)) series.splice(index, 0, null);
    }
    for (const [metric, value] of Object.entries(values)) {
      (curve.series[metric] ??= new Array(curve.steps.length).fill(null))[index] = value;
    }
    if (name === "train") {
      document.querySelector(".standing .step").textContent = curve.steps.at(-1);
      const bar = document.querySelector(".standing progress");
      if (bar) bar.value = curve.steps.at(-1);
    }
  }

  function follow(data) {
    const status = document.querySelector(".standing .link");
    const source = new EventSource(`${place.dataset.events}?from=${place.dataset.offset}`);
    let soon = 0;
    source.addEventListener("open", () => (status.textContent = "live"));
    source.addEventListener("error", () => (status.textContent = "connection lost; retrying …"));
    source.addEventListener("metrics", (event) => {
      take(data, JSON.parse(event.data));
      cancelAnimationFrame(soon);
      soon = requestAnimationFrame(arrange);
    });
    source.addEventListener("evaluation", (event) => {
      data.evaluation = JSON.parse(event.data);
      drawEvaluation();
    });
    source.addEventListener("samples", () => (document.querySelector(".around .rollouts").hidden = false));
    source.addEventListener("renewed", () => location.reload());
    source.addEventListener("finished", () => {
      source.close();
      status.replaceChildren("finished – ", make("a", { href: "", textContent: "show the results" }));
    });
  }

  function overlay() {
    const boxes = [...document.querySelectorAll(".runs .pick input")];
    const arrived = new Map();
    globalThis.gymposiumCurves = ({ run, ...data }) => arrived.set(run, data);
    const show = () => {
      runs.clear();
      for (const box of boxes) if (box.checked && arrived.has(box.value)) runs.set(box.value, arrived.get(box.value));
      place.hidden = !runs.size;
      changed();
    };
    const pick = (box) => {
      if (!box.checked || arrived.has(box.value)) return show();
      const script = make("script", { src: box.dataset.script });
      script.addEventListener("load", show);
      script.addEventListener("error", () => {
        box.checked = false;
        box.title = "Cannot read its curves.";
      });
      document.head.append(script);
    };
    const wanted = recall();
    for (const box of boxes) {
      box.checked = wanted.includes(box.value);
      box.addEventListener("change", () => pick(box));
      if (box.checked) pick(box);
    }
    for (const part of document.querySelectorAll(".runs .pick, .over")) part.hidden = false;
  }

  if (many) overlay();
  else begin();
}
