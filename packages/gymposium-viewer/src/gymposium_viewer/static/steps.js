/* Steps through one match, or through two side by side. The page holds all steps; this script shows one at a time.

   Each script of the viewer is one file without imports, because browsers refuse modules from a disk. Text from
   matches is inserted as text, and pictures are shown in a frame without any rights. */

{
  "use strict";

  const FRAME =
    '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">' +
    "<style>html,body{margin:0;height:100%;overflow:auto;font-family:system-ui,sans-serif}" +
    "body>svg{display:block;width:100%;height:100%}</style>";

  const play = document.querySelector(".play");
  const marks = play.dataset.mark.split(" ");
  const drawn = Object.fromEntries(
    marks.map((mark) => [mark, JSON.parse(document.getElementById(`${mark}pictures`).textContent)]),
  );
  const sides = marks.map((mark) => [...play.querySelectorAll(`.step[id^="${mark}step-"]`)]);
  const last = Math.max(...sides.map((steps) => steps.length)) - 1;
  const range = play.querySelector(".stepper input");
  const output = play.querySelector(".stepper output");
  const toggles = [...play.querySelectorAll(".toggle button")];
  let now = -1;
  let view = "mover";

  function seatsShown(step) {
    const seats = [...step.querySelectorAll(".view")].map((section) => section.dataset.seat);
    if (view === "all") return seats;
    if (view !== "mover") return [view];
    const movers = step.dataset.movers.trim().split(" ").filter(Boolean);
    return movers.length ? movers : [play.dataset.ends];
  }

  function picture(section) {
    if (!section.dataset.picture || section.querySelector("iframe")) return;
    const frame = document.createElement("iframe");
    frame.className = "picture";
    frame.setAttribute("sandbox", "");
    frame.title = section.querySelector("h4").textContent;
    const [html, tall] = drawn[section.id.slice(0, section.id.indexOf("step-"))][section.dataset.picture];
    frame.style.aspectRatio = String(1 / tall);
    frame.srcdoc = FRAME + html;
    const words = document.createElement("details");
    words.className = "words";
    words.append(Object.assign(document.createElement("summary"), { textContent: "in words" }));
    words.append(section.querySelector("pre"));
    section.append(frame, words);
  }

  function putAway(section) {
    const frame = section.querySelector("iframe");
    if (!frame) return;
    section.append(section.querySelector("pre"));
    section.querySelector(".words").remove();
    frame.remove();
  }

  function show(number, say = true) {
    now = Math.min(Math.max(number, 0), last);
    for (const steps of sides) {
      const shown = Math.min(now, steps.length - 1);
      steps.forEach((step, index) => {
        step.hidden = index !== shown;
        const seats = step.hidden ? [] : seatsShown(step);
        for (const section of step.querySelectorAll(".view")) {
          section.hidden = !seats.includes(section.dataset.seat);
          if (section.hidden) putAway(section);
          else picture(section);
        }
      });
    }
    range.value = now;
    output.textContent = `${now} of ${last}`;
    for (const button of play.querySelectorAll("[data-go]")) {
      button.disabled = ["first", "back"].includes(button.dataset.go) ? now === 0 : now === last;
    }
    for (const button of toggles) button.setAttribute("aria-pressed", String(button.dataset.view === view));
    play.classList.toggle("all-seats", view === "all");
    for (const link of play.querySelectorAll(".moves a")) {
      const here = Number(link.dataset.step) === now;
      if (here) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
      if (here) intoSight(link, link.closest(".moves"));
    }
    if (say) history.replaceState(null, "", address());
  }

  function address() {
    const end = view === "mover" ? "" : view === "all" ? "-all" : `-seat-${view}`;
    return `#${marks[0]}step-${now}${end}`;
  }

  /* Scrolls the list of moves to a link; the page itself does not scroll. */
  function intoSight(link, list) {
    const [top, height] = [link.offsetTop, link.offsetHeight];
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
  }

  function fromAddress() {
    const found = /^#(?:[ab]-)?step-(\d+)(?:-(?:seat-(\d+)|(all)))?$/.exec(location.hash);
    if (!found) return false;
    const known = toggles.some((button) => button.dataset.view === (found[2] ?? found[3]));
    view = known ? (found[2] ?? found[3]) : "mover";
    show(Number(found[1]), false);
    return true;
  }

  const ways = { first: () => 0, back: () => now - 1, on: () => now + 1, last: () => last };
  const keys = { Home: "first", ArrowLeft: "back", ArrowRight: "on", End: "last" };

  /* Playing a match goes one step on after the time that is chosen, up to the end; any other step stops it. */
  const autoplay = play.querySelector("[data-autoplay]");
  const pace = play.querySelector(".stepper select");
  let timer = 0;

  function halt() {
    clearTimeout(timer);
    timer = 0;
    autoplay.textContent = "Play";
    autoplay.setAttribute("aria-pressed", "false");
  }

  function begin() {
    if (now === last) show(0);
    autoplay.textContent = "Pause";
    autoplay.setAttribute("aria-pressed", "true");
    goOn();
  }

  function toggle() {
    if (timer) halt();
    else begin();
  }

  function goOn() {
    timer = setTimeout(() => {
      show(now + 1);
      if (now === last) halt();
      else goOn();
    }, Number(pace.value));
  }

  function go(number) {
    halt();
    show(number);
  }

  function look(whose) {
    if (!toggles.some((button) => button.dataset.view === whose)) return;
    view = whose;
    show(now);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select, textarea")) return;
    const key = event.key.toLowerCase();
    if (keys[event.key]) go(ways[keys[event.key]]());
    else if (key === " " && !event.target.matches("button, a, summary")) toggle();
    else if (key === "w") look("mover");
    else if (/^[0-9]$/.test(key)) look(key);
    else if (key === "a") look("all");
    else if (key === "n" || key === "p") {
      document.querySelector(`.around a[rel=${key === "n" ? "next" : "prev"}]`)?.click();
      return;
    } else return;
    event.preventDefault();
  });
  play.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const link = event.target.closest(".moves a, [data-both]");
    if (button?.dataset.go) go(ways[button.dataset.go]());
    else if (button === autoplay) toggle();
    else if (button?.dataset.view) look(button.dataset.view);
    else if (link) {
      event.preventDefault();
      go(Number(link.dataset.step));
    }
  });
  range.addEventListener("input", () => go(Number(range.value)));
  window.addEventListener("hashchange", fromAddress);

  /* The rules stand once on the page. A prompt that is opened gets its copy, so that it can be copied as sent. */
  for (const details of document.querySelectorAll("details.prompt")) {
    details.addEventListener("toggle", () => {
      const link = details.querySelector("a.rules");
      if (!link) return;
      const rules = document.getElementById(link.hash.slice(1))?.querySelector("pre");
      if (rules) link.replaceWith(...rules.cloneNode(true).childNodes);
    });
  }

  if (last >= 0) {
    play.classList.add("stepping");
    for (const part of document.querySelectorAll(".stepper, .toggle, .keys")) part.hidden = false;
    range.max = last;
    if (!fromAddress()) show(Number(play.dataset.begins), false);
  }
}
