/* The list of matches: each row is a link, and an exported list is filtered here, as it has no server. */

{
  "use strict";

  const rows = [...document.querySelectorAll("table.matches tbody tr")];
  for (const row of rows) {
    row.addEventListener("click", (event) => {
      if (!event.target.closest("a, input, td.pick")) row.querySelector("a").click();
    });
  }

  const form = document.querySelector("form.filters");
  for (const select of form.querySelectorAll("select, [type=checkbox]")) {
    select.addEventListener("change", () => form.requestSubmit());
  }

  if ("here" in form.dataset) {
    const given = new URLSearchParams(location.search);
    for (const field of form.elements) {
      if (!given.has(field.name)) continue;
      if (field.type === "checkbox") field.checked = given.get(field.name) === field.value;
      else field.value = given.get(field.name);
    }
    const filter = () => {
      const wanted = Object.fromEntries(new FormData(form));
      const facts = [];
      if (wanted.game) facts.push(`game ${wanted.game}`);
      if (wanted.player) facts.push(`player ${wanted.player}`);
      if (wanted.ended) facts.push(wanted.player ? `${wanted.ended} by ${wanted.player}` : wanted.ended);
      if (wanted.failed) facts.push(wanted.failed);
      if (wanted.long) facts.push("long");
      let shown = 0;
      for (const row of rows) {
        const held = new Set(row.dataset.facts.split("\n"));
        row.hidden = !(facts.every((fact) => held.has(fact)) && row.dataset.id.includes(wanted.text));
        shown += !row.hidden;
      }
      document.querySelector(".found .shown").textContent = shown.toLocaleString("en");
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      filter();
    });
    form.querySelector("a.button").addEventListener("click", (event) => {
      event.preventDefault();
      for (const field of form.elements) {
        if (field.type === "checkbox") field.checked = false;
        else if (field.tagName === "SELECT") field.selectedIndex = 0;
        else if (field.type === "search") field.value = "";
      }
      filter();
    });
    form.hidden = false;
    filter();
  }

  const boxes = [...document.querySelectorAll("td.pick input")];
  const button = document.querySelector(".compare-bar button");
  const count = () => {
    button.disabled = boxes.filter((box) => box.checked).length !== 2;
  };
  for (const box of boxes) box.addEventListener("change", count);
  if (button) count();
}
