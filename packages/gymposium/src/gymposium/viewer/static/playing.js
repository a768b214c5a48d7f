/* The pages for choosing and playing a game. They work without this script, as plain forms; it saves keys and waits. */

{
  "use strict";

  /* the list of games: shows those that contain each word of the search */
  const find = document.querySelector("form[data-find]");
  if (find) {
    const games = [...document.querySelectorAll(".games li")];
    const none = document.querySelector(".none");
    const filter = () => {
      const words = find.elements.find.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const game of games) game.hidden = !words.every((word) => game.dataset.text.includes(word));
      none.hidden = games.some((game) => !game.hidden);
    };
    find.elements.find.addEventListener("input", filter);
    filter();
  }

  /* while opponents are asked: reloads the page when they have answered */
  const wait = document.querySelector("[data-wait]");
  if (wait) {
    const events = new EventSource(wait.dataset.wait);
    events.addEventListener("settled", () => {
      events.close();
      location.reload();
    });
    /* the server has dropped the match, and the page says why */
    events.addEventListener("error", () => {
      if (events.readyState === EventSource.CLOSED) location.reload();
    });
    window.addEventListener("pagehide", () => events.close());
  }

  /* a move: typing hides the moves that begin otherwise, and Enter plays the last one left */
  const form = document.querySelector("form.move");
  const field = form?.querySelector("[data-here]");
  if (form && field) {
    const buttons = [...form.querySelectorAll("button[data-move]")];
    const fits = (button, typed) => button.dataset.move.toLowerCase().startsWith(typed);
    const typed = () => field.value.trim().toLowerCase();
    const filter = () => {
      const some = buttons.some((button) => fits(button, typed()));
      for (const button of buttons) button.hidden = some && !fits(button, typed());
    };
    form.querySelector(".legal")?.classList.toggle("wide", buttons.some((button) => button.dataset.move.length > 12));
    if (buttons.length) field.addEventListener("input", filter);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      if (field.matches("textarea")) {
        if (event.ctrlKey || event.metaKey) form.requestSubmit();
        return;
      }
      const left = buttons.filter((button) => !button.hidden && fits(button, typed()));
      if (typed() && left.length === 1) {
        event.preventDefault();
        left[0].click();
      }
    });
    /* not on a phone, where focus opens the keyboard over the board */
    if (matchMedia("(hover: hover) and (pointer: fine)").matches) {
      field.focus({ preventScroll: true });
      field.select();
    }
    for (const keys of form.querySelectorAll(".keys")) keys.hidden = false;
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.key.length !== 1) return;
      if (!event.target.closest("input, select, textarea, button, a, summary")) field.focus({ preventScroll: true });
    });
  }
}
