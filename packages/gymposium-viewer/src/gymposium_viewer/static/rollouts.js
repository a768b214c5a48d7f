/* The page of one group: opens and closes trajectories and reverses their order. The style sheet has the colors. */

{
  "use strict";

  const list = document.querySelector(".trajectories");
  const all = [...document.querySelectorAll("details.trajectory")];
  const bar = document.querySelector(".filters");

  function toTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches("details.trajectory")) {
      target.open = true;
      target.scrollIntoView();
    }
  }

  if (bar) {
    bar.hidden = false;
    bar.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.dataset.open) for (const one of all) one.open = button.dataset.open === "yes" && !one.matches(".bare");
      else if (button) {
        list.append(...all.reverse());
        button.textContent = button.textContent === "Worst first" ? "Best first" : "Worst first";
      }
    });
    for (const one of all) {
      one.addEventListener("toggle", () => one.open && history.replaceState(null, "", `#${encodeURIComponent(one.id)}`));
    }
    window.addEventListener("hashchange", toTarget);
    toTarget();
  }
}
