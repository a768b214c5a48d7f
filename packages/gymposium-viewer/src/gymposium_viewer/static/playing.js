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

  /* the form of a new match: a click on an offered opponent writes its name into the field that was used last */
  const fields = [...document.querySelectorAll("input[name=opponent]")];
  let used = fields[0];
  for (const field of fields) field.addEventListener("focus", () => (used = field));
  for (const link of document.querySelectorAll("a[data-opponent]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      used.value = link.dataset.opponent;
    });
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

  /* Lays a rectangle over each place of the picture that a legal move names. The picture itself stays in a frame without
     any rights. Clicks on places choose the moves that name these places in this order; as soon as one is left, it is
     played. If several name the same places, their buttons are left to choose from. */
  function clickable(buttons) {
    const data = document.getElementById("clicks");
    if (!data) return;
    const { names, rects, moves } = JSON.parse(data.textContent);
    const chosen = [];
    const layer = document.createElement("div");
    layer.className = "places";
    layer.setAttribute("aria-hidden", "true"); // the list of moves is for keyboards and screen readers
    for (const [place, x, y, width, height] of rects) {
      const rect = document.createElement("div");
      rect.dataset.place = place;
      rect.title = names[place];
      for (const [side, part] of Object.entries({ left: x, top: y, width, height })) rect.style[side] = `${part * 100}%`;
      layer.append(rect);
    }
    const begins = (move) => move.length >= chosen.length && chosen.every((place, index) => move[index] === place);
    const left = () => moves.map((_, index) => index).filter((index) => moves[index].length && begins(moves[index]));
    const show = () => {
      const open = left();
      const next = new Set(open.map((index) => moves[index][chosen.length]));
      for (const rect of layer.children) {
        const place = Number(rect.dataset.place);
        rect.classList.toggle("chosen", chosen.includes(place));
        rect.classList.toggle("possible", next.has(place));
        rect.hidden = !next.has(place) && !chosen.includes(place) && !moves.some((move) => move[0] === place);
      }
      for (const button of buttons) button.hidden = chosen.length > 0 && !open.includes(Number(button.value));
    };
    const play = (index) => {
      layer.remove(); // a second click sends nothing
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "choice", value: index }));
      form.submit();
    };
    layer.addEventListener("click", (event) => {
      const place = Number(event.target.closest("[data-place]")?.dataset.place);
      if (Number.isNaN(place)) return;
      const whole = left().filter((index) => moves[index].length === chosen.length);
      const again = place === chosen[chosen.length - 1];
      if (again && whole.length === 1) return play(whole[0]);
      chosen.push(place);
      if (!left().length) chosen.splice(0, chosen.length, ...(again ? [] : [place]));
      if (!left().length) chosen.length = 0;
      const open = left();
      if (chosen.length && open.length === 1 && moves[open[0]].length === chosen.length) return play(open[0]);
      show();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      chosen.length = 0;
      show();
    });
    document.querySelector(".drawn").append(layer);
    form.querySelector(".clicking").hidden = false;
    show();
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
    clickable(buttons);
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.key.length !== 1) return;
      if (!event.target.closest("input, select, textarea, button, a, summary")) field.focus({ preventScroll: true });
    });
  }
}
