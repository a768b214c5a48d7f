/* The pages of an export: a list of matches that is filtered and ordered here, and one page that shows any match. Both
   load their data from scripts beside them, since browsers load nothing else from a disk. What the data holds are parts
   of pages, in which all text is escaped. */

{
  "use strict";

  const PAGE_SIZE = 100;

  function script(path) {
    return new Promise((done, failed) => {
      const element = document.createElement("script");
      element.src = path;
      element.onload = done;
      element.onerror = () => failed(new Error(`${path} is missing`));
      document.head.append(element);
    });
  }

  async function load(path) {
    await script(path);
    const bytes = Uint8Array.from(atob(window.gymposiumPacked), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  async function showMatch(main, place) {
    const number = Number(new URLSearchParams(location.search).get("match"));
    const starts = place.dataset.starts.split(" ").map(Number); // the first match of each file, and the end
    if (!(number >= 0 && number < starts.at(-1))) throw new Error(`unknown match ${number}`);
    const file = starts.findLastIndex((start) => start <= number);
    const html = (await load(`matches/${file}.js`))[number - starts[file]];
    main.innerHTML = html;
    document.title = main.querySelector("h1").textContent;
    await script("static/steps.js");
  }

  async function showList(table, form) {
    const { rows, orders } = await load("matches/list.js");
    const pager = document.querySelector("nav.pager");
    const given = new URLSearchParams(location.search);
    for (const field of form.elements) {
      if (!given.has(field.name)) continue;
      if (field.type === "checkbox") field.checked = given.get(field.name) === field.value;
      else field.value = given.get(field.name);
    }
    let page = Math.max(1, Number(given.get("page")) || 1);

    const selected = () => {
      const wanted = Object.fromEntries(new FormData(form));
      const facts = [];
      if (wanted.game) facts.push(`game ${wanted.game}`);
      if (wanted.player) facts.push(`player ${wanted.player}`);
      if (wanted.ended) facts.push(wanted.player ? `${wanted.ended} by ${wanted.player}` : wanted.ended);
      if (wanted.failed) facts.push(wanted.failed);
      if (wanted.long) facts.push("long");
      const order = orders[wanted.sort] ?? rows.keys();
      return [...order].filter((at) => facts.every((fact) => rows[at].facts.includes(fact)) && rows[at].id.includes(wanted.text));
    };
    const show = () => {
      const found = selected();
      const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
      page = Math.min(page, pages);
      table.tBodies[0].innerHTML = found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE).map((at) => rows[at].html).join("");
      document.querySelector(".found .shown").textContent = found.length.toLocaleString("en");
      pager.hidden = pages === 1;
      pager.querySelector("span").textContent = `Page ${page} of ${pages}`;
      pager.querySelector("[rel=prev]").hidden = page === 1;
      pager.querySelector("[rel=next]").hidden = page === pages;
    };
    const turn = (by) => {
      page += by;
      show();
      table.scrollIntoView();
    };
    pager.querySelector("[rel=prev]").addEventListener("click", () => turn(-1));
    pager.querySelector("[rel=next]").addEventListener("click", () => turn(1));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      page = 1;
      show();
    });
    form.querySelector("a.button").addEventListener("click", (event) => {
      event.preventDefault();
      for (const field of form.elements) {
        if (field.type === "checkbox") field.checked = false;
        else if (field.tagName === "SELECT") field.selectedIndex = 0;
        else if (field.type === "search") field.value = "";
      }
      page = 1;
      show();
    });
    form.hidden = false;
    show();
  }

  const main = document.querySelector("main");
  const place = main.querySelector("[data-starts]");
  const table = document.querySelector("table.matches");
  const shown = place ? showMatch(main, place) : table && showList(table, document.querySelector("form.filters"));
  shown?.catch((error) => {
    (place ?? document.querySelector(".found")).textContent = `Cannot show it: ${error.message}`;
  });
}
