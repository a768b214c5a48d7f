/* Pages of sessions that follow a run. When the server says that something has changed, the page is fetched again, and
   its parts with data-live are replaced where they differ. Of a list (data-live="items") the items are compared by
   their ids, so that those that stay keep their place, what is open in them, and the focus. */

{
  "use strict";

  const SPACING = 1000; // least number of milliseconds between two fetches

  const status = document.querySelector("[data-events]");
  const written = new Map(); // what the server last wrote for each part, by id
  let waiting = 0;
  let busy = false;
  let again = false;

  const partsOf = (page) => [...page.querySelectorAll("[data-live]")];
  const unitsOf = (part) => (part.dataset.live === "items" ? [...part.children] : [part]);

  /* Puts a part in the place of another, with the same details open and the same control focused. */
  function swap(old, fresh) {
    const controls = (part) => [...part.querySelectorAll("a, summary, button")];
    const focused = controls(old).indexOf(document.activeElement);
    const opened = [...old.querySelectorAll("details")].map((one) => one.open);
    fresh.querySelectorAll("details").forEach((one, index) => {
      if (index < opened.length) one.open = opened[index];
    });
    old.replaceWith(fresh);
    if (focused >= 0) controls(fresh)[focused]?.focus({ preventScroll: true });
  }

  function changeItems(list, fresh) {
    const wanted = new Set([...fresh.children].map((item) => item.id));
    for (const item of [...list.children]) {
      if (!wanted.has(item.id)) item.remove();
    }
    let place = list.firstElementChild;
    for (const item of [...fresh.children]) {
      const old = place?.id === item.id ? place : [...list.children].find((one) => one.id === item.id);
      if (old && written.get(item.id) === item.outerHTML) {
        if (old === place) place = place.nextElementSibling;
        else list.insertBefore(old, place);
        continue;
      }
      written.set(item.id, item.outerHTML);
      const made = document.adoptNode(item);
      made.classList.add("fresh");
      if (!old) list.insertBefore(made, place);
      else {
        if (old === place) place = place.nextElementSibling;
        else list.insertBefore(old, place);
        swap(old, made);
      }
    }
  }

  function change(page) {
    for (const part of partsOf(document)) {
      const fresh = page.getElementById(part.id);
      if (!fresh) return location.reload(); // it could not be read before, or cannot be now
      if (part.dataset.live === "items") changeItems(part, fresh);
      else if (written.get(part.id) !== fresh.outerHTML) {
        written.set(part.id, fresh.outerHTML);
        swap(part, document.adoptNode(fresh));
      }
    }
  }

  async function fetchAgain() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href);
      if (answer.ok) change(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      status.textContent = "connection lost; retrying …";
    }
    setTimeout(() => {
      busy = false;
      if (again) {
        again = false;
        fetchAgain();
      }
    }, SPACING);
  }

  for (const part of partsOf(document)) for (const unit of unitsOf(part)) written.set(unit.id, unit.outerHTML);
  const source = new EventSource(status.dataset.events);
  source.addEventListener("open", () => (status.textContent = "live"));
  source.addEventListener("error", () => (status.textContent = "connection lost; retrying …"));
  source.addEventListener("changed", fetchAgain);
  source.addEventListener("finished", () => {
    source.close();
    status.textContent = "finished";
  });
  window.addEventListener("pagehide", () => source.close());
}
