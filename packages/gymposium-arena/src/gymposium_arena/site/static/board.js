/* Tables of a leaderboard: heads that sort their column, and filters of rows. Without this script tables are complete. */

{
  "use strict";

  const figure = (cell) => Number.parseFloat(cell.textContent.trim().replace(/^[≥≤]\s*/, "").replaceAll(",", ""));

  const sort = (table, column, numeric, ascending) => {
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("kind"));
      const sign = ascending ? 1 : -1;
      const keys = new Map(rows.map((row) => [row, numeric ? figure(row.cells[column]) : row.cells[column].textContent.trim()]));
      rows.sort((one, other) => {
        const [a, b] = [keys.get(one), keys.get(other)];
        if (!numeric) return sign * a.localeCompare(b);
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);  // unknown figures stay last
        return sign * (a - b);
      });
      body.append(...rows);
    }
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (head.classList.contains("plot") || !head.textContent.trim()) return;
      const numeric = head.classList.contains("number");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      const name = head.textContent.trim().replace(/\s+/g, " ");
      if (head.querySelector("a")) {
        button.setAttribute("aria-label", `Sort by ${name}`);
        head.append(" ", button);
      } else {
        button.append(...head.childNodes);
        head.append(button);
      }
      button.addEventListener("click", () => {
        const down = head.ariaSort === "descending" || (head.ariaSort === null && !numeric);
        for (const other of heads) other.removeAttribute("aria-sort");
        head.ariaSort = down ? "ascending" : "descending";
        sort(table, column, numeric, down);
      });
    });
  }

  for (const form of document.querySelectorAll("form[data-filter]")) {
    const table = document.getElementById(form.dataset.filter);
    const filter = () => {
      const wanted = Object.fromEntries(new FormData(form));
      const text = wanted.text.toLowerCase();
      for (const body of table.tBodies) {
        body.hidden = Boolean(wanted.kind) && wanted.kind !== body.dataset.kind;
        for (const row of body.rows) {
          row.hidden = !row.classList.contains("kind") && !row.textContent.toLowerCase().includes(text);
        }
      }
    };
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    filter();
  }
}
