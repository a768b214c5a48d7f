/* The list of matches: each row is a link, a choice in the form is sent at once, and two matches can be compared. */

{
  "use strict";

  document.querySelector("table.matches")?.addEventListener("click", (event) => {
    if (!event.target.closest("a, input, td.pick, thead")) event.target.closest("tr")?.querySelector("a").click();
  });

  const form = document.querySelector("form.filters");
  for (const select of form.querySelectorAll("select, [type=checkbox]")) {
    select.addEventListener("change", () => form.requestSubmit());
  }

  const boxes = [...document.querySelectorAll("td.pick input")];
  const button = document.querySelector(".compare-bar button");
  const count = () => {
    button.disabled = boxes.filter((box) => box.checked).length !== 2;
  };
  for (const box of boxes) box.addEventListener("change", count);
  if (button) count();
}
